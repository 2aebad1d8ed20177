"""Scoring a run: every query of the qrels, every measure, one array each."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

from repoeval_bench.core.errors import MetricError
from repoeval_bench.core.extras import require
from repoeval_bench.core.run import Run
from repoeval_bench.metrics.given import Judgements, OneRanking, Rankings
from repoeval_bench.metrics.judged_run import Context, FloatArray, judge
from repoeval_bench.metrics.measure import DEFAULT_MEASURES, Measure, parse_measures


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RunScores:
    """Scores of a run: for each measure (canonical name) float64 (n,), a value per query in the order of the qrels.

    `scores["ndcg@10"]` gives one measure's values, `mean()` the means, `to_pandas()` a frame.
    `without_relevant` counts the queries without a relevant chunk: they score 0 and stay in the mean. `missing` counts
    those that the run lacks (0 as well), `unjudged` the queries of the run that the qrels lack (not scored).
    `strategy_counts` counts the queries by how they were judged: `qrels`, `rule` or `token-f1`. `threshold` is that of
    token-f1. `partly_judged` counts the queries of which only the retrieved chunks were judged.
    """

    query_ids: tuple[str, ...]
    values: Mapping[str, FloatArray]
    without_relevant: int = 0
    missing: int = 0
    unjudged: int = 0
    strategy_counts: Mapping[str, int] = field(default_factory=dict)
    threshold: float | None = None
    partly_judged: int = 0

    def __getitem__(self, measure: str | Measure) -> FloatArray:
        """Return a measure's values, float64 (n,), in the order of `query_ids`; MetricError if it was not scored."""
        name = str(measure) if str(measure) in self.values else str(Measure.parse(str(measure)))
        if name not in self.values:
            raise MetricError(f"{name} was not scored; the measures are {', '.join(self.values)}")
        return self.values[name]

    def to_pandas(self) -> Any:
        """Return a pandas frame: a row for each query, `query_id` and a column for each measure."""
        require("a data frame", "pandas")
        return import_module("pandas").DataFrame({"query_id": self.query_ids, **self.values})

    def mean(self) -> dict[str, float]:
        """Measure -> mean over all queries."""
        return {name: float(values.mean()) for name, values in self.values.items()}

    @property
    def strategy_used(self) -> str:
        """The strategy that judged the queries: `qrels`, `rule`, `token-f1`, or `mixed`."""
        return next(iter(self.strategy_counts)) if len(self.strategy_counts) == 1 else "mixed"

    @property
    def caution(self) -> str:
        """One sentence where the relevant chunks are not all known, else empty."""
        if not self.partly_judged:
            return ""
        return (
            f"{self.partly_judged} of {len(self.query_ids)} queries were judged on the retrieved chunks alone: their "
            "relevant chunks and IDCG are under-estimated, so recall and nDCG are too high"
        )

    def summary(self) -> dict[str, Any]:
        """Return the means, the counts, the largest k and the strategies as plain values."""
        ranks = [m.k for m in map(Measure.parse, self.values) if m.k is not None and m.definition.unit == "rank"]
        return {
            "mean": self.mean(),
            "queries": len(self.query_ids),
            "queries_with_relevant": len(self.query_ids) - self.without_relevant,
            "queries_missing_in_run": self.missing,
            "queries_missing_in_qrels": self.unjudged,
            "k": max(ranks, default=None),
            "threshold": self.threshold,
            "strategy_used": self.strategy_used,
            "strategy_counts": dict(self.strategy_counts),
            "caution": self.caution,
        }


def score_run(
    run: Run | Rankings | Path | str | Iterable[Any],
    qrels: Judgements | Path | str | Iterable[Any],
    measures: str | Measure | Iterable[str | Measure] = DEFAULT_MEASURES,
    context: Context | None = None,
) -> RunScores:
    """Score every query of the qrels; 0 where the run lacks it or nothing is relevant to it.

    - `run` is a `Run`, or query_id -> ranking: pairs (chunk_id, score) in rank order, or a mapping chunk_id -> score,
      which is ranked by score as float32, then id, both descending, as trec_eval ranks;
    - `qrels` is query_id -> chunk_id -> gain, from 0;
    - both may also be the path of a TREC file, or a data frame of pandas or polars with the columns query_id, doc_id
      (or chunk_id), and score or relevance (or gain); there a grade below 0 is not relevant;
    - `measures` are names such as `ndcg@10`; docs/measures.md has them with formula and source;
    - `context` holds what measures of lines, files, texts and vectors need beside ranks.

    Scores are from 0 to 1 unless the measure says otherwise. UsageError: an unknown measure. MetricError: ids that are
    not text, duplicate ids, scores that are no numbers, negative gains, a run without a query of the qrels, or a
    measure whose input is missing.
    """
    judged, parsed = judge(run, qrels, context), parse_measures(measures)
    available = {"ranking"} | judged.context.has()
    for measure in parsed:
        if lacking := sorted(measure.definition.needs - available):
            raise MetricError(f"{measure} needs {' and '.join(lacking)}; give them in the context, or leave it out")
    return RunScores(
        query_ids=judged.query_ids,
        values=MappingProxyType({str(measure): measure(judged) for measure in parsed}),
        without_relevant=int((judged.n_relevant() == 0).sum()),
        missing=judged.missing,
        unjudged=judged.unjudged,
        strategy_counts=MappingProxyType({"qrels": judged.n_queries}),
    )


def score_query(
    ranking: OneRanking,
    gains: Mapping[str, float],
    measures: str | Measure | Iterable[str | Measure] = DEFAULT_MEASURES,
) -> dict[str, float]:
    """Score one ranking against its relevant chunks (chunk_id -> gain): measure -> value."""
    return score_run({"query": ranking}, {"query": gains}, measures).mean()
