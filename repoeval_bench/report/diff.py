"""Parts of a run and of two runs as tables with words: changed queries, segments, and the same request run again."""

from collections import Counter
from collections.abc import Sequence

from repoeval_bench.analysis.diff import Diff, Why
from repoeval_bench.analysis.segments import Segmentation, SegmentComparison, SegmentRow
from repoeval_bench.analysis.sign_flips import FEW_CLUSTERS
from repoeval_bench.analysis.verification import Verification
from repoeval_bench.core.words import count, few, plural
from repoeval_bench.report.table import Column, Estimate, Table, number, table_of
from repoeval_bench.report.text import cluster_count, heading, with_interval

FACTS_NOTE = "what each fact counts: repoeval-bench list facts"
"""The note below every table of segments."""


def diff_table(diff: Diff, limit: int) -> Table:
    """One row per query, at most `limit`: its change, and value, relevant chunks and ranks before and after."""
    columns = [
        Column(name="query", width=50, value=lambda one: one.query_id),
        number("change", lambda one: one.change, "+.4f"),
        number("value", lambda one: f"{one.baseline.value:.4f} -> {one.treatment.value:.4f}"),
        number("relevant", lambda one: f"{one.baseline.relevant} -> {one.treatment.relevant}"),
        number("retrieved", lambda one: f"{one.baseline.hits} -> {one.treatment.hits}"),
        number("first at rank", lambda one: f"{one.baseline.first_hit or '-'} -> {one.treatment.first_hit or '-'}"),
        number("same chunks", lambda one: f"{one.shared} of {len(one.treatment.top)}"),
        Column(name="why", value=lambda one: one.why),
    ]
    return table_of(columns, diff.changes[:limit], title=f"{heading(diff.measure)}, baseline -> treatment")


_WHY: dict[Why, str] = {
    "other chunks": "the runs retrieved different chunks",
    "other order": "the runs ranked the same chunks in another order",
    "other judgements": "the judgements differ",
}


def diff_summary(diff: Diff, limit: int) -> list[str]:
    """Return how many queries changed, in which direction and why; and how many are not shown."""
    if not diff.changes:
        return [f"{heading(diff.measure)}: no query of {diff.n_queries:,} changed"]
    reasons = Counter(change.why for change in diff.changes)
    changed, up = len(diff.changes), sum(change.change > 0 for change in diff.changes)
    lines = [
        f"{heading(diff.measure)} changed in {changed:,} of {count(diff.n_queries, 'query')}: {up:,} up, "
        f"{changed - up:,} down; reason: {', '.join(f'{_WHY[why]} in {number:,}' for why, number in reasons.items())}"
    ]
    if changed > limit:
        lines.append(f"these are the {limit} largest; --limit N or --json has more")
    return lines


def segmentation_table(segmentation: Segmentation) -> Table:
    """One row per segment: its mean with interval."""
    columns = [
        *_columns(segmentation.segments, segmentation.clustered_by),
        number(f"{heading(segmentation.measure)}, 95 % CI", lambda one: Estimate(one.mean, one.ci)),
    ]
    queries = count(segmentation.n_queries, "query")
    title = f"{segmentation.name}: {heading(segmentation.measure)} over {queries}, {segmentation.over} mean"
    return table_of(columns, segmentation.segments, title=title)


def comparison_table(comparison: SegmentComparison) -> Table:
    """One row per segment: the first run's mean, and the paired difference with interval and remark."""
    measure = heading(comparison.measure)
    columns = [
        *_columns(comparison.segments, comparison.clustered_by),
        number("baseline", lambda one: one.baseline),
        number(f"{measure} difference, 95 % CI", lambda one: Estimate(one.difference, one.ci), "+.4f"),
        Column(name="", value=lambda one: "sign differs from overall" if one.against else ""),
    ]
    overall = f"{measure} {comparison.difference:+.4f} overall, {comparison.over} mean"
    title = f"treatment  {comparison.treatment}\nbaseline   {comparison.baseline}\ntreatment minus baseline: {overall}"
    return table_of(columns, comparison.segments, title=title)


def comparison_lines(comparison: SegmentComparison) -> list[str]:
    """Return the facts by which the difference varies, which intervals not to trust, and what is not corrected."""
    lines = [
        _furthest(comparison),
        few_note(comparison.segments, comparison.clustered_by),
        "intervals are not corrected for the number of segments",
        "facts that depend on the chunker, such as relevant_chunks, are those of the baseline run",
        FACTS_NOTE,
    ]
    return [line for line in lines if line]


def _columns(segments: Sequence[SegmentRow], clusters: str) -> list[Column]:
    # A fact is named in the first of its rows only.
    first = {segment.by: segment for segment in reversed(segments)}
    return [
        Column(name="by", value=lambda one: one.by if one is first[one.by] else ""),
        Column(name="segment", width=48, value=lambda one: one.name),
        number("queries", lambda one: one.n_queries, "d"),
        number("clusters" if clusters == "query" else plural(clusters), lambda one: one.n_clusters, "d"),
    ]


def _furthest(comparison: SegmentComparison) -> str:
    if comparison.furthest is None:
        return ""
    ends = [f"{with_interval(end.difference, end.ci, '+.4f')} at {end.name}" for end in comparison.furthest]
    return f"the difference varies most by {comparison.furthest[0].by}, from {ends[0]} to {ends[1]}"


def few_note(segments: Sequence[SegmentRow], clustered_by: str) -> str:
    """Return a sentence that names the intervals over few clusters; "" if there are none."""
    small = [segment for segment in segments if segment.ci is not None and segment.n_clusters < FEW_CLUSTERS]
    if not small:
        return ""
    names = few([f"{segment.by} = {segment.name}" for segment in small], 2)
    fewest = cluster_count(FEW_CLUSTERS, clustered_by)
    return f"these segments have fewer than {fewest}, so a single one can decide their interval: {names}"


def verification_lines(verification: Verification) -> list[str]:
    """Return the verdict with the number of compared values, the data, and the queries that were left out."""
    listed = "values compared: " + ", ".join(f"{name} {number:,}" for name, number in verification.compared.items())
    if verification.holds:
        verdict = f"{verification.run_id} is the same when it is run again ({listed})"
    else:
        number = count(verification.n_differences, "difference")
        verdict = f"{verification.run_id} is not the same when it is run again: {number} ({listed})"
    lines = [verdict, f"data: {verification.data}"]
    if verification.reordered:
        lines.append(
            f"in {count(verification.reordered, 'query', 'queries')} chunks changed places whose scores differ by less "
            f"than {verification.tolerance:.0e}; their scores and the means are not compared"
        )
    return lines


def verification_table(verification: Verification) -> Table:
    """Tabulate the largest differences."""
    columns = [
        Column(name="value", width=44, value=lambda item: item.what),
        Column(name="stored", missing="(none)", value=lambda item: item.stored),
        Column(name="computed", missing="(none)", value=lambda item: item.computed),
    ]
    more = verification.n_differences - len(verification.differences)
    notes = [f"{more:,} smaller differences are not listed"] if more else []
    return table_of(columns, verification.differences, notes=notes)
