"""What a script calls; the command line calls the same three functions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from repoeval_bench.core.errors import UsageError, all_mistakes
from repoeval_bench.core.spec import Spec
from repoeval_bench.protocols.protocol import BASELINE, Protocol
from repoeval_bench.runs.executors import IN_PROCESS
from repoeval_bench.runs.experiment import evaluate, evaluate_all, fitting, plan_run
from repoeval_bench.runs.parts import (
    RESULTS,
    Parts,
    choose_measures,
    choose_retriever,
    load_benchmark,
    make_embedder,
    make_parts,
    make_retriever,
    needs_vectors,
    vectors_folder,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from repoeval_bench.analysis.records import Comparison
    from repoeval_bench.analysis.sensitivity import PairedResult
    from repoeval_bench.chunkers.tools.sizes import SizeMatch
    from repoeval_bench.core.benchmark import Benchmark
    from repoeval_bench.runs.executors import Executor
    from repoeval_bench.runs.view import RunView

__all__ = [
    "RESULTS",
    "choose_measures",
    "choose_retriever",
    "compare",
    "evaluate",
    "evaluate_all",
    "load_benchmark",
    "make_embedder",
    "make_parts",
    "match_sizes",
    "needs_files",
    "needs_vectors",
    "plan_run",
    "resize",
    "sensitivity",
    "vectors_folder",
]

EMBEDDER = "minilm"
RETRIEVER = "dense"
PROTOCOL = "context"


def needs_files(embedder: str) -> bool:
    """Whether the embedder that a spec names is fitted on a benchmark's files."""
    from repoeval_bench.embedding.choice import needs_files

    return needs_files(embedder)


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


def compare(
    runs: Sequence[RunView],
    *,
    baseline: RunView | None = None,
    metrics: Sequence[str] = (),
    equivalence: float | None = None,
) -> list[Comparison]:
    """Paired differences of every pair of runs (later minus earlier), or of every run to `baseline`, by measure.

    `metrics` selects measures (all that the runs share unless given). `equivalence` is the margin (below 1) within
    which means count as equal; without one, equality is never said. Only runs over the same queries under one protocol
    are compared; anything else is a UsageError.
    """
    from repoeval_bench.analysis.comparison import compare as compare_runs

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
    executor: Executor = IN_PROCESS,
) -> list[PairedResult]:
    """Every pair of chunkers in every setting, at nominal sizes and (with `match`) at the first one's realised size.

    `placebo` is the number of line offsets at which the fixed baseline is started for the placebo band, 0 for none; an
    arm that cannot be given the baseline's realised size is left out, counted. Chunkers, protocols and retrievers are
    specs. Cells are kept in `out`/sensitivity, and those that this very code has computed are not computed again.
    Raises a BenchError in one sentence.
    """
    from repoeval_bench.analysis.sensitivity import paired_results, placebo_bands
    from repoeval_bench.chunkers.registry import make_chunker
    from repoeval_bench.chunkers.tools.placebo import describe, placebo_arms, placebo_problems
    from repoeval_bench.chunkers.tools.sizes import match_size, mean_nws
    from repoeval_bench.metrics import Measure
    from repoeval_bench.runs.grid import Grid, grid_problems, make_protocols

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
    found_parts = Parts(model, tuple(chosen), home)
    cells = Grid(
        benchmark,
        grid,
        found_parts,
        names,
        baseline=make_chunker(BASELINE),
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
    missing = [cutter for spec, cutter in cutters.items() if spec not in ready]
    executor = fitting(executor, benchmark, missing, found_parts)
    scored = {spec: cells.score(cutters[spec]) for spec in ready}
    made = cells.score_all(missing, executor)
    for cutter in missing:
        notify(f"scoring {cutter.spec}")
        scored[cutter.spec] = next(made)
    bands = placebo_bands([scored[spec] for spec in shifted]) if len(shifted) > 1 else {}
    found = paired_results({spec: scored[spec] for spec in arms}, "nominal", bands)
    for scored_by, of in matched:
        resized = {
            spec: {cell: each for cell, each in scored[size].items() if cell.protocol in scored_by}
            for spec, size in of.items()
        }
        found += paired_results(resized, f"matched to {first}", bands)
    return found
