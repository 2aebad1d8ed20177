"""Pairs of chunkers in many settings, at nominal and at matched sizes: who wins where, and what is noise.

A verdict that flips when query, relevance or retriever change is a statement about the setting, not the chunker.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from repoeval_bench.analysis.statistics import mean_intervals
from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.chunkers.tools.placebo import describe, placebo_arms
from repoeval_bench.chunkers.tools.sizes import match_size, mean_nws
from repoeval_bench.core.benchmark import Benchmark
from repoeval_bench.core.errors import ChunkError, UsageError, all_mistakes, anew
from repoeval_bench.core.parts import Chunker
from repoeval_bench.core.words import count
from repoeval_bench.metrics import lower_is_better
from repoeval_bench.plugins.lab.grid import Grid, make_grid
from repoeval_bench.plugins.lab.grid_problems import check_grid
from repoeval_bench.plugins.lab.grid_request import GridRequest
from repoeval_bench.protocols.protocol import BASELINE, CHOICES, Protocol
from repoeval_bench.runs.executors import IN_PROCESS, Executor
from repoeval_bench.runs.parts import (
    RESULTS,
    left_out_for_language,
    left_out_line,
    make_embedder,
    silent,
)
from repoeval_bench.runs.problems import Problems
from repoeval_bench.runs.request import DataRequest
from repoeval_bench.runs.results import results_at
from repoeval_bench.runs.runner import suited

if TYPE_CHECKING:
    from repoeval_bench.plugins.lab.cells import Cell, Scores

    Made = Mapping[Cell, Scores] | ChunkError
    ArmsElsewhere = Callable[[GridRequest, Sequence[str]], Iterator[Made]]

Verdict = Literal["wins", "loses", "undecided", "noise"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedResult:
    """Two chunkers in one cell: a - b with its 95 % interval, and what that says about `a`.

    `ci` is the 95 % interval, signs of files flipped; None where the files are too few to bound it. `band` is the
    placebo band: what the same chunker differs by when its cuts are moved; None where not measured. A difference
    whose interval leaves out 0 but that is not larger than the band is `noise`.
    """

    a: str
    b: str
    sizes: str
    cell: Cell
    means: tuple[float, float]
    difference: float
    ci: tuple[float, float] | None
    band: float | None
    n_queries: int
    n_files: int
    headline: Literal["micro", "macro"]

    @property
    def verdict(self) -> Verdict:
        """What the interval says about `a`; inside the placebo band, `noise`."""
        if self.ci is None or self.ci[0] <= 0 <= self.ci[1]:
            return "undecided"
        if self.band is not None and abs(self.difference) <= self.band:
            return "noise"
        return "wins" if (self.difference > 0) != lower_is_better(self.cell.measure) else "loses"

    def as_dict(self) -> dict[str, Any]:
        """Plain values, with the protocol's choices beside its name, so that a reader can group by them."""
        protocol = Protocol.parse(self.cell.protocol)
        choices = {choice: getattr(protocol, choice) for choice in CHOICES}
        return {
            "a": self.a,
            "b": self.b,
            "sizes": self.sizes,
            "protocol": self.cell.protocol,
            "base_protocol": self.cell.protocol.partition("+")[0],
            **choices,
            "retriever": self.cell.retriever,
            "measure": self.cell.measure,
            "mean_over": self.headline,
            "mean_a": self.means[0],
            "mean_b": self.means[1],
            "difference": self.difference,
            "interval": None if self.ci is None else list(self.ci),
            "placebo_band": self.band,
            "verdict": self.verdict,
            "queries": self.n_queries,
            "files": self.n_files,
        }


def placebo_bands(arms: Sequence[Mapping[Cell, Scores]]) -> dict[Cell, float]:
    """Per cell the spread (largest - smallest mean) of arms that differ in nothing that should matter."""
    if not arms:
        return {}
    means = {cell: [arm[cell].mean() for arm in arms] for cell in arms[0]}
    return {cell: max(values) - min(values) for cell, values in means.items()}


