"""Compare pairs of chunkers in many settings, at nominal and at matched sizes, and tell noise from effects.

A verdict that flips when query, relevance or retriever change is a statement about the setting, not the chunker.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import numpy as np

from repoeval_bench.analysis.statistics import mean_intervals
from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.chunkers.tools.sizes import match_targets, mean_nws
from repoeval_bench.core.benchmark import Benchmark
from repoeval_bench.core.errors import ChunkError, UsageError, all_mistakes, without_traceback
from repoeval_bench.core.notices import NOTICES
from repoeval_bench.core.parts import Chunker
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.words import count
from repoeval_bench.metrics import lower_is_better
from repoeval_bench.plugins.lab.grid import Cell, Grid, GridRequest, Scores, check_grid
from repoeval_bench.plugins.lab.placebo import describe, placebo_offsets
from repoeval_bench.protocols.protocol import CHOICES, Protocol
from repoeval_bench.runs.executors import IN_PROCESS, Executor
from repoeval_bench.runs.parts import make_embedder, skipped_for_language, skipped_line
from repoeval_bench.runs.problems import Problems
from repoeval_bench.runs.request import DataRequest
from repoeval_bench.runs.runner import suited

_BASELINE = "fixed:max_nws=1500"
"""The chunker whose cuts the placebo moves."""

_UNMATCHED = "{}: no size to match ({})"

Verdict = Literal["wins", "loses", "undecided", "noise"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedResult:
    """Two chunkers in one cell: the difference a - b, and the verdict on `a`.

    `ci` is the 95 % interval by sign flips of files; None if the files are too few to bound it. `band` is the placebo
    band: how much a chunker's scores differ when its cuts are moved; None if it was not measured. A difference whose
    interval excludes 0 but that is not larger than the band is `noise`.
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
        """Return the verdict of the interval on `a`; inside the placebo band, `noise`."""
        if self.ci is None or self.ci[0] <= 0 <= self.ci[1]:
            return "undecided"
        if self.band is not None and abs(self.difference) <= self.band:
            return "noise"
        return "wins" if (self.difference > 0) != lower_is_better(self.cell.measure) else "loses"

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, with the protocol's choices as fields to group by."""
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


def placebo_bands(scored: Sequence[Mapping[Cell, Scores]]) -> dict[Cell, float]:
    """Return cell -> the spread (largest - smallest mean) over the offsets of the placebo."""
    if not scored:
        return {}
    means = {cell: [scores[cell].mean() for scores in scored] for cell in scored[0]}
    return {cell: max(values) - min(values) for cell, values in means.items()}


def paired_results(
    scored: Mapping[str, Mapping[Cell, Scores]], sizes: str, bands: Mapping[Cell, float]
) -> list[PairedResult]:
    """Compare every pair of chunkers in every cell; `scored` is chunker -> its scores, all over the same cells."""
    pairs = [(a, b, cell) for a, b in combinations(scored, 2) for cell in scored[a]]
    # Cells over the same queries share their draws, so one matrix product gives all their intervals.
    groups: dict[tuple[str, tuple[str, ...]], list[tuple[str, str, Cell]]] = defaultdict(list)
    for a, b, cell in pairs:
        groups[scored[a][cell].headline, scored[a][cell].files].append((a, b, cell))
    results: dict[tuple[str, str, Cell], PairedResult] = {}
    for members in groups.values():
        first = scored[members[0][0]][members[0][2]]
        table = np.column_stack([scored[a][cell].values - scored[b][cell].values for a, b, cell in members])
        means, intervals = mean_intervals(table, first.files, first.repos, first.headline)
        for (a, b, cell), difference, ci in zip(members, means, intervals, strict=True):
            results[a, b, cell] = PairedResult(
                a=a,
                b=b,
                sizes=sizes,
                cell=cell,
                means=(scored[a][cell].mean(), scored[b][cell].mean()),
                difference=difference,
                ci=ci,
                band=bands.get(cell),
                n_queries=len(first.files),
                n_files=len(set(first.files)),
                headline=first.headline,
            )
    return [results[pair] for pair in pairs]


def flips(results: Sequence[PairedResult]) -> list[PairedResult]:
    """Return the decided cells that contradict the majority of their pair; in a draw all of them."""
    by_pair: dict[tuple[str, str], list[PairedResult]] = defaultdict(list)
    for result in results:
        if result.verdict in ("wins", "loses"):
            by_pair[result.a, result.b].append(result)
    minority: list[PairedResult] = []
    for decided in by_pair.values():
        wins = sum(result.verdict == "wins" for result in decided)
        fewer = {"wins"} if wins * 2 < len(decided) else {"loses"} if wins * 2 > len(decided) else {"wins", "loses"}
        minority.extend(result for result in decided if result.verdict in fewer)
    return minority


@dataclass(frozen=True, slots=True)
class _Matched:
    """Protocols that score the same files, and each chunker's spec at the first one's realised size there."""

    protocols: frozenset[str]
    specs: Mapping[str, str]


def _raise(_: str, error: ChunkError) -> None:
    raise without_traceback(error)


