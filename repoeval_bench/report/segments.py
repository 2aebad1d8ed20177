"""Segments of a run, or of the difference between two, as tables with the words that go with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from repoeval_bench.analysis.sign_flips import FEW_CLUSTERS
from repoeval_bench.core.words import count, plural
from repoeval_bench.report.table import Cell, Column, Estimate, Table, figures, make_table, spec_column
from repoeval_bench.report.text import cluster_count, heading, with_interval

if TYPE_CHECKING:
    from repoeval_bench.analysis.segments import (
        Heterogeneity,
        Segmentation,
        SegmentComparison,
        SegmentDifference,
        SegmentMean,
    )


def segmentation_table(segmentation: Segmentation) -> Table:
    """One row per segment: its mean with interval."""
    columns = [*_columns(segmentation.clustered_by), *figures(f"{heading(segmentation.measure)}, 95 % CI")]
    names = _names(segmentation.segments)
    rows = [(*name, Estimate(one.mean, one.ci)) for name, one in zip(names, segmentation.segments, strict=True)]
    queries = count(segmentation.n_queries, "query")
    title = f"{segmentation.name}: {heading(segmentation.measure)} over {queries}, {segmentation.over} mean"
    return make_table(columns, rows, title=title)


def segmentation_lines(segmentation: Segmentation) -> list[str]:
    """Return which intervals not to trust."""
    return [*filter(None, [few_note(segmentation.segments, segmentation.clustered_by)])]


def comparison_table(comparison: SegmentComparison) -> Table:
    """One row per segment: the baseline's mean, and the paired difference with interval and remark."""
    columns = [
        *_columns(comparison.clustered_by),
        *figures("baseline"),
        *figures(f"{heading(comparison.measure)} difference, 95 % CI", number="+.4f"),
        Column(name=""),
    ]
    rows = [
        (*name, segment.baseline, Estimate(segment.difference, segment.ci), _against(segment))
        for name, segment in zip(_names(comparison.segments), comparison.segments, strict=True)
    ]
    overall = f"{heading(comparison.measure)} {comparison.difference:+.4f} overall, {comparison.over} mean"
    title = f"{comparison.treatment}\nminus {comparison.baseline}: {overall}"
    return make_table(columns, rows, title=title)


def comparison_lines(comparison: SegmentComparison) -> list[str]:
    """Return what the table leaves open, which intervals not to trust, and how much the difference varies."""
    lines = [
        "Facts are those of the first run. Intervals are not adjusted for the number of segments.",
        few_note(comparison.segments, comparison.clustered_by),
        *heterogeneity_lines(comparison.heterogeneity),
    ]
    return [line for line in lines if line]


def _against(segment: SegmentDifference) -> str:
    if not segment.against:
        return ""
    return "sign differs from overall" + (", 0 outside the interval" if segment.shown else "")


def _columns(clusters: str) -> list[Column]:
    names = ("queries", clusters_heading(clusters))
    return [Column(name="by"), spec_column("segment", 48), *figures(*names, number="d")]


def _names(segments: Sequence[SegmentMean | SegmentDifference]) -> list[tuple[Cell, ...]]:
    """The first cells of every row; a fact is named in the first of its rows only."""
    facts = [segment.by for segment in segments]
    return [
        (
            "" if index and facts[index - 1] == segment.by else segment.by,
            segment.name,
            segment.n_queries,
            segment.n_clusters,
        )
        for index, segment in enumerate(segments)
    ]


def heterogeneity_lines(facts: Sequence[Heterogeneity]) -> list[str]:
    """The range of each fact whose lowest and highest interval lie apart, and the facts whose intervals overlap."""
    lines = []
    for fact in facts:
        if fact.apart:
            ends = (
                f"{with_interval(end.difference, end.ci, '+.4f')} ({end.name})" for end in (fact.lowest, fact.highest)
            )
            lines.append(f"heterogeneity by {fact.by}: {' to '.join(ends)}; these intervals do not overlap")
    if rest := [fact.by for fact in facts if not fact.apart]:
        lines.append(f"no clear heterogeneity by {', '.join(rest)}: the lowest and the highest interval overlap")
    return lines


def few_note(segments: Sequence[SegmentMean | SegmentDifference], clustered_by: str) -> str:
    """Return a sentence that names the intervals over few clusters; "" if there are none."""
    small = [segment for segment in segments if segment.ci is not None and segment.n_clusters < FEW_CLUSTERS]
    if not small:
        return ""
    intervals = count(len(small), "interval is", "intervals are")
    names = [f"{segment.by} = {segment.name}" for segment in small]
    listed = ", ".join([*names[:8], *(["…"] if len(names) > 8 else [])])
    fewest = cluster_count(FEW_CLUSTERS, clustered_by)
    return f"note: {intervals} over fewer than {fewest} ({listed}): one of them can decide"


def clusters_heading(clustered_by: str) -> str:
    """Return the plural of what queries are clustered by; `clusters` where each query is its own cluster."""
    return "clusters" if clustered_by == "query" else plural(clustered_by)