def paired_results(
    arms: Mapping[str, Mapping[Cell, Scores]], sizes: str, bands: Mapping[Cell, float]
) -> list[PairedResult]:
    """Every pair of chunkers in every cell; `arms` is chunker -> its scores, all over the same cells."""
    pairs = [(a, b, cell) for a, b in combinations(arms, 2) for cell in arms[a]]
    # Cells over the same queries share their draws: one matrix product gives the intervals of all of them.
    groups: dict[tuple[str, tuple[str, ...]], list[tuple[str, str, Cell]]] = defaultdict(list)
    for a, b, cell in pairs:
        groups[arms[a][cell].headline, arms[a][cell].files].append((a, b, cell))
    found: dict[tuple[str, str, Cell], PairedResult] = {}
    for members in groups.values():
        first = arms[members[0][0]][members[0][2]]
        table = np.column_stack([arms[a][cell].values - arms[b][cell].values for a, b, cell in members])
        means, intervals = mean_intervals(table, first.files, first.repos, first.headline)
        for (a, b, cell), difference, ci in zip(members, means, intervals, strict=True):
            found[a, b, cell] = PairedResult(
                a=a,
                b=b,
                sizes=sizes,
                cell=cell,
                means=(arms[a][cell].mean(), arms[b][cell].mean()),
                difference=difference,
                ci=ci,
                band=bands.get(cell),
                n_queries=len(first.files),
                n_files=len(set(first.files)),
                headline=first.headline,
            )
    return [found[pair] for pair in pairs]


def flips(found: Sequence[PairedResult]) -> list[PairedResult]:
    """The decided cells that contradict the majority of a pair's decided cells; all of them where it is a draw."""
    by_pair: dict[tuple[str, str], list[PairedResult]] = defaultdict(list)
    for each in found:
        if each.verdict in ("wins", "loses"):
            by_pair[each.a, each.b].append(each)
    minority: list[PairedResult] = []
    for decided in by_pair.values():
        wins = sum(each.verdict == "wins" for each in decided)
        fewer = {"wins"} if wins * 2 < len(decided) else {"loses"} if wins * 2 > len(decided) else {"wins", "loses"}
        minority.extend(each for each in decided if each.verdict in fewer)
    return minority


@dataclass(frozen=True, slots=True)
class _Matched:
    """Protocols that score the same files, and each chunker's spec at the first one's realised size there."""

    protocols: frozenset[str]
    specs: Mapping[str, str]


def _raised(_: str, error: ChunkError) -> None:
    raise anew(error)


def sensitivity(
    benchmark: Benchmark,
    chunkers: Sequence[str],
    *,
    out: Path | str = RESULTS,
    home: Path | None = None,
    notify: Callable[[str], None] = silent,
    executor: Executor = IN_PROCESS,
    elsewhere: ArmsElsewhere | None = None,
    fail: Callable[[str, ChunkError], None] = _raised,
    **asked: Any,
) -> list[PairedResult]:
    """Every pair of chunkers in every setting, at nominal sizes and (with `match`) at the first one's realised size.

    `asked` are further fields of `GridRequest`. `placebo` is the number of line offsets at which the fixed baseline is
    started for the placebo band, 0 for none; an arm that cannot be given the baseline's realised size is left out,
    counted. Chunkers, protocols and retrievers are specs. Cells are kept in `out`/sensitivity, and those that this very
    code has computed are not computed again. `elsewhere` scores chunkers in the place of `executor`: given the request
    and their specs, it gives the scores of each, or why it failed, in turn. `fail` receives the spec and the error of
    each chunker that fails, when the others are scored; unless it raises (the default), these are compared. Raises a
    BenchError in one sentence.
    """
    if wrong := sorted(DataRequest.model_fields.keys() & asked.keys()):
        raise UsageError(f"{', '.join(wrong)}: the data is loaded already; give it to load_benchmark")
    request = GridRequest.of({**asked, "chunkers": tuple(chunkers)})
    found = Problems()
    check_grid(request, home, found)
    found.check()
    embedder, results = None, results_at(out, home)
    if model := request.embedder_spec():
        cache = results.vectors(home, notify)
        embedder = make_embedder(model, home=home, notify=notify, cache=cache)
    grid = make_grid(benchmark, request, embedder, results, home=home, notify=notify)
    arms = {(chunker := make_chunker(spec)).spec: chunker for spec in request.chunkers}
    for spec, reason in left_out_for_language(benchmark, arms, least=2, skippable=False).items():
        notify(left_out_line(spec, reason))
        del arms[spec]
    same_files = grid.same_files()
    same = placebo_arms(BASELINE, request.placebo, [files for files, _ in same_files]) if request.placebo else []
    if same:
        notify(describe(same))
    shifted = [arm.size.spec for arm in same if arm.matched]
    # Protocols score different repositories: sizes are matched on those, and hold for these protocols alone.
    matched = [_matched(arms, files, names, notify) for files, names in same_files] if request.match else []
    further = (*shifted, *(spec for each in matched for spec in each.specs.values()))
    every = arms | {spec: make_chunker(spec) for spec in further}

    def score(missing: Mapping[str, Chunker]) -> Iterator[Made]:
        if elsewhere is not None:
            return elsewhere(request, list(missing))
        return grid.score_all([*missing.values()], suited(executor, benchmark, missing.values(), [grid.parts]))

    scored, failed = _score(grid, every, notify, score)
    for spec, error in failed.items():
        fail(spec, error)
    if len(arms.keys() - failed.keys()) < 2:
        raise ChunkError(all_mistakes(str(failed[spec]) for spec in arms if spec in failed))
    bands = placebo_bands([scored[spec] for spec in shifted]) if len(shifted) > 1 else {}
    return _contests(scored, arms, matched, bands)


