"""`run`: a benchmark that a YAML file describes, every combination of it, with a comparison for each."""

from __future__ import annotations

import json
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from repoeval_bench import api
from repoeval_bench.cli.choices import Choices, check_choices
from repoeval_bench.cli.compare import print_comparison
from repoeval_bench.cli.compared import remember
from repoeval_bench.cli.gathered import Gathered
from repoeval_bench.cli.prepared import Prepared, default_options, print_scores
from repoeval_bench.core.errors import SpecError, UsageError, all_mistakes
from repoeval_bench.core.strict_yaml import Document, read_yaml
from repoeval_bench.protocols.protocol import CHOICES, Protocol
from repoeval_bench.report.comparison import comparison_records
from repoeval_bench.runs.benchmark_file import BenchConfig, shipped
from repoeval_bench.runs.executors import ProcessPool

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from repoeval_bench.analysis.records import Comparison
    from repoeval_bench.cli.gathered import Mistake
    from repoeval_bench.core.strict_yaml import Place
    from repoeval_bench.runs.view import RunView

_WAY_OUT = "name a bench file, or `repoeval` for the one that is shipped"

_KEYS = {"metrics": "measures", "retriever": "retrievers", "repos": "repositories"}
"""Option of `eval` -> the file's key where they differ."""

_COMBINED = ("protocol", "retriever", "embedder")
"""Options of which a file may name several, to be run in every combination."""


@dataclass(frozen=True, slots=True)
class Bench:
    """A checked file: what each combination asks for, and the place of the baseline among the chunkers, if any."""

    pack: str
    choices: list[Choices]
    baseline: int | None
    equivalence: float | None


@click.command("run", short_help="Run a benchmark that a YAML file describes.")
@click.argument("file")
@click.option("--source", metavar="SOURCE", help="Where data comes from, in place of what the file says.")
@click.option("--out", type=click.Path(path_type=Path), default=api.RESULTS, show_default=True,
              help="Where run folders are written.")  # fmt: skip
@click.option("--home", envvar="REPOEVAL_HOME", type=click.Path(file_okay=False, path_type=Path), show_envvar=True,
              help="Folder of fetched data; the user's cache folder by default.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Check the file, list its runs, and compute nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON in place of the tables.")
def run_command(*, file: str, source: str | None, out: Path, home: Path | None, dry_run: bool, as_json: bool) -> None:
    """Run what FILE describes: each chunker under every combination of its protocols, retrievers and embedders.

    Chunkers of one combination are compared. Runs that are stored already are not made again. The whole file is
    checked first: all its mistakes are told at once, with their lines, and then nothing is run.

    Example: repoeval-bench run repoeval
    """
    given = {"out": out, "home": home} | ({"source": source} if source else {})
    bench = read_bench(Path(file) if Path(file).is_file() else shipped(file) or Path(file), given)
    if dry_run:
        _list(bench, as_json=as_json)
        return
    results = []
    first: list[RunView] = []
    for choices, prepared in zip(bench.choices, Prepared.make_all(bench.choices), strict=True):
        with ProcessPool() as pool:
            runs = prepared.evaluate(pool, reuse=True)
        if not first:
            # What the file names first is what it is about: that is what `report` shows.
            first = runs
            remember(first, out)
        comparisons: list[Comparison] = []
        if len(runs) > 1:
            comparisons = api.compare(
                runs,
                baseline=None if bench.baseline is None else runs[bench.baseline],
                metrics=prepared.options["metrics"],
                equivalence=bench.equivalence,
            )
        setting = choices.named(_COMBINED) | {"protocol": prepared.protocol.name}
        if as_json:
            results.append({
                "pack": bench.pack, **setting, "runs": [run.metrics.as_json() for run in runs],
                "comparisons": comparison_records(comparisons),
            })  # fmt: skip
            continue
        click.echo(f"{bench.pack} · " + " · ".join(f"{option} {value}" for option, value in setting.items()))
        if comparisons:
            print_comparison(runs, comparisons)
        else:
            print_scores(runs)
        click.echo()
    if as_json:
        click.echo(json.dumps(results, indent=2, ensure_ascii=False))


def read_bench(path: Path, given: dict[str, Any]) -> Bench:
    """Read and check a bench file; `given` are options that stand above it. One UsageError tells every mistake."""
    document = read_yaml(path, _WAY_OUT)
    problems = document.problems(BenchConfig, {})
    # What has the wrong shape is told; the rest is checked all the same, so that one look tells everything.
    broken = {place[0] for place, _ in problems if place}
    config = BenchConfig.model_validate(_without(document.content, [place for place, _ in problems]))
    base = default_options() | _options(config) | given
    found = Gathered()
    choices: list[Choices] = []
    baseline: int | None = None
    with found.about("baseline"):
        baseline = _position(config.baseline, config.chunkers)
    several = (config.protocol, config.retrievers, config.embedder)
    for combination in product(*(values or [""] for values in several)):
        chosen = {key: value for key, value in zip(_COMBINED, combination, strict=True) if value}
        checked = check_choices(config.chunkers, base | chosen, found)
        # Where no embedder takes part, another one makes the same run.
        if checked and all(checked.named(_COMBINED) != other.named(_COMBINED) for other in choices):
            choices.append(checked)
    problems += _repeated(config, base, document)
    mistakes = [each for each in found.mistakes if _KEYS.get(each.option, each.option) not in broken]
    problems += [(_place(each, document), each.sentence) for each in mistakes]
    if problems:
        ordered = sorted(problems, key=lambda problem: document.line(problem[0]))
        sentences = (f"{document.where(place)}: {sentence}" for place, sentence in ordered)
        raise UsageError(all_mistakes(sentences, document.path))
    return Bench(config.pack, choices, baseline, config.equivalence)


