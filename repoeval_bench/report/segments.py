"""Segments of a run, or of the difference between two, as tables with the words that go with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from repoeval_bench.analysis.segments import BANDS
from repoeval_bench.report.table import Column, Estimate, figures, make_table, spec_column
from repoeval_bench.report.text import count, heading

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from repoeval_bench.analysis.segments import SegmentDifference, SegmentMean
    from repoeval_bench.report.table import Cell, Table


FEW = 10
"""With fewer clusters than this, a 95 % interval holds the truth clearly less often."""


def means_table(
    found: Sequence[SegmentMean], knees: Sequence[tuple[int | None, float]], measure: str, title: str, clusters: str
) -> Table:
    """One row per segment: its mean with interval, and the knee of its recall curve (k, recall there)."""
    columns = [*_columns(clusters), *figures(f"{heading(measure)}, 95 % CI"), *figures("knee of recall")]
    rows = [
        (*name, Estimate(segment.mean, segment.ci), None if k is None else f"k = {k}: {recall:.2f}")
        for name, segment, (k, recall) in zip(_names(found), found, knees, strict=True)
    ]
    return make_table(columns, rows, title=title)


def differences_table(found: Sequence[SegmentDifference], measure: str, title: str, clusters: str) -> Table:
    """One row per segment: the baseline's mean, the paired difference with interval, and what it says."""
    columns = [
        *_columns(clusters),
        *figures("baseline"),
        *figures(f"{heading(measure)} difference, 95 % CI", number="+.4f"),
        Column(name=""),
    ]
    rows = [
        (*name, segment.baseline, Estimate(segment.difference, segment.ci), _against(segment))
        for name, segment in zip(_names(found), found, strict=True)
    ]
    return make_table(columns, rows, title=title)


def _against(segment: SegmentDifference) -> str:
    if not segment.loses:
        return ""
    return "against the overall difference" + (", 0 outside the interval" if segment.shown else "")


def _columns(clusters: str) -> list[Column]:
    names = ("queries", clusters_heading(clusters))
    return [Column(name="by"), spec_column("segment", 48), *figures(*names, number="d")]


def _names(found: Sequence[SegmentMean | SegmentDifference]) -> list[tuple[Cell, ...]]:
    """The first cells of every row; a fact is named in the first of its rows only."""
    facts = [segment.by for segment in found]
    return [
        ("" if at and facts[at - 1] == segment.by else segment.by, segment.name, segment.n_queries, segment.n_clusters)
        for at, segment in enumerate(found)
    ]


def simpson_note(found: Sequence[SegmentDifference], overall: float, names: Sequence[str]) -> str:
    """One sentence on the segments that the overall winner loses; empty where it loses none."""
    lost = [segment for segment in found if segment.loses]
    if not lost:
        return ""
    winner = names[1] if overall > 0 else names[0]
    clear = sum(segment.shown for segment in lost)
    listed = _listed(lost)
    if len(lost) == 1:
        sure = f"its interval {'leaves out' if clear else 'does not leave out'} 0"
    else:
        sure = f"in {clear or 'none'} of them the interval leaves out 0"
    return f"note: {winner} has the higher mean overall but loses {count(len(lost), 'segment')} ({listed}); {sure}"


def distribution_line(shares: Mapping[str, float], measure: str) -> str:
    """How a measure spreads over the queries, in one line."""
    bands = [f"{name} {shares[name]:.0%}" for name in (*(name for name, _, _ in BANDS), "1")]
    quantiles = [f"{name} {shares[name]:.2f}" for name in ("p10", "p25", "p50", "p75", "p90")]
    return f"queries by {heading(measure)}: {' · '.join(bands)} (quantiles {', '.join(quantiles)})"


def few_note(found: Sequence[SegmentMean | SegmentDifference]) -> str:
    """One sentence where an interval rests on few clusters; empty where none does."""
    small = [segment for segment in found if 1 < segment.n_clusters < FEW]
    if not small:
        return ""
    rest = count(len(small), "interval rests", "intervals rest")
    return f"note: {rest} on fewer than {FEW} clusters ({_listed(small)}): too short to be trusted"


def _listed(found: Sequence[SegmentMean | SegmentDifference]) -> str:
    """The first eight by fact and name."""
    return ", ".join(f"{segment.by} = {segment.name}" for segment in found[:8]) + (", …" if len(found) > 8 else "")


def clusters_heading(clustered_by: str) -> str:
    """What is resampled, in the plural; `clusters` where each query is its own cluster."""
    return "clusters" if clustered_by == "query" else f"{clustered_by}s"
