"""What a script calls; the command line calls the same three functions."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from repoeval_bench.core.errors import UsageError, all_mistakes
from repoeval_bench.core.spec import Spec
from repoeval_bench.protocols.protocol import BASELINE, Protocol
from repoeval_bench.runs.config import DEPTH, NO_EMBEDDER, PACK, RunConfig

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from repoeval_bench.analysis.records import Comparison
    from repoeval_bench.analysis.sensitivity import Contest
    from repoeval_bench.chunkers.tools.sizes import SizeMatch
    from repoeval_bench.core.benchmark import Benchmark
    from repoeval_bench.core.parts import Chunker, Embedder
    from repoeval_bench.retrieval.registry import ChosenRetriever
    from repoeval_bench.runs.grid_store import Cell, Scores
    from repoeval_bench.runs.stages import Plan
    from repoeval_bench.runs.store import StoredRun

EMBEDDER = "minilm"
RETRIEVER = "dense"
PROTOCOL = "context"
RESULTS = Path("results")


def load_benchmark(
    source: str | Path = "auto",
    *,
    level: str = "function",
    context: str = "2k",
    tokenizer: str = "codex",
    repos: str | Sequence[str] | None = None,
    limit: int | None = None,
    without: Collection[str] = (),
    home: Path | None = None,
    notify: Callable[[str], None] = lambda _: None,
) -> Benchmark:
    """Load RepoEval, fetching it first where it is not at hand.

    `source` is `auto`, `github`, `pypi`, a folder or a URL; `repos` and `limit` select; `without` names
    repositories that a limit passes over. `notify` receives one
    line about what was taken and what is missing. Raises UsageError or DatasetError.
    """
    from repoeval_bench.dataset.loader import load

    if isinstance(repos, str):
        repos = repos.replace(",", " ").split()
    return load(
        str(source),
        level=level,
        context=context,
        tokenizer=tokenizer,
        repos=repos,
        limit=limit,
        without=without,
        home=home,
        notify=notify,
    )


def needs_files(embedder: str) -> bool:
    """Whether the embedder that a spec names is fitted on a benchmark's files."""
    from repoeval_bench.embedding.registry import needs_files

    return needs_files(embedder)


def make_embedder(
    spec: str = EMBEDDER,
    *,
    home: Path | None = None,
    benchmark: Benchmark | None = None,
    notify: Callable[[str], None] = lambda _: None,
) -> Embedder:
    """The embedder that a spec names, reading through the vector cache in `home`.

    `benchmark` is what `lsa` is fitted on. `notify` receives a line where the cache cannot keep anything, or a fit.
    """
    from repoeval_bench.dataset.install import data_home
    from repoeval_bench.embedding.cache import CachedEmbedder
    from repoeval_bench.embedding.long_text import LongTextEmbedder, changes_nothing
    from repoeval_bench.embedding.registry import Material, choose_embedder, find_encoder
    from repoeval_bench.embedding.storage import VectorCache

    model, policies = choose_embedder(spec)
    files = [file for held in benchmark.files.values() for file in held] if benchmark else None
    encoder = find_encoder(str(model), Material(data_home(home) / "models", files, notify))
    embedder = CachedEmbedder(encoder, VectorCache(vectors_folder(home), notify))
    if set(policies.values()) == {"head"}:
        return embedder
    if encoder.limit is None:  # of a model that is known only once it is found
        raise changes_nothing(encoder.spec)
    return LongTextEmbedder(embedder, policies)


def vectors_folder(home: Path | None = None) -> Path:
    """The folder of the vector cache in `home`."""
    from repoeval_bench.dataset.install import data_home

    return data_home(home) / "vectors"


