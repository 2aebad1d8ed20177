"""Segments of a run, or of the difference between two, as tables with the words that go with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from repoeval_bench.analysis.sign_flips import FEW_CLUSTERS
from repoeval_bench.core.words import count, few, plural
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
    """Return the facts by which the difference varies, which intervals not to trust, and what is not corrected."""
    lines = [
        heterogeneity_line(comparison.heterogeneity),
        few_note(comparison.segments, comparison.clustered_by),
        "intervals are not corrected for the number of segments; facts are those of the first run",
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


def heterogeneity_line(facts: Sequence[Heterogeneity]) -> str:
    """Return the range of the fact whose lowest and highest interval lie furthest apart; "" if all overlap."""
    apart = [fact for fact in facts if fact.apart]
    if not apart:
        return ""
    widest = max(apart, key=lambda fact: fact.highest.difference - fact.lowest.difference)
    ends = [f"{with_interval(end.difference, end.ci, '+.4f')} ({end.name})" for end in (widest.lowest, widest.highest)]
    return f"the difference varies most by {widest.by}, from {ends[0]} to {ends[1]}"


def few_note(segments: Sequence[SegmentMean | SegmentDifference], clustered_by: str) -> str:
    """Return a sentence that names the intervals over few clusters; "" if there are none."""
    small = [segment for segment in segments if segment.ci is not None and segment.n_clusters < FEW_CLUSTERS]
    if not small:
        return ""
    names = few([f"{segment.by} = {segment.name}" for segment in small], 2)
    fewest = cluster_count(FEW_CLUSTERS, clustered_by)
    return f"one cluster can decide an interval over fewer than {fewest}: {names}"


def clusters_heading(clustered_by: str) -> str:
    """Return the plural of what queries are clustered by; `clusters` where each query is its own cluster."""
    return "clusters" if clustered_by == "query" else plural(clustered_by)