def _without(content: Any, places: Sequence[Place]) -> dict[Any, Any]:
    """The content without the values at these places: an entry of a list where the place is one, else the whole key."""
    if not isinstance(content, dict):
        return {}
    kept = dict(content)
    for key in {place[0] for place in places if place}:
        at = {place[1] for place in places if place[:1] == (key,) and len(place) > 1}
        value = kept.pop(key, None)
        if at and isinstance(value, list) and all(isinstance(i, int) for i in at) and len(at) < len(value):
            kept[key] = [entry for i, entry in enumerate(value) if i not in at]
    return kept


def _options(config: BenchConfig) -> dict[str, Any]:
    """What the file says, under the names of `eval`'s options; not what it combines."""
    options = config.model_dump(
        exclude_none=True,
        exclude={
            "dataset",
            "chunkers",
            "protocol",
            "retrievers",
            "embedder",
            "baseline",
            "equivalence",
            "measures",
            "repositories",
        },
    )
    options["metrics"] = tuple(config.measures or ())
    names = tuple(config.repositories or ())
    if names in {("all",), ("six",)}:
        options["repositories"] = names[0]
    elif names:
        options["repos"] = names
    return options


def _position(baseline: str | None, chunkers: Sequence[str]) -> int | None:
    """Which of the chunkers the baseline is; None where the file names none, or may mean one it misspells."""
    from repoeval_bench.chunkers.registry import make_chunker

    if baseline is None or baseline in chunkers:
        return None if baseline is None else chunkers.index(baseline)
    spec = make_chunker(baseline).spec
    specs: list[str] = []
    misspelt: list[str] = []
    for chunker in chunkers:
        try:
            specs.append(make_chunker(chunker).spec)
        except SpecError:  # told as a mistake of the chunkers
            misspelt.append(chunker)
            specs.append(chunker)
    if spec in specs or get_close_matches(baseline, misspelt):
        return specs.index(spec) if spec in specs else None
    raise UsageError(f"baseline {baseline!r} is none of the chunkers; choose from {', '.join(specs) or 'none'}")


def _repeated(config: BenchConfig, base: Mapping[str, Any], document: Document) -> Iterator[tuple[Place, str]]:
    """A problem for every protocol, retriever and embedder that means what one named before it means."""
    from repoeval_bench.embedding.choice import settled
    from repoeval_bench.embedding.long_text import with_long_text
    from repoeval_bench.embedding.precision import with_precision

    def meant_embedder(spec: str) -> str:
        return settled(with_long_text(with_precision(spec, base["precision"]), base["long_text"]))

    def meant_protocol(name: str) -> str:
        return Protocol.parse(name).override(**{choice: base[choice] for choice in CHOICES}).name

    for key, values, meaning in (
        ("protocol", config.protocol, meant_protocol),
        ("retrievers", config.retrievers, lambda spec: api.choose_retriever(spec).spec),
        ("embedder", config.embedder, meant_embedder),
    ):
        seen: dict[str, str] = {}
        for value in values or ():
            try:
                meant = meaning(value)
            except UsageError:  # told as what it is
                continue
            if meant in seen:
                place = _last(key, value, document)
                yield place, f"{key}: {value!r} is {seen[meant]!r} once more; name each of them once"
            seen.setdefault(meant, value)


def _last(key: str, value: str, document: Document) -> Place:
    """The last place under a key where a value stands."""
    values = document.content[key]
    return (key, len(values) - 1 - values[::-1].index(value)) if isinstance(values, list) else (key,)


def _place(mistake: Mistake, document: Document) -> Place:
    key = _KEYS.get(mistake.option, mistake.option)
    values = document.content.get(key) if isinstance(document.content, dict) else None
    if isinstance(values, list) and mistake.value in values:
        return (key, values.index(mistake.value))
    return (key,)


def _list(bench: Bench, *, as_json: bool) -> None:
    rows = [
        {"protocol": each.protocol.name, "chunker": chunker.spec} | each.named(("retriever", "embedder"))
        for each in bench.choices
        for chunker in each.chunkers
    ]
    if as_json:
        click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    for row in rows:
        click.echo(" · ".join(row.values()))