def choose_measures(metrics: Sequence[str] | None, k: int) -> tuple[str, ...]:
    """The measures' canonical names, each once; the default ones for none.

    A UsageError where one looks deeper than the `k` results that are ranked: its value would be another measure's.
    """
    from repoeval_bench.metrics import EVAL_MEASURES, Measure

    measures = [Measure.parse(name) for name in metrics or EVAL_MEASURES]
    for measure in measures:
        if measure.k is not None and measure.definition.unit == "rank" and measure.k > k:
            raise UsageError(f"K={k} ranks less than {measure} looks at; raise K to {measure.k} or name other measures")
    return tuple(dict.fromkeys(map(str, measures)))


def needs_vectors(retriever: str, metrics: Sequence[str] | None = None) -> bool:
    """Whether a run embeds anything: its retriever or one of its measures may ask for vectors."""
    from repoeval_bench.metrics import inputs_of

    return choose_retriever(retriever).vectors or "vectors" in inputs_of(metrics or ())


def choose_retriever(spec: str, protocol: Protocol | None = None) -> ChosenRetriever:
    """The retriever that a spec names, its model not looked for; a UsageError where the protocol cannot use it."""
    from repoeval_bench.retrieval import registry

    chosen = registry.choose_retriever(spec)
    if protocol is not None and protocol.documents == "baseline" and chosen.first:
        raise UsageError(
            f"protocol {protocol.name} maps the score of every chunk, but {spec} scores the first {chosen.k_raw} only; "
            f"choose {chosen.first.spec}, or another protocol"
        )
    return chosen


def make_retriever(
    spec: str,
    protocol: Protocol | None = None,
    *,
    home: Path | None = None,
    notify: Callable[[str], None] = lambda _: None,
) -> ChosenRetriever:
    """The chosen retriever, with the model of a reranker found and verified.

    The scores of pairs are kept in the vector cache in `home`. `notify` receives a line where it cannot keep anything.
    """
    chosen = choose_retriever(spec, protocol)
    if not chosen.model:
        return chosen
    from repoeval_bench.embedding.cached_scorer import CachedScorer
    from repoeval_bench.embedding.cross_encoder import find_cross_encoder
    from repoeval_bench.embedding.storage import VectorCache

    scorer = find_cross_encoder(chosen.model)
    return replace(chosen, scorer=CachedScorer(scorer, VectorCache(vectors_folder(home), notify)))


def make_parts(protocol: Protocol, chunker: str | Chunker | None) -> tuple[Chunker, Chunker | None]:
    """(what makes the chunks, what makes the documents they are judged on if that is another) under a protocol.

    A chunker under a protocol whose documents are fixed, or none under another, is a UsageError.
    """
    from repoeval_bench.chunkers.registry import make_chunker

    if protocol.documents == "windows":
        from repoeval_bench.protocols.windows import CoderagWindows

        if chunker is None or isinstance(chunker, CoderagWindows):
            return CoderagWindows(), None
        raise UsageError(f"protocol {protocol.name} fixes its documents; name no chunker, or choose another protocol")
    if chunker is None:
        raise UsageError(
            "no chunker was named; name one such as ast (--chunker ast, or chunkers: [ast] in a file), or see "
            "repoeval-bench list chunkers"
        )
    baseline = make_chunker(BASELINE) if protocol.documents == "baseline" else None
    return make_chunker(chunker) if isinstance(chunker, str) else chunker, baseline


def resize(chunker: str, size: int) -> str:
    """The chunker's spec with its own size option set; a UsageError where it has none."""
    from repoeval_bench.chunkers.registry import make_chunker
    from repoeval_bench.chunkers.tools.sizes import resized, size_option

    spec = Spec.parse(make_chunker(chunker).spec)
    option = size_option(spec)
    if option is None:
        raise UsageError(f"{chunker} has no option for a size; leave it out of a sweep of sizes")
    return str(resized(spec, option, size))


