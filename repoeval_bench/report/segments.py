"""Segments of a run, or of the difference between two, as tables with the words that go with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from repoeval_bench.analysis.segments import BANDS
from repoeval_bench.report.frame import count, heading, new_table, plain, signed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.table import Table

    from repoeval_bench.analysis.segments import SegmentDifference, SegmentMean


FEW = 10
"""With fewer clusters than that, a 95 % interval holds the truth clearly less often."""


def means_table(
    found: Sequence[SegmentMean], knees: Sequence[tuple[int | None, float]], measure: str, title: str, clusters: str
) -> Table:
    """One row per segment: its mean with interval, and the knee of its recall curve (k, recall there)."""
    table = _table(title, clusters)
    table.add_column(f"{heading(measure)}, 95 % interval", justify="right", no_wrap=True)
    table.add_column("knee of recall", justify="right", no_wrap=True)
    by = ""
    for segment, (k, recall) in zip(found, knees, strict=True):
        table.add_row(
            *_name(segment, by), plain(segment.mean, segment.ci), "-" if k is None else f"k = {k}: {recall:.2f}"
        )
        by = segment.by
    return table


def differences_table(found: Sequence[SegmentDifference], measure: str, title: str, clusters: str) -> Table:
    """One row per segment: the baseline's mean, the paired difference with interval, and what it says."""
    table = _table(title, clusters)
    table.add_column("baseline", justify="right", no_wrap=True)
    table.add_column(f"{heading(measure)} difference, 95 % interval", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    by = ""
    for segment in found:
        words = ("against the overall difference" if segment.loses else "") + (
            ", 0 outside the interval" if segment.loses and segment.shown else ""
        )
        table.add_row(*_name(segment, by), f"{segment.baseline:.4f}", signed(segment.difference, segment.ci), words)
        by = segment.by
    return table


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
    return f"mind: {winner} has the higher mean overall but loses {count(len(lost), 'segment')} ({listed}); {sure}"


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
    return f"mind: {rest} on fewer than {FEW} clusters ({_listed(small)}): too short to be trusted"


def _listed(found: Sequence[SegmentMean | SegmentDifference]) -> str:
    """The first eight by fact and name."""
    return ", ".join(f"{segment.by} = {segment.name}" for segment in found[:8]) + (", …" if len(found) > 8 else "")


def clusters_heading(clustered_by: str) -> str:
    """What is resampled, in the plural; `clusters` where each query stands for itself."""
    return "clusters" if clustered_by == "query" else f"{clustered_by}s"


def _table(title: str, clusters: str) -> Table:
    table = new_table(title)
    table.add_column("by", no_wrap=True)
    table.add_column("segment", overflow="fold", max_width=48)
    for name in ("queries", clusters_heading(clusters)):
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _name(segment: SegmentMean | SegmentDifference, by: str) -> tuple[str, str, str, str]:
    shown = segment.by if segment.by != by else ""
    return shown, segment.name, str(segment.n_queries), str(segment.n_clusters)
