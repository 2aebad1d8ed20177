"""Parts of a run's queries: how each scores, and whether the overall winner loses one (Simpson's paradox)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from repoeval_bench.analysis.comparable import check_comparable, run_names, shared_measures
from repoeval_bench.analysis.facts import with_facts
from repoeval_bench.analysis.statistics import SEED, Sample, intervals
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.spec import nearest
from repoeval_bench.runs.query_scores import together
from repoeval_bench.runs.trec import as_field

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from repoeval_bench.analysis.records import Interval
    from repoeval_bench.analysis.statistics import FloatArray
    from repoeval_bench.core.run import Fact, Qrels
    from repoeval_bench.runs.query_scores import QueryScores
    from repoeval_bench.runs.view import RunView

UNKNOWN = "unknown"
"""Name of the segment whose queries lack the fact."""

_FEW = 6
"""Up to so many different numbers are segments of their own; more are cut into quarters."""

BANDS = (("0", 0.0, 0.0), ("to 1/4", 0.0, 0.25), ("to 1/2", 0.25, 0.5), ("to 3/4", 0.5, 0.75), ("below 1", 0.75, 1.0))
"""(name, above, up to) of the distribution; the last holds what is below 1; 1 is a band of its own."""


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """Queries that share a fact: `by` names the fact, `name` its value or range."""

    by: str
    name: str
    positions: NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentMean:
    """A segment's mean over its queries with its 95 % interval (None for one cluster), and what it is made of.

    `recall_curve` is the mean recall@k for k = 1, 2, …; `knee` its knee.
    """

    by: str
    name: str
    n_queries: int
    n_clusters: int
    mean: float
    ci: Interval
    knee: int | None = None
    recall_curve: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentDifference:
    """A segment's paired difference; `loses` where its sign is against the overall one, `shown` where ci omits 0."""

    by: str
    name: str
    n_queries: int
    n_clusters: int
    baseline: float
    difference: float
    ci: Interval
    loses: bool
    shown: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Segmentation:
    """The segments of a run, called `name` in words.

    `distribution` is band or quantile -> share or value of the measure over all queries; `knee` and `recall_curve` are
    theirs too.
    """

    run: str
    name: str
    measure: str
    n_queries: int
    clustered_by: str
    distribution: Mapping[str, float]
    knee: int | None
    recall_curve: tuple[float, ...]
    segments: tuple[SegmentMean, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentComparison:
    """Paired differences (treatment - baseline) of the segments of two runs, and that of the means over all queries."""

    baseline: str
    treatment: str
    measure: str
    clustered_by: str
    difference: float
    segments: tuple[SegmentDifference, ...]


def segment(
    run: RunView, *, by: Sequence[str] = (), measure: str = "recall@10", facts: Path | None = None
) -> Segmentation:
    """How each part of a run's queries scores.

    `by` are facts, `repo` or what the queries are clustered by; unless given, the facts of the file `facts`, else
    every fact that varies. An unknown fact and a measure that the run lacks are a UsageError.
    """
    (measure,) = shared_measures([run], [measure])
    scores, parts = _parts(run.scores, by, facts)
    curves = recall_curves(scores.query_ids, run.ranked_ids(), run.qrels(), run.metrics.k)
    overall = curves.mean(axis=0)
    return Segmentation(
        run=run.run_id,
        name=run_names([run])[0],
        measure=measure,
        n_queries=len(scores),
        clustered_by=scores.clustered_by,
        distribution=distribution(scores.values[measure]),
        knee=knee(overall),
        recall_curve=tuple(overall.tolist()),
        segments=tuple(
            replace(mean, knee=knee(curve), recall_curve=tuple(curve.tolist()))
            for mean, part in zip(segment_means(scores, parts, measure), parts, strict=True)
            for curve in [curves[part.positions].mean(axis=0)]
        ),
    )


def compare_segments(
    baseline: RunView,
    treatment: RunView,
    *,
    by: Sequence[str] = (),
    measure: str = "recall@10",
    facts: Path | None = None,
) -> SegmentComparison:
    """The paired difference of two runs in each part of the baseline's queries; options as `segment` has them.

    Runs that answer different questions are a UsageError.
    """
    runs = baseline, treatment
    (measure,) = shared_measures(runs, [measure])
    check_comparable([runs])
    scores, parts = _parts(together([run.scores for run in runs])[0], by, facts)
    names = run_names(runs)
    return SegmentComparison(
        baseline=names[0],
        treatment=names[1],
        measure=measure,
        clustered_by=scores.clustered_by,
        difference=treatment.metrics.micro[measure] - baseline.metrics.micro[measure],
        segments=tuple(segment_differences(scores, treatment.scores, parts, measure)),
    )


def _parts(known: QueryScores, by: Sequence[str], facts: Path | None) -> tuple[QueryScores, list[Segment]]:
    scores, brought = with_facts(known, facts)
    chosen = by or brought or [name for name in segment_names(scores) if name != scores.clustered_by]
    return scores, [part for name in dict.fromkeys(chosen) for part in split(scores, name)]


def segment_names(scores: QueryScores) -> list[str]:
    """What the run's queries can be segmented by: repo, what they are clustered by, and every fact that varies."""
    varying = [name for name, column in scores.facts.items() if len(set(column)) > 1]
    clusters = [] if scores.clustered_by == "query" else [scores.clustered_by]
    return ["repo", *clusters, *varying]


def split(scores: QueryScores, by: str) -> list[Segment]:
    """The segments of one fact; they do not overlap and hold every query.

    Words and yes/no make a segment each, numbers too where there are few, else quarters of the queries. Queries
    that lack the fact are `unknown`. A fact that is not there is a UsageError.
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
    places: dict[str, list[int]] = {}
    for position, label in enumerate(labels):
        places.setdefault(label, []).append(position)
    order = list(dict.fromkeys(sorted(labels, key=_sort_key)))
    return [Segment(by, label, np.array(places[label], dtype=np.int64)) for label in order]


def find(scores: QueryScores, by: str, name: str) -> Segment:
    """One segment by its fact and its name; a UsageError lists the names where there is none."""
    segments = split(scores, by)
    for segment in segments:
        if segment.name == name:
            return segment
    raise UsageError(nearest(f"{by}", name, [segment.name for segment in segments]))


def segment_means(scores: QueryScores, segments: Iterable[Segment], measure: str) -> list[SegmentMean]:
    """Mean and interval of each segment, clusters resampled within it."""
    found = []
    for part in segments:
        sample, ci = _resampled(scores, part, scores.values[measure])
        found.append(
            SegmentMean(
                by=part.by,
                name=part.name,
                n_queries=len(part.positions),
                n_clusters=sample.n_clusters,
                mean=float(sample.mean()[0]),
                ci=ci,
            )
        )
    return found


def segment_differences(
    baseline: QueryScores, treatment: QueryScores, segments: Iterable[Segment], measure: str
) -> list[SegmentDifference]:
    """Paired differences (treatment - baseline) within each of the baseline's segments.

    Both hold the same queries; they are paired by id.
    """
    joined, other = together([baseline, treatment], baseline.query_ids)
    base = joined.values[measure]
    differences = other.values[measure] - base
    overall = float(differences.mean())
    found = []
    for part in segments:
        sample, ci = _resampled(joined, part, differences)
        difference = float(sample.mean()[0])
        found.append(
            SegmentDifference(
                by=part.by,
                name=part.name,
                n_queries=len(part.positions),
                n_clusters=sample.n_clusters,
                baseline=float(base[part.positions].mean()),
                difference=difference,
                ci=ci,
                loses=difference * overall < 0 and abs(difference) > 1e-12,
                shown=ci is not None and not ci[0] <= 0 <= ci[1],
            )
        )
    return found


def _resampled(scores: QueryScores, part: Segment, values: FloatArray) -> tuple[Sample, Interval]:
    clusters = [scores.clusters[i] for i in part.positions.tolist()]
    sample = Sample.micro(values[part.positions], clusters)
    (ci,) = intervals(sample, np.random.default_rng(SEED))
    return sample, ci


def distribution(values: FloatArray) -> dict[str, float]:
    """Share of the queries in each band of a measure between 0 and 1, and its quantiles.

    A mean of 0.5 is one thing where every query has a half, and another where half of them have nothing.
    """
    values = np.round(values, 12)
    found = {BANDS[0][0]: float((values <= 0).mean())}
    for name, above, upto in BANDS[1:]:
        found[name] = float(((values > above) & ((values < 1) if upto == 1 else (values <= upto))).mean())
    found["1"] = float((values >= 1).mean())
    for quantile in (0.1, 0.25, 0.5, 0.75, 0.9):
        found[f"p{quantile * 100:.0f}"] = float(np.quantile(values, quantile))
    return found


def recall_curves(
    query_ids: Sequence[str], rankings: Mapping[str, Sequence[str]], qrels: Qrels, depth: int
) -> FloatArray:
    """recall@k for k = 1..depth: float64 (n_queries, depth); 0 for a query without a relevant chunk.

    `qrels` spell their ids as TREC files do, `rankings` as the run log does.
    """
    curves = np.zeros((len(query_ids), depth))
    for row, query_id in enumerate(query_ids):
        gains = qrels.get(as_field(query_id, "query id"), {})
        for rank, chunk_id in enumerate(rankings.get(query_id, ())[:depth]):
            if as_field(chunk_id, "chunk id") in gains:
                curves[row, rank] = 1 / len(gains)
    return np.cumsum(curves, axis=1)


def knee(values: FloatArray | Sequence[float], cutoffs: Sequence[int] | None = None) -> int | None:
    """The k at which a curve over k bends: farthest above the line between its ends (Satopaa et al. 2011).

    `values` are the curve at each of `cutoffs`, which rise; at k = 1, 2, … unless given. Beyond the knee another
    retrieved chunk brings less than on average. Of several that are equally far the first; None where the curve does
    not rise, or has fewer than three points.
    """
    curve = np.asarray(values, dtype=np.float64)
    at = np.arange(1, len(curve) + 1) if cutoffs is None else np.asarray(cutoffs)
    if len(curve) < 3 or curve[-1] - curve[0] <= 1e-12:
        return None
    height = (curve - curve[0]) / (curve[-1] - curve[0])
    along = (at - at[0]) / (at[-1] - at[0])
    return int(at[np.argmax(np.round(height - along, 12))])


def _labels(column: Sequence[Fact]) -> list[str]:
    numbers = sorted({float(fact) for fact in column if isinstance(fact, int | float) and not isinstance(fact, bool)})
    ranges = _quarters(column, numbers) if len(numbers) > _FEW else {}
    return [_label(fact, ranges) for fact in column]


def _label(fact: Fact, ranges: Mapping[float, str]) -> str:
    if fact is None or (isinstance(fact, float) and math.isnan(fact)):
        return UNKNOWN
    if isinstance(fact, bool):
        return "yes" if fact else "no"
    if isinstance(fact, str):
        return fact or UNKNOWN
    return ranges.get(float(fact), f"{fact:g}")


def _quarters(column: Sequence[Fact], numbers: Sequence[float]) -> dict[float, str]:
    values = [float(fact) for fact in column if isinstance(fact, int | float) and not isinstance(fact, bool)]
    cuts = sorted(set(np.quantile(values, [0.25, 0.5, 0.75], method="lower").tolist()))
    members: dict[int, list[float]] = {}
    for number in numbers:
        members.setdefault(int(np.searchsorted(cuts, number)), []).append(number)
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