def match_sizes(
    benchmark: Benchmark, chunkers: Sequence[str], baseline: str, protocol: str | Protocol = PROTOCOL
) -> list[SizeMatch]:
    """Each chunker with its size set so that its mean nws is within 5 % of the baseline's on the protocol's files.

    Where a chunker cannot come that near, its match says why.
    """
    from repoeval_bench.chunkers.registry import make_chunker
    from repoeval_bench.chunkers.tools.sizes import match_size, mean_nws
    from repoeval_bench.runs.stages import select

    chosen = Protocol.parse(protocol) if isinstance(protocol, str) else protocol
    files = [file for found in select(benchmark, chosen).files.values() for file in found]
    target = mean_nws(make_chunker(baseline), files)
    return [match_size(spec, target, files) for spec in chunkers]


def plan_run(
    benchmark: Benchmark,
    chunker: str | Chunker | None,
    *,
    protocol: str | Protocol = PROTOCOL,
    skip_errors: bool = False,
) -> Plan:
    """Chunk the repositories and make the queries, and compute nothing else."""
    from repoeval_bench.runs.stages import plan

    chosen = Protocol.parse(protocol) if isinstance(protocol, str) else protocol
    cutter, baseline = make_parts(chosen, chunker)
    return plan(benchmark, cutter, chosen, baseline=baseline, skip_errors=skip_errors)


def evaluate(
    benchmark: Benchmark,
    chunker: str | Chunker | None,
    *,
    protocol: str | Protocol = PROTOCOL,
    embedder: str | Embedder = EMBEDDER,
    retriever: str = RETRIEVER,
    k: int = DEPTH,
    metrics: Sequence[str] | None = None,
    out: Path | str = RESULTS,
    skip_errors: bool = False,
    reuse: bool = False,
    home: Path | None = None,
    pack: str = PACK,
    notify: Callable[[str], None] = lambda _: None,
) -> StoredRun:
    """Chunk, embed, retrieve, score and store one run; returns what was stored.

    `chunker` is a spec, an object with `spec` and `chunk`, or None where the protocol has documents of its own. `k`
    is the depth that is ranked and stored. `embedder` takes no part where neither the retriever nor a measure asks
    for vectors. Every distinct text is embedded once and kept, so a second call is quick; with `reuse` a run that is
    stored already, made by this very code, is returned as it is. `pack` is what the run's definition of the benchmark
    is called; runs of two packs are not compared. `notify` receives a line where the cache cannot keep anything, and
    one on the tokens that a server says it embedded. Raises a BenchError in one sentence.
    """
    (run,) = evaluate_all(
        benchmark, [chunker], protocol=protocol, embedder=embedder, retriever=retriever, k=k, metrics=metrics, out=out,
        skip_errors=skip_errors, reuse=reuse, home=home, pack=pack, notify=notify,
    )  # fmt: skip
    return run