def sensitivity(
    benchmark: Benchmark,
    chunkers: Sequence[str],
    *,
    home: Path | None = None,
    executor: Executor = IN_PROCESS,
    fail: Callable[[str, ChunkError], None] = _raise,
    **fields: Any,
) -> list[PairedResult]:
    """Compare every pair of chunkers in every setting, at nominal sizes and (with `match`) at the first one's size.

    Chunkers are specs. `fields` are further fields of `GridRequest`: `placebo` is the number of line offsets at which
    the fixed baseline is started for the placebo band, 0 for none. An offset that cannot get the baseline's mean size
    is skipped and counted. When the others are scored, `fail` receives the spec and the error of each chunker that
    failed; unless it raises (the default), the others are compared. Mistakes are a BenchError in one sentence.
    """
    if wrong := sorted(DataRequest.model_fields.keys() & fields.keys()):
        raise UsageError(f"{', '.join(wrong)}: the data is loaded already; give it to load_benchmark")
    request = GridRequest.of({**fields, "chunkers": tuple(chunkers)})
    problems = Problems()
    check_grid(request, home, problems)
    problems.check()
    embedder = make_embedder(request.embedder, home=home) if request.needs_vectors else None
    grid = Grid.of(benchmark, request, embedder, home=home)
    named = {(chunker := make_chunker(spec)).spec: chunker for spec in request.chunkers}
    for spec, reason in skipped_for_language(benchmark, named, least=2, skippable=False).items():
        NOTICES.info(skipped_line(spec, reason))
        del named[spec]
    file_sets = grid.file_sets()
    baselines = [make_chunker(_BASELINE)] * request.placebo
    executor = suited(executor, benchmark, [*named.values(), *baselines], [grid.parts])
    parts = [files for files, _ in file_sets]
    offsets = placebo_offsets(_BASELINE, request.placebo, parts, executor) if request.placebo else []
    if offsets:
        NOTICES.info(describe(offsets))
    shifted = [offset.size.spec for offset in offsets if offset.matched]
    # Protocols score different repositories. Sizes are matched on each set of repositories, for its protocols alone.
    matched = [_matched(named, files, names, executor) for files, names in file_sets] if request.match else []
    # At a matched size a chunker is scored only under the protocols for which the size was matched.
    protocols: dict[str, frozenset[str] | None] = dict.fromkeys([*named, *shifted])
    for sizes in matched:
        for spec in sizes.specs.values():
            before = protocols.setdefault(spec, frozenset())
            protocols[spec] = before if before is None else before | sizes.protocols
    all_chunkers = {spec: named.get(spec) or make_chunker(spec) for spec in protocols}
    scored: dict[str, Mapping[Cell, Scores]] = {}
    failed: dict[str, ChunkError] = {}
    requests = [(chunker, protocols[spec]) for spec, chunker in all_chunkers.items()]
    for spec, result in zip(all_chunkers, grid.score_all(requests, executor), strict=True):
        if isinstance(result, ChunkError):
            failed[spec] = result
        else:
            scored[spec] = result
            NOTICES.info(f"scored {spec}")
    for spec, error in failed.items():
        fail(spec, error)
    if len(named.keys() - failed.keys()) < 2:
        raise ChunkError(all_mistakes(str(failed[spec]) for spec in named if spec in failed))
    bands = placebo_bands([scored[spec] for spec in shifted]) if len(shifted) > 1 else {}
    return _compare({spec: scored[spec] for spec in named if spec in scored}, scored, matched, bands)


def _compare(
    nominal: Mapping[str, Mapping[Cell, Scores]],
    scored: Mapping[str, Mapping[Cell, Scores]],
    matched: Sequence[_Matched],
    bands: Mapping[Cell, float],
) -> list[PairedResult]:
    """Compare the pairs of chunkers at nominal sizes, then at matched ones."""
    pairs = paired_results(nominal, "nominal", bands)
    for sizes in matched:
        resized = {
            spec: {cell: values for cell, values in scored[size].items() if cell.protocol in sizes.protocols}
            for spec, size in sizes.specs.items()
            if size in scored
        }
        pairs += paired_results(resized, f"matched to {next(iter(sizes.specs))}", bands)
    return pairs


def _matched(
    chunkers: Mapping[str, Chunker], files: Sequence[SourceFile], protocols: frozenset[str], executor: Executor
) -> _Matched:
    """Match sizes to that of the first chunker that does not fail; a notice says why a chunker fails."""
    target, specs = 0.0, dict[str, str]()
    repositories = len({file.repo for file in files})
    remaining = iter(chunkers.items())
    for spec, chunker in remaining:
        try:
            target, specs[spec] = mean_nws(chunker, files), spec
            break
        except ChunkError as error:
            NOTICES.info(_UNMATCHED.format(spec, error))
    others = [spec for spec, _ in remaining]
    matches = executor.map([partial(match_targets, spec, [target], files) for spec in others])
    for spec, sizes in zip(others, matches, strict=True):
        if isinstance(sizes, ChunkError):
            NOTICES.info(_UNMATCHED.format(spec, sizes))
            continue
        (size,) = sizes
        if size.matched:
            specs[spec] = size.spec
        NOTICES.info(f"{size} ({count(repositories, 'repository')})")
    return _Matched(protocols, specs)
