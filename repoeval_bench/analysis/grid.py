"""A sensitivity grid, measured: chunkers at nominal and at matched sizes, the placebo's arms, and what that says."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repoeval_bench.analysis.sensitivity import paired_results, placebo_bands
from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.chunkers.tools.placebo import describe, placebo_arms
from repoeval_bench.chunkers.tools.sizes import match_size, mean_nws
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.words import count
from repoeval_bench.protocols.protocol import BASELINE
from repoeval_bench.runs.executors import IN_PROCESS
from repoeval_bench.runs.experiment import fitting
from repoeval_bench.runs.grid import make_grid
from repoeval_bench.runs.grid_problems import check_grid
from repoeval_bench.runs.parts import RESULTS, make_embedder, silent
from repoeval_bench.runs.problems import Problems
from repoeval_bench.runs.request import DataRequest, GridRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from repoeval_bench.analysis.sensitivity import PairedResult
    from repoeval_bench.core.benchmark import Benchmark
    from repoeval_bench.core.parts import Chunker
    from repoeval_bench.runs.executors import Executor
    from repoeval_bench.runs.grid import Grid
    from repoeval_bench.runs.grid_store import Cell, Scores

    ArmsElsewhere = Callable[[GridRequest, Sequence[str]], Iterator[Mapping[Cell, Scores]]]


@dataclass(frozen=True, slots=True)
class _Matched:
    """Protocols that score the same files, and each chunker's spec at the first one's realised size there."""

    protocols: frozenset[str]
    specs: Mapping[str, str]


def sensitivity(
    benchmark: Benchmark,
    chunkers: Sequence[str],
    *,
    out: Path | str = RESULTS,
    home: Path | None = None,
    notify: Callable[[str], None] = silent,
    executor: Executor = IN_PROCESS,
    elsewhere: ArmsElsewhere | None = None,
    **asked: Any,
) -> list[PairedResult]:
    """Every pair of chunkers in every setting, at nominal sizes and (with `match`) at the first one's realised size.

    `asked` are further fields of `GridRequest`. `placebo` is the number of line offsets at which the fixed baseline is
    started for the placebo band, 0 for none; an arm that cannot be given the baseline's realised size is left out,
    counted. Chunkers, protocols and retrievers are specs. Cells are kept in `out`/sensitivity, and those that this very
    code has computed are not computed again. `elsewhere` scores chunkers in the place of `executor`: given the request
    and their specs, it gives the scores of each in turn. Raises a BenchError in one sentence.
    """
    if wrong := sorted(DataRequest.model_fields.keys() & asked.keys()):
        raise UsageError(f"{', '.join(wrong)}: the data is loaded already; give it to load_benchmark")
    request = GridRequest.of({**asked, "chunkers": tuple(chunkers)})
    found = Problems()
    check_grid(request, home, found)
    found.check()
    embedder = None
    if model := request.embedder_spec():
        embedder = make_embedder(model, home=home, benchmark=benchmark, notify=notify)
    grid = make_grid(benchmark, request, embedder, Path(out), home=home, notify=notify)
    arms = {(chunker := make_chunker(spec)).spec: chunker for spec in request.chunkers}
    same_files = grid.same_files()
    same = placebo_arms(BASELINE, request.placebo, [files for files, _ in same_files]) if request.placebo else []
    if same:
        notify(describe(same))
    shifted = [arm.size.spec for arm in same if arm.matched]
    # Protocols score different repositories: sizes are matched on those, and hold for these protocols alone.
    matched = [_matched(arms, files, names, notify) for files, names in same_files] if request.match else []
    further = (*shifted, *(spec for each in matched for spec in each.specs.values()))
    every = arms | {spec: make_chunker(spec) for spec in further}

    def score(missing: Mapping[str, Chunker]) -> Iterator[Mapping[Cell, Scores]]:
        if elsewhere is not None:
            return elsewhere(request, list(missing))
        return grid.score_all([*missing.values()], fitting(executor, benchmark, missing.values(), grid.parts))

    scored = _score(grid, every, notify, score)
    bands = placebo_bands([scored[spec] for spec in shifted]) if len(shifted) > 1 else {}
    verdicts = paired_results({spec: scored[spec] for spec in arms}, "nominal", bands)
    for each in matched:
        resized = {
            spec: {cell: values for cell, values in scored[size].items() if cell.protocol in each.protocols}
            for spec, size in each.specs.items()
        }
        verdicts += paired_results(resized, f"matched to {next(iter(arms))}", bands)
    return verdicts


def _matched(
    arms: Mapping[str, Chunker], files: Sequence[Any], protocols: frozenset[str], notify: Callable[[str], None]
) -> _Matched:
    first, *others = arms
    target, specs = mean_nws(arms[first], files), {first: first}
    repositories = len({file.repo for file in files})
    for spec in others:
        size = match_size(spec, target, files)
        if size.matched:
            specs[spec] = size.spec
        line = f"{spec}: mean {size.realised:.0f} nws of {size.target:.0f} as {size.spec} {size.reason}".rstrip()
        notify(f"{line} ({count(repositories, 'repository')})")
    return _Matched(protocols, specs)


def _score(
    grid: Grid,
    chunkers: Mapping[str, Chunker],
    notify: Callable[[str], None],
    score: Callable[[Mapping[str, Chunker]], Iterator[Mapping[Cell, Scores]]],
) -> dict[str, Mapping[Cell, Scores]]:
    """Spec -> the scores in every cell; those that are kept are read."""
    ready = [spec for spec, chunker in chunkers.items() if grid.kept(chunker)]
    if ready:
        notify(f"{len(ready)} of {len(chunkers)} arms were scored before and are reused")
    scored: dict[str, Mapping[Cell, Scores]] = {spec: grid.score(chunkers[spec]) for spec in ready}
    missing = {spec: chunker for spec, chunker in chunkers.items() if spec not in scored}
    made = score(missing)
    for spec in missing:
        notify(f"scoring {spec}")
        scored[spec] = next(made)
    return scored