def evaluate_all(
    benchmark: Benchmark,
    chunkers: Sequence[str | Chunker | None],
    *,
    protocol: str | Protocol = PROTOCOL,
    embedder: str | Embedder = EMBEDDER,
    retriever: str = RETRIEVER,
    k: int = DEPTH,
    metrics: Sequence[str] | None = None,
    out: Path | str = RESULTS,
    skip_errors: bool = False,
    reuse: bool = False,
    home: Path | None = None,
    pack: str = PACK,
    notify: Callable[[str], None] = lambda _: None,
    meanwhile: Callable[[], object] | None = None,
) -> Iterator[StoredRun]:
    """The runs of several chunkers, in their order, each stored when it is done; options as `evaluate` has them.

    All that is missing of all of them is embedded in one pass, each distinct text once, before the first is ranked.
    `meanwhile` is called if other processes make some of the runs: what has to be imported for what follows, say.
    """
    from repoeval_bench.chunkers.registry import BUILT_IN
    from repoeval_bench.metrics import inputs_of
    from repoeval_bench.runs import store
    from repoeval_bench.runs.executors import share_out
    from repoeval_bench.runs.stages import embed, execute, is_large, plan_all, select

    RunConfig.check_depth(k)
    measures = choose_measures(metrics, k)
    chosen = Protocol.parse(protocol) if isinstance(protocol, str) else protocol
    parts = [make_parts(chosen, chunker) for chunker in chunkers]
    searcher = make_retriever(retriever, chosen, home=home, notify=notify)
    model = None
    if needs_vectors(retriever, metrics):
        model = (
            make_embedder(embedder, home=home, benchmark=benchmark, notify=notify)
            if isinstance(embedder, str)
            else embedder
        )
    benchmark = select(benchmark, chosen)
    configs = [
        RunConfig(
            dataset=benchmark.name,
            fingerprint=benchmark.fingerprint,
            protocol=chosen,
            chunker=cutter.spec,
            embedder=model.spec if model else NO_EMBEDDER,
            embedder_identity=model.identity if model else {},
            retriever=searcher.spec,
            k=k,
            measures=measures,
            skip_errors=skip_errors,
            pack=pack,
            retriever_identity=searcher.scorer.identity if searcher.scorer else {},
        )
        for cutter, _ in parts
    ]
    stored = [store.current(Path(out) / config.run_id) if reuse else None for config in configs]
    if not all(stored):
        store.check_writable(Path(out))
    missing = [(config, each) for config, each, run in zip(configs, parts, stored, strict=True) if run is None]
    made: Iterator[Path] = iter(())
    if missing:
        built_in = all(Spec.parse(cutter.spec).name in BUILT_IN for _, (cutter, _) in missing)
        given, planned = plan_all(
            benchmark, [each for _, each in missing], chosen, skip_errors=skip_errors, copies=built_in
        )
        if model:
            planned = embed(planned, model, ranked=searcher.vectors, measured="vectors" in inputs_of(measures))
            if usage := planned[0].usage:
                told = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in usage.items())
                notify(f"{planned[0].encoded:,} texts embedded: {told}, as the server counts them")

        def make(config: RunConfig, each: Plan) -> Path:
            outcome = execute(each, config, model, searcher, given)
            return store.save(outcome, Path(out), created=datetime.now(UTC).isoformat(timespec="seconds")).folder

        # A model that has something to do is loaded once and has the cores to itself.
        copies = searcher.scorer is None and not any(each.encoded for each in planned) and is_large(benchmark)
        jobs = [partial(make, config, each) for (config, _), each in zip(missing, planned, strict=True)]
        made = share_out(jobs, copies=copies, meanwhile=meanwhile)
    for run in stored:
        yield run or store.StoredRun(next(made))


def compare(
    runs: Sequence[StoredRun],
    *,
    baseline: StoredRun | None = None,
    metrics: Sequence[str] = (),
    equivalence: float | None = None,
) -> list[Comparison]:
    """Paired differences of every pair of runs (later minus earlier), or of every run to `baseline`, by measure.

    `metrics` selects measures (all that the runs share unless given). `equivalence` is the margin (below 1) within
    which means count as equal; without one, equality is never said. Only runs over the same queries under one protocol
    are compared; anything else is a UsageError.
    """
    from repoeval_bench.analysis.comparison import compare_runs

    return compare_runs(runs, baseline, measures=metrics, equivalence=equivalence)