def _contests(
    scored: Mapping[str, Mapping[Cell, Scores]],
    arms: Iterable[str],
    matched: Sequence[_Matched],
    bands: Mapping[Cell, float],
) -> list[PairedResult]:
    """The pairs of the chunkers that were scored, at nominal sizes and then at matched ones."""
    verdicts = paired_results({spec: scored[spec] for spec in arms if spec in scored}, "nominal", bands)
    for each in matched:
        resized = {
            spec: {cell: values for cell, values in scored[size].items() if cell.protocol in each.protocols}
            for spec, size in each.specs.items()
            if size in scored
        }
        verdicts += paired_results(resized, f"matched to {next(iter(each.specs))}", bands)
    return verdicts


def _matched(
    arms: Mapping[str, Chunker], files: Sequence[Any], protocols: frozenset[str], notify: Callable[[str], None]
) -> _Matched:
    """The first that does not fail is what the others' sizes are matched to; of one that fails a line says why."""
    target, specs = 0.0, dict[str, str]()
    repositories = len({file.repo for file in files})
    for spec, chunker in arms.items():
        try:
            if not specs:
                target, specs[spec] = mean_nws(chunker, files), spec
                continue
            size = match_size(spec, target, files)
        except ChunkError as error:
            notify(f"{spec}: no size to match ({error})")
            continue
        if size.matched:
            specs[spec] = size.spec
        average = f"{spec}: chunks average {size.realised:.0f} characters, for {size.target:.0f}"
        line = f"{average}, as {size.spec} {size.reason}".rstrip()
        notify(f"{line} ({count(repositories, 'repository')})")
    return _Matched(protocols, specs)


def _score(
    grid: Grid,
    chunkers: Mapping[str, Chunker],
    notify: Callable[[str], None],
    score: Callable[[Mapping[str, Chunker]], Iterator[Made]],
) -> tuple[dict[str, Mapping[Cell, Scores]], dict[str, ChunkError]]:
    """Spec -> the scores in every cell, of which those that are kept are read, and spec -> why it failed."""
    ready = [spec for spec, chunker in chunkers.items() if grid.kept(chunker)]
    if ready:
        notify(f"{len(ready)} of {len(chunkers)} arms were scored before and are reused")
    scored: dict[str, Mapping[Cell, Scores]] = {spec: grid.score(chunkers[spec]) for spec in ready}
    missing = {spec: chunker for spec, chunker in chunkers.items() if spec not in scored}
    failed: dict[str, ChunkError] = {}
    made = score(missing)
    for spec in missing:
        notify(f"scoring {spec}")
        found = next(made)
        if isinstance(found, ChunkError):
            failed[spec] = found
        else:
            scored[spec] = found
    return scored, failed
