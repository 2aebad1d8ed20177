"""Scoring a run: every query of the qrels, every measure, one array each."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from repoeval_bench.errors import MetricError
from repoeval_bench.metrics.judged import judge
from repoeval_bench.metrics.registry import DEFAULT_MEASURES, Measure, parse_measures
from repoeval_bench.types import Run, Score

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from repoeval_bench.metrics.context import Context
    from repoeval_bench.metrics.judged import FloatArray, Judged, Judgements, Rankings


@dataclass(frozen=True, slots=True, eq=False)
class RunScores:
    """Scores of a run: for each measure (canonical name) one value per query, in the order of the qrels.

    `without_relevant` counts the queries without a relevant chunk (they score 0 and stay in the mean), `missing`
    those that the run lacks (0 as well), `unjudged` the queries of the run that the qrels lack (not scored).
    """

    query_ids: tuple[str, ...]
    values: Mapping[str, FloatArray]
    without_relevant: int = 0
    missing: int = 0
    unjudged: int = 0

    def mean(self) -> dict[str, float]:
        """Measure -> mean over all queries."""
        return {name: float(values.mean()) for name, values in self.values.items()}

    def per_query(self) -> Iterator[Score]:
        """Every query's value of every measure, query by query."""
        columns = [(name, values.tolist()) for name, values in self.values.items()]
        for i, query_id in enumerate(self.query_ids):
            for name, column in columns:
                yield Score(query_id, name, column[i])


def score_run(
    run: Run | Rankings,
    qrels: Judgements,
    measures: Iterable[str | Measure] = DEFAULT_MEASURES,
    context: Context | None = None,
) -> RunScores:
    """Score every query of the qrels; 0 where the run lacks it or nothing is relevant to it.

    `run` is a `Run` or query_id -> ranking: pairs (chunk_id, score) in rank order, or a mapping chunk_id -> score,
    which is ranked by trec_eval's rule. What a measure needs beside ranks is looked up in `context`; it is a
    MetricError where that is not there, as are duplicate ids, NaN scores and negative gains.
    """
    return score_judged(judge(run, qrels, context), measures)


def score_judged(judged: Judged, measures: Iterable[str | Measure]) -> RunScores:
    """Score what has been judged before."""
    parsed = parse_measures(measures)
    given = {"ranking"} | (judged.context.has() if judged.context else set())
    for measure in parsed:
        if lacking := sorted(measure.needs - given):
            raise MetricError(f"{measure} needs {' and '.join(lacking)}; give them in the context, or leave it out")
    return RunScores(
        query_ids=judged.query_ids,
        values=MappingProxyType({str(measure): measure(judged) for measure in parsed}),
        without_relevant=int((judged.n_relevant() == 0).sum()),
        missing=judged.missing,
        unjudged=judged.unjudged,
    )


def score_query(
    ranking: Sequence[tuple[str, float]] | Mapping[str, float],
    gains: Mapping[str, float],
    measures: Iterable[str | Measure] = DEFAULT_MEASURES,
) -> dict[str, float]:
    """Score one ranking against its relevant chunks (chunk_id -> gain): measure -> value."""
    return score_run({"query": ranking}, {"query": gains}, measures).mean()