def sensitivity(
    benchmark: Benchmark,
    chunkers: Sequence[str],
    *,
    protocols: Sequence[str],
    queries: Sequence[str],
    relevances: Sequence[str],
    retrievers: Sequence[str],
    measures: Sequence[str],
    match: bool = True,
    placebo: int = 10,
    embedder: str = EMBEDDER,
    out: Path | str = RESULTS,
    home: Path | None = None,
    notify: Callable[[str], None] = lambda _: None,
) -> list[Contest]:
    """Every pair of chunkers in every setting, at nominal sizes and (with `match`) at the first one's realised size.

    `placebo` is the number of line offsets at which the fixed baseline is started for the placebo band, 0 for none; an
    arm that cannot be given the baseline's realised size is left out, counted. Chunkers, protocols and retrievers are
    specs. Cells are kept in `out`/sensitivity, and those that this very code has computed are not computed again.
    Raises a BenchError in one sentence.
    """
    from repoeval_bench.analysis.sensitivity import contests, placebo_bands
    from repoeval_bench.chunkers.registry import BUILT_IN, make_chunker
    from repoeval_bench.chunkers.tools.placebo import describe, placebo_arms, placebo_problems
    from repoeval_bench.chunkers.tools.sizes import match_size, mean_nws
    from repoeval_bench.metrics import Measure
    from repoeval_bench.runs.executors import share_out
    from repoeval_bench.runs.grid import Grid, grid_problems, make_protocols
    from repoeval_bench.runs.stages import is_large

    arms = {(cutter := make_chunker(spec)).spec: cutter for spec in chunkers}
    grid = make_protocols(protocols, queries, relevances)
    asked = [Protocol.parse(name) for name in protocols]
    problems = grid_problems(list(arms), asked, [choose_retriever(spec).spec for spec in retrievers])
    if problems := [*problems, *placebo_problems(placebo)]:
        raise UsageError(all_mistakes(problems))
    names = tuple(dict.fromkeys(str(Measure.parse(name)) for name in measures))
    strictest = next((protocol for protocol in grid if protocol.documents == "baseline"), grid[0])
    chosen = [make_retriever(spec, strictest, home=home, notify=notify) for spec in retrievers]
    model = None
    if any(needs_vectors(spec, measures) for spec in retrievers):
        model = make_embedder(embedder, home=home, benchmark=benchmark, notify=notify)
    cells = Grid(
        benchmark,
        grid,
        chosen,
        names,
        baseline=make_chunker(BASELINE),
        embedder=model,
        folder=Path(out) / "sensitivity",
    )
    parts = cells.parts()
    same = placebo_arms(BASELINE, placebo, [files for files, _ in parts]) if placebo else []
    if same:
        notify(describe(same))
    shifted = [arm.size.spec for arm in same if arm.alike]
    # Protocols score different repositories: sizes are matched on those, and hold for these protocols alone.
    matched: list[tuple[frozenset[str], dict[str, str]]] = []
    first, *others = arms
    for files, scored_by in parts if match else []:
        target, of = mean_nws(arms[first], files), {first: first}
        for spec in others:
            size = match_size(spec, target, files)
            if size.matched:
                of[spec] = size.spec
            told = f"{spec}: mean {size.realised:.0f} nws of {size.target:.0f} as {size.spec} {size.reason}".rstrip()
            notify(f"{told} ({len({file.repo for file in files})} repositories)")
        matched.append((scored_by, of))
    cutters = arms | {spec: make_chunker(spec) for spec in (*shifted, *(s for _, of in matched for s in of.values()))}
    ready = {spec for spec, cutter in cutters.items() if cells.kept(cutter)}
    if ready:
        notify(f"{len(ready)} of {len(cutters)} arms are kept from before and read, not scored again")
    cells.prepare([cutter for spec, cutter in cutters.items() if spec not in ready])

    def score(spec: str) -> dict[Cell, Scores]:
        if spec not in ready:
            notify(f"scoring {spec}")
        return cells.score(cutters[spec])

    # What is read from disk is there sooner than a copy of the process; a model has the cores to itself.
    copies = (
        len(ready) < len(cutters)
        and all(Spec.parse(spec).name in BUILT_IN for spec in cutters)
        and all(each.scorer is None for each in chosen)
        and is_large(benchmark)
    )
    scored = dict(zip(cutters, share_out([partial(score, spec) for spec in cutters], copies=copies), strict=True))
    bands = placebo_bands([scored[spec] for spec in shifted]) if len(shifted) > 1 else {}
    found = contests({spec: scored[spec] for spec in arms}, "nominal", bands)
    for scored_by, of in matched:
        resized = {
            spec: {cell: each for cell, each in scored[size].items() if cell.protocol in scored_by}
            for spec, size in of.items()
        }
        found += contests(resized, f"matched to {first}", bands)
    return found
