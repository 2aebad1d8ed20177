"""Scores of segments of a run's queries, and how a difference varies between segments."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from repoeval_bench.analysis.comparable import check_comparable, headline_measure, run_names, shared_measures
from repoeval_bench.analysis.records import Interval
from repoeval_bench.analysis.sign_flips import FLIPS, FloatArray, strict_ends
from repoeval_bench.analysis.statistics import INTERVAL_FLIPS, Sample, mean_intervals
from repoeval_bench.core.errors import UsageError, nearest
from repoeval_bench.core.run import Fact
from repoeval_bench.runs.query_scores import QueryScores, together
from repoeval_bench.runs.records import Headline
from repoeval_bench.runs.view import RunView

UNKNOWN = "unknown"
"""Name of the segment whose queries lack the fact."""

# Up to this many different numbers are segments of their own; more are cut into quarters.
_FEW = 6

# A smaller difference is printed as 0.
_SHOWN = 5e-5


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentRow:
    """Queries that share a fact: `by` names the fact, `name` its value or range.

    `ci` is the 95 % interval of their mean or difference; None for fewer than six clusters.
    """

    by: str
    name: str
    n_queries: int
    n_clusters: int
    ci: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentMean(SegmentRow):
    """A segment's mean."""

    mean: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentDifference(SegmentRow):
    """A segment's paired difference; `against`: its sign is opposite to the overall one."""

    baseline: float
    difference: float
    against: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Segmentation:
    """The segments of a run; `name` is its printed name. All means are `over` what the protocol averages."""

    run: str
    name: str
    measure: str
    over: Headline
    n_queries: int
    clustered_by: str
    segments: tuple[SegmentMean, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentComparison:
    """Paired differences (treatment - baseline) of the segments of two runs, and of the protocol's mean, `over`.

    `furthest` are those of `furthest_apart`, None if there are none.
    """

    baseline: str
    treatment: str
    measure: str
    over: Headline
    clustered_by: str
    difference: float
    segments: tuple[SegmentDifference, ...]
    furthest: tuple[SegmentDifference, SegmentDifference] | None


def segment(run: RunView, *, by: Sequence[str] = (), measure: str | None = None) -> Segmentation:
    """Score each segment of a run's queries, as `repoeval_bench.segment` promises."""
    (measure,) = shared_measures([run], [measure or headline_measure([run])])
    scores, over = run.scores, run.metrics.headline
    return Segmentation(
        run=run.run_id,
        name=run_names([run])[0],
        measure=measure,
        over=over,
        n_queries=len(scores),
        clustered_by=scores.cluster_kind,
        segments=tuple(
            SegmentMean(**counts, mean=mean) for counts, (mean,) in _rows(scores, by, scores.values[measure], over)
        ),
    )


def compare_segments(
    baseline: RunView, treatment: RunView, *, by: Sequence[str] = (), measure: str | None = None
) -> SegmentComparison:
    """Compare two runs in each segment of the baseline's queries, as `repoeval_bench.compare_segments` promises."""
    runs = baseline, treatment
    (measure,) = shared_measures(runs, [measure or headline_measure(runs)])
    check_comparable([runs])
    scores, other = together([baseline.scores, treatment.scores])
    names, over = run_names(runs), baseline.metrics.headline
    base = scores.values[measure]
    both = np.column_stack([other.values[measure] - base, base])
    overall = float(Sample.of(both, scores.clusters, scores.repos, over).mean()[0])
    differences = [
        SegmentDifference(
            **counts,
            baseline=level,
            difference=difference,
            against=difference * overall < 0 and abs(difference) >= _SHOWN,
        )
        for counts, (difference, level) in _rows(scores, by, both, over, FLIPS)
    ]
    return SegmentComparison(
        baseline=names[0],
        treatment=names[1],
        measure=measure,
        over=over,
        clustered_by=scores.cluster_kind,
        difference=treatment.metrics.over(over)[measure] - baseline.metrics.over(over)[measure],
        segments=tuple(differences),
        furthest=furthest_apart(differences),
    )


def segment_names(scores: QueryScores) -> list[str]:
    """Return the facts that can segment the queries: repo, their cluster, and every fact that varies."""
    varying = [name for name, column in scores.facts.items() if len(set(column)) > 1]
    clusters = [] if scores.clustered_by == "query" else [scores.clustered_by]
    return ["repo", *clusters, *varying]


def split(scores: QueryScores, by: str) -> dict[str, NDArray[np.int64]]:
    """The segments of one fact: name -> positions of its queries. They do not overlap and hold every query.

    Each word and yes/no is a segment. So is each number if there are few; else they are cut into quarters of the
    queries. Queries that lack the fact are `unknown`. An unknown fact is a UsageError.
    """
    labels: Sequence[str]
    if by == "repo":
        labels = scores.repos
    elif by == scores.clustered_by and by != "query":
        labels = [str(cluster) for cluster in scores.clusters]
    elif by in scores.facts:
        labels = _labels(scores.facts[by])
    else:
        raise UsageError(nearest("segment", by, segment_names(scores)))
    positions: dict[str, list[int]] = defaultdict(list)
    for position, label in enumerate(labels):
        positions[label].append(position)
    return {label: np.array(positions[label], dtype=np.int64) for label in sorted(positions, key=_sort_key)}


def find(scores: QueryScores, by: str, name: str) -> NDArray[np.int64]:
    """The positions of one segment by its fact and its name; a UsageError lists the names where there is none."""
    segments = split(scores, by)
    if name not in segments:
        raise UsageError(nearest(by, name, segments))
    return segments[name]


def _rows(
    scores: QueryScores, by: Sequence[str], values: FloatArray, over: Headline, flips: int = INTERVAL_FLIPS
) -> Iterator[tuple[dict[str, Any], list[float]]]:
    """Yield the fields of each segment's row, with the first column's interval, and the mean of each column of values.

    Without `by` the segments are those of every fact that varies.
    """
    facts = by or [name for name in segment_names(scores) if name != scores.clustered_by]
    for fact in dict.fromkeys(facts):
        for name, positions in split(scores, fact).items():
            inside = scores.take(positions)
            means, (ci, *_) = mean_intervals(values[positions], inside.clusters, inside.repos, over, flips=flips)
            n_clusters = len(set(inside.clusters))
            yield {"by": fact, "name": name, "n_queries": len(inside), "n_clusters": n_clusters, "ci": ci}, means


def furthest_apart(differences: Iterable[SegmentDifference]) -> tuple[SegmentDifference, SegmentDifference] | None:
    """The lowest and the highest difference of the fact by which it varies most, if strict ends keep them apart."""
    by: dict[str, list[SegmentDifference]] = defaultdict(list)
    for one in differences:
        if one.ci:
            by[one.by].append(one)
    ends = []
    for parts in by.values():
        lowest, highest = (pick(parts, key=lambda part: part.difference) for pick in (min, max))
        # Plain intervals would name a fact in one of eight samples, though none of nine facts changes anything.
        if (
            lowest.ci
            and highest.ci
            and strict_ends(lowest.difference, lowest.ci, lowest.n_clusters)[1]
            < strict_ends(highest.difference, highest.ci, highest.n_clusters)[0]
        ):
            ends.append((lowest, highest))
    return max(ends, key=lambda pair: pair[1].difference - pair[0].difference, default=None)


def _labels(column: Sequence[Fact]) -> list[str]:
    numbers = sorted(float(fact) for fact in column if isinstance(fact, int | float) and not isinstance(fact, bool))
    ranges = _quarters(numbers) if len(set(numbers)) > _FEW else {}
    return [label_of(fact, ranges) for fact in column]


def label_of(fact: Fact, ranges: Mapping[float, str] = MappingProxyType({})) -> str:
    """Return the name of the segment that a fact belongs to, alone or in one of the ranges of numbers."""
    if fact is None or (isinstance(fact, float) and math.isnan(fact)):
        return UNKNOWN
    if isinstance(fact, bool):
        return "yes" if fact else "no"
    if isinstance(fact, str):
        return fact or UNKNOWN
    return ranges.get(float(fact), f"{fact:g}")


def _quarters(numbers: Sequence[float]) -> dict[float, str]:
    """Return each of these sorted numbers with the name of its quarter."""
    # `lower` cuts at a value that occurs, so a range such as `3 to 7` is named by values that queries have.
    cuts = np.unique(np.quantile(numbers, [0.25, 0.5, 0.75], method="lower"))
    members: dict[int, list[float]] = defaultdict(list)
    for number in dict.fromkeys(numbers):
        members[int(np.searchsorted(cuts, number))].append(number)
    return {
        number: f"{group[0]:g}" if len(group) == 1 else f"{group[0]:g} to {group[-1]:g}"
        for group in members.values()
        for number in group
    }


def _sort_key(label: str) -> tuple[int, float, str]:
    if label == UNKNOWN:
        return 2, 0.0, label
    try:
        return 0, float(label.partition(" to ")[0]), label
    except ValueError:
        return 1, 0.0, label
