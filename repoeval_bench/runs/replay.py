"""Load the data of a stored run, and run its request again."""

import shlex
from collections.abc import Collection
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from repoeval_bench.core.benchmark import Benchmark
from repoeval_bench.core.errors import DatasetError, UsageError
from repoeval_bench.core.spec import Spec
from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.dataset.pack import Pack
from repoeval_bench.dataset.reading.sampling import part_of
from repoeval_bench.dataset.repoeval import DEFAULT, task_set_of
from repoeval_bench.dataset.repoeval import NAME as REPOEVAL
from repoeval_bench.dataset.shipped import edition_of, shipped_pack
from repoeval_bench.embedding.registry import EMBEDDERS
from repoeval_bench.protocols.protocol import Protocol, passed_over
from repoeval_bench.retrieval.dense import NAME as DENSE
from repoeval_bench.retrieval.ranking import DIGITS
from repoeval_bench.retrieval.registry import choose_retriever
from repoeval_bench.runs.parts import PACKS
from repoeval_bench.runs.planning import select
from repoeval_bench.runs.records import PartRecord, RunConfig
from repoeval_bench.runs.request import NO_EMBEDDER, DataRequest
from repoeval_bench.runs.runner import evaluate
from repoeval_bench.runs.view import RunView

# Tolerance for scores that differ in their last bits, and are rounded to two neighbouring values.
ROUNDED = 1.01 * 10.0**-DIGITS

# Tolerance for fused ranks of vectors, and for models that read pairs: if two neighbours swap, a reciprocal rank
# changes by 1/61 - 1/62.
FUSED = 3e-4

# Tolerance in half precision: twice what bf16 moved between two sets of a processor's instructions.
HALF = 3e-3


def stored_config(run: RunView) -> RunConfig:
    """Return the configuration of a run; UsageError for an imported run, whose chunks cannot be cut again."""
    config = run.manifest.config
    if config is None:
        raise UsageError(f"{run.run_id} was imported, so its chunks cannot be made again; name a run that eval made")
    return config


def data_of(run: RunView, source: str, *, questions: str | None = None, home: Path | None = None) -> Benchmark:
    """Load the data of a run from a source, and select the tasks that the run's protocol scores.

    The fingerprint differs if the source has other data. `questions` is the user's file of questions. Without a source,
    a run over a shipped pack gets that pack, and another the pack of its data that lies beside the run.
    """
    config, dataset = stored_config(run), run.manifest.dataset
    if source in {"", "auto"}:
        source = edition_of(config.pack) or source
    given = source not in {"", "auto"}
    is_needed = dataset.source == "pack" and not (shipped_pack(source) or Pack.find(source))
    if is_needed or not (given or dataset.name.startswith(f"{REPOEVAL}-")):
        same = _packs_near(run)
        for pack in [] if given else same:
            data = data_of(run, pack, questions=questions, home=home)
            if data.fingerprint == config.fingerprint:
                return data
        raise UsageError(
            f"the data of {run.run_id} is {dataset.name}"
            + (f", and {source} is not a pack" if given else "")
            + "; name its folder with --source"
            + (f", such as {' or '.join(map(shlex.quote, same))}" if same else "")
        )
    protocol = Protocol.parse(config.protocol)
    task_set = task_set_of(dataset.name) or DEFAULT
    part = dataset.part or PartRecord()
    loaded = load_benchmark(
        source,
        **asdict(task_set),
        repos=part.repositories or None,
        limit=part.limit,
        tests=part.tests,
        extensions=part.extensions,
        questions=questions,
        without=passed_over([protocol], task_set.level),
        home=home,
    )
    selected = select(loaded, protocol)
    drawn = part.sample
    return part_of(selected, drawn.most, drawn.seed, drawn.per_file) if drawn else selected


def check_allowed(run: RunView, allowed: Collection[str]) -> None:
    """Raise a UsageError if a stored request names code from outside, a model or a server that is not `allowed`."""
    config = stored_config(run)
    retriever = choose_retriever(config.retriever)
    specs = (config.protocol, *config.measures, config.chunker, config.retriever)
    named = [spec for spec in specs if spec.startswith(("py:", "exec:"))]
    if retriever.model or ":py:" in config.retriever:
        named.append(config.retriever)
    # Without a target it names no model and no server; a part from outside is in no row of the package.
    if Spec.parse(config.embedder).name not in {NO_EMBEDDER, *(row.name for row in EMBEDDERS if not row.target)}:
        named.append(config.embedder)
    if refused := [spec for spec in named if spec not in allowed]:
        if of_script := next((spec for spec in refused if "py:__main__:" in spec), None):
            raise UsageError(
                f"{run.run_id} used {of_script}, code of a script, which no other program can import; move it to a "
                "module, and make the run again as py:MODULE:NAME"
            )
        options = " ".join(f"--allow {shlex.quote(spec)}" for spec in refused)
        raise UsageError(f"{run.run_id} names code, a model or a server of its own; give {options} if you trust it")


def _packs_near(run: RunView) -> list[str]:
    """Return the packs with the name of a run's data: beside it, where `recommend` puts them, or in this folder."""
    places = [path for folder in (run.folder.parent / PACKS, Path()) for path in sorted(folder.glob("[!.]*/"))]
    packs = map(_readable_pack, places)
    name, *_ = run.manifest.dataset.name.rsplit("-", 3)  # a pack's name, then level, context and tokenizer
    return [str(pack.root) for pack in packs if pack and name == f"pack-{pack.content.name}"]


def _readable_pack(folder: Path) -> Pack | None:
    with suppress(DatasetError):  # another tool's file may have the name of ours
        return Pack.find(str(folder))
    return None


def run_again(run: RunView, benchmark: Benchmark, into: Path, *, home: Path | None = None) -> RunView:
    """Run the stored request of a run again on its data, in a folder, and return the new run."""
    # The first run has decided whether most queries have gold.
    request = stored_config(run).request(allow_sparse_qrels=True)
    fields = request.model_dump(exclude={*DataRequest.model_fields, "chunker"})
    return evaluate(benchmark, request.chunker, **fields, out=into, home=home)


def benchmark_of(run: RunView, source: str = "auto", *, home: Path | None = None) -> Benchmark:
    """Return the tasks and files of a run that its protocol scores.

    UsageError if the run was imported, asks questions, or ran on other data.
    """
    config = stored_config(run)
    if config.choices.tasks != "completion":
        raise UsageError(
            f"protocol {config.protocol} has queries and no code to complete; choose a run of another protocol"
        )
    return same_data(run, data_of(run, source, home=home))


def same_data(run: RunView, benchmark: Benchmark) -> Benchmark:
    """Return the data that was loaded for a run; UsageError if it is not the data that the run was made from."""
    if benchmark.fingerprint == stored_config(run).fingerprint:
        return benchmark
    label = run.manifest.dataset.label
    raise UsageError(f"{run.run_id} ran on data {label}, this is {benchmark.label}; name the run's with --source")


def tolerance_of(config: RunConfig) -> float:
    """Return the tolerance of scores between machines: a step of rounding, and more if a model ranks."""
    retriever = choose_retriever(config.retriever)
    if not (retriever.vectors or retriever.model):
        return ROUNDED
    if config.embedder_identity.get("precision", "fp32") != "fp32":
        return HALF
    return ROUNDED if retriever.part.row.name == DENSE else FUSED
