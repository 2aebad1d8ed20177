"""Pairs of chunkers in many settings: who wins where, what is undecided, and what is noise.

A verdict that flips when query, relevance or retriever change is a statement about the setting, not the chunker.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from repoeval_bench.analysis.statistics import mean_intervals
from repoeval_bench.metrics import lower_is_better
from repoeval_bench.protocols.protocol import CHOICES, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from repoeval_bench.runs.grid_store import Cell, Scores

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
