"""A run log beside its judgements, query by query: what every section is computed from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from repoeval_bench.metrics import CEILING, SHARE, Measure, score_run
from repoeval_bench.metrics.condensed import UNREGISTERED

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
    from typing import Self

    from numpy.typing import NDArray

    from repoeval_bench.core.run import Qrels
    from repoeval_bench.runs.log import LogRow, Retrieved
    from repoeval_bench.runs.query_scores import QueryScores

    FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class JudgedLog:
    """`query_ids` are the scored queries, `clusters` what each is resampled with; `rows` query_id -> log row.

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
    def of(cls, scored: QueryScores, rows: Iterable[LogRow], qrels: Qrels) -> Self:
        """Join a run's scored queries with its log and its judgements."""
        by_query = {row.query_id: row for row in rows}
        return cls(
            by_query,
            tuple(row for row in by_query.values() if row.no_answer and row.query_id not in qrels),
            scored.query_ids,
            scored.clusters,
            scored.clustered_by,
            {query_id: qrels.get(query_id, {}) for query_id in scored.query_ids},
            rank_measures(scored.values),
        )

    def where(self, has: Callable[[LogRow], bool]) -> Self:
        """The log with only those scored queries whose row answers yes."""
        kept = [i for i, q in enumerate(self.query_ids) if (row := self.rows.get(q)) is not None and has(row)]
        ids = tuple(self.query_ids[i] for i in kept)
        return type(self)(
            self.rows, self.unanswerable, ids, tuple(self.clusters[i] for i in kept), self.clustered_by,
            {q: self.qrels[q] for q in ids}, self.measures,
        )  # fmt: skip

    def scored_rows(self) -> list[LogRow]:
        """The row of each scored query; only for queries that `where` has found in the log."""
        return [self.rows[query_id] for query_id in self.query_ids]

    def topk(self, query_id: str) -> Sequence[Retrieved]:
        """What was retrieved in the end; nothing for a query that the log lacks."""
        row = self.rows.get(query_id)
        return row.topk if row is not None else ()

    def scores(
        self,
        ranking: Callable[[str], Iterable[str]],
        measures: Sequence[str],
        qrels: Qrels | None = None,
    ) -> dict[str, FloatArray]:
        """Each measure's float64 (n_queries,) of what `ranking` gives for each query id: chunk ids, best first."""
        rankings = {q: [(chunk_id, 0.0) for chunk_id in ranking(q)] for q in self.query_ids}
        found = score_run(rankings, self.qrels if qrels is None else qrels, measures)
        return {name: np.asarray(found.values[name], dtype=np.float64) for name in measures}

    def ranked(self, query_id: str) -> list[str]:
        """Chunk ids of `topk`."""
        return [each.chunk_id for each in self.topk(query_id)]

    def __len__(self) -> int:
        return len(self.query_ids)


def rank_measures(names: Iterable[str]) -> tuple[str, ...]:
    """Those of a run's measures that need nothing but a ranking and its judgements."""
    plain = [name for name in names if name not in UNREGISTERED and not name.endswith((CEILING, SHARE))]
    return tuple(name for name in plain if Measure.parse(name).needs == {"ranking"})
