"""A run log joined with its judgements, query by query, and figures with intervals over its queries."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Literal, Self

import numpy as np

from repoeval_bench.analysis.records import Interval
from repoeval_bench.analysis.sign_flips import FloatArray
from repoeval_bench.analysis.statistics import Sample, mean_intervals, robust_error
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.run import Qrels
from repoeval_bench.metrics import measure_of, score_run
from repoeval_bench.runs.log import LogRow, Retrieved
from repoeval_bench.runs.query_scores import QueryScores
from repoeval_bench.runs.view import RunView


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JudgedLog:
    """A log and its judgements: `query_ids` are the scored queries, `clusters` their clusters, `rows` query_id -> row.

    `unanswerable` are the rows of queries that are known to have no answer: they are not scored. `qrels` is
    query_id -> chunk_id -> gain, gains above 0. `measures` are the run's measures that need nothing but ranks.
    """

    rows: Mapping[str, LogRow]
    unanswerable: tuple[LogRow, ...]
    query_ids: tuple[str, ...]
    clusters: tuple[Hashable, ...]
    clustered_by: str
    qrels: Qrels
    measures: tuple[str, ...]

    @classmethod
    def read(cls, run: RunView) -> Self:
        """Join the log of a run with its judgements."""
        return cls.of(run.scores, run.log_rows(), run.qrels())

    @classmethod
    def of(cls, scores: QueryScores, rows: Iterable[LogRow], qrels: Qrels) -> Self:
        """Join scored queries with a log and its judgements."""
        by_query = {row.query_id: row for row in rows}
        plain = [(name, measure_of(name)) for name in scores.values]
        return cls(
            rows=by_query,
            unanswerable=tuple(row for row in by_query.values() if row.no_answer and row.query_id not in qrels),
            query_ids=scores.query_ids,
            clusters=scores.clusters,
            clustered_by=scores.cluster_kind,
            qrels={query_id: qrels.get(query_id, {}) for query_id in scores.query_ids},
            measures=tuple(name for name, measure in plain if measure and measure.definition.needs == {"ranking"}),
        )

    def where(self, has: Callable[[LogRow], bool]) -> Self:
        """Return the log with only those scored queries that have a row for which `has` is true."""
        positions = [i for i, q in enumerate(self.query_ids) if (row := self.rows.get(q)) is not None and has(row)]
        ids = tuple(self.query_ids[i] for i in positions)
        clusters = tuple(self.clusters[i] for i in positions)
        return replace(self, query_ids=ids, clusters=clusters, qrels={q: self.qrels[q] for q in ids})

    def scored_rows(self) -> list[LogRow]:
        """The row of each scored query; only for queries that `where` has found in the log."""
        return [self.rows[query_id] for query_id in self.query_ids]

    def topk(self, query_id: str) -> Sequence[Retrieved]:
        """Return the final results of a query; none for a query that the log lacks."""
        row = self.rows.get(query_id)
        return row.topk if row is not None else ()

    def ranked(self, query_id: str) -> list[str]:
        """Chunk ids of `topk`."""
        return [entry.chunk_id for entry in self.topk(query_id)]

    def scores(
        self,
        ranking: Callable[[str], Iterable[str]],
        measures: Sequence[str],
        qrels: Qrels | None = None,
    ) -> dict[str, FloatArray]:
        """Return measure -> float64 (n_queries,), the scores of `ranking`: query_id -> chunk ids, best first."""
        rankings = {q: [(chunk_id, 0.0) for chunk_id in ranking(q)] for q in self.query_ids}
        result = score_run(rankings, self.qrels if qrels is None else qrels, measures)
        return {name: np.asarray(result.values[name], dtype=np.float64) for name in measures}

    def __len__(self) -> int:
        return len(self.query_ids)


def resolve_depth(runs: Sequence[RunView], k: int | None) -> int:
    """Return `k`, or by default 10 (less if the runs rank less); a UsageError if `k` is deeper than a run."""
    shallowest = min(runs, key=lambda run: run.metrics.k)
    depth = shallowest.metrics.k
    if k is not None and k > depth:
        raise UsageError(f"k {k} is deeper than the {depth} chunks that {shallowest.run_id} ranks; take at most that")
    return min(10, depth) if k is None else k


Kind = Literal["mean", "share", "change", "milliseconds"]


@dataclass(frozen=True, slots=True)
class Statistic:
    """One number, made of `n` items that `of` names (queries, chunks); `ci` is its 95 % interval.

    A change also has the means `before` and `after`, and `p` (sign-flip test over clusters, Holm-adjusted over its
    section).
    """

    name: str
    kind: Kind
    value: float
    _: KW_ONLY
    ci: Interval = None
    n: int
    of: str = "queries"
    before: float | None = None
    after: float | None = None
    p: float | None = None


def mean_of(name: str, values: FloatArray, clusters: Sequence[Hashable]) -> Statistic:
    """Return the mean over queries with its interval by sign flips of clusters."""
    (mean,), (ci,) = mean_intervals(values, clusters, clusters, "micro")
    return Statistic(name, "mean", mean, ci=ci, n=len(values))


_TAIL = 0.025


def effective_size(sample: Sample) -> float | None:
    """Return how many independent yes/no answers say as much as these clustered ones (Korn & Graubard 1998).

    It is their number over the design effect, times (t of n - 1 / t of the robust error's degrees of freedom)^2. None
    for one cluster.
    """
    from scipy.special import stdtrit

    if sample.n_clusters < 2:
        return None
    n, p, ((error,), df) = float(sample.counts.sum()), float(sample.mean()[0]), robust_error(sample)
    # If all answers are equal, their spread is not known, and each cluster counts once.
    if not 1e-12 < p < 1 - 1e-12:
        return float(sample.n_clusters)
    # At least 1: clustered answers never count for more than independent ones.
    design_effect = max(1.0, float(error) ** 2 * (n - 1) / (p * (1 - p)))
    quantiles = stdtrit(np.array([n - 1, df]), 1 - _TAIL)
    return float(n / design_effect * (quantiles[0] / quantiles[1]) ** 2)


def share_interval(answers: FloatArray | Sequence[float], clusters: Sequence[Hashable]) -> Interval:
    """Return the 95 % interval of the share of ones among 0/1 answers; None for one cluster."""
    # Clopper & Pearson's (1934), at the effective size.
    from scipy.special import betaincinv

    sample = Sample.micro(np.asarray(answers, dtype=np.float64), clusters)
    size = effective_size(sample)
    if size is None:
        return None
    ones = size * float(sample.mean()[0])
    zeros = size - ones
    low = 0.0 if ones < 1e-9 else float(betaincinv(ones, zeros + 1, _TAIL))
    high = 1.0 if zeros < 1e-9 else float(betaincinv(ones + 1, zeros, 1 - _TAIL))
    return low, high
