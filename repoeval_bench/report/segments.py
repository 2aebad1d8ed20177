"""Segments of a run, or of the difference between two, as tables with the words that go with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from repoeval_bench.analysis.segments import BANDS
from repoeval_bench.report.table import Column, Estimate, figures, make_table, spec_column
from repoeval_bench.report.text import count, heading

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from repoeval_bench.analysis.segments import Segmentation, SegmentComparison, SegmentDifference, SegmentMean
    from repoeval_bench.report.table import Cell, Table


FEW = 10
"""With fewer clusters than this, a 95 % interval holds the truth clearly less often."""


def segmentation_table(found: Segmentation) -> Table:
    """One row per segment: its mean with interval, and the knee of its recall curve (k, recall there)."""
    columns = [
        *_columns(found.clustered_by),
        *figures(f"{heading(found.measure)}, 95 % CI"),
        *figures("knee of recall"),
    ]
    rows = [
        (
            *name,
            Estimate(segment.mean, segment.ci),
            segment.knee and f"k = {segment.knee}: {segment.recall_curve[segment.knee - 1]:.2f}",
        )
        for name, segment in zip(_names(found.segments), found.segments, strict=True)
    ]
    title = f"{found.name}: {heading(found.measure)} over {count(found.n_queries, 'query', 'queries')}"
    return make_table(columns, rows, title=title)


def segmentation_lines(found: Segmentation) -> list[str]:
    """How the measure spreads over the queries, which intervals not to trust, and the knee over all queries."""
    lines = [distribution_line(found.distribution, found.measure), few_note(found.segments)]
    if found.knee is not None:
        curve = found.recall_curve
        lines.append(
            f"knee of recall over all queries: k = {found.knee}, recall {curve[found.knee - 1]:.2f} "
            f"(at {len(curve)}: {curve[-1]:.2f}); beyond it a further chunk brings less than on average"
        )
    return [line for line in lines if line]


def comparison_table(found: SegmentComparison) -> Table:
    """One row per segment: the baseline's mean, the paired difference with interval, and what it says."""
    columns = [
        *_columns(found.clustered_by),
        *figures("baseline"),
        *figures(f"{heading(found.measure)} difference, 95 % CI", number="+.4f"),
        Column(name=""),
    ]
    rows = [
        (*name, segment.baseline, Estimate(segment.difference, segment.ci), _against(segment))
        for name, segment in zip(_names(found.segments), found.segments, strict=True)
    ]
    title = (
        f"{found.treatment}\nminus {found.baseline}: {heading(found.measure)} {found.difference:+.4f} over all queries"
    )
    return make_table(columns, rows, title=title)


def comparison_lines(found: SegmentComparison) -> list[str]:
    """What the table leaves open, which intervals not to trust, and what the overall winner loses."""
    lines = [
        "Facts are those of the first run. Intervals are not adjusted for the number of segments.",
        few_note(found.segments),
        winner_note(found),
    ]
    return [line for line in lines if line]


def winner_note(found: SegmentComparison) -> str:
    """`simpson_note` of a comparison."""
    return simpson_note(found.segments, found.difference, (found.baseline, found.treatment))


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
        sure = f"its interval {'excludes' if clear else 'includes'} 0"
    else:
        sure = f"in {clear or 'none'} of them the interval excludes 0"
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
