"""Scores of a run as columns, one entry per query: what every comparison, segment and gate is computed from."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Self

import numpy as np

from repoeval_bench.core.errors import ResultError

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from repoeval_bench.core.run import Fact
    from repoeval_bench.runs.records import Metrics, QueryRow

    FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class QueryScores:
    """Queries of a run in stored order, with what statistics need of each.

    `repos` are the groups of the macro mean, `clusters` what is resampled: files where the gold has one, else what
    `clustered_by` names. `values` is measure -> float64 (n_queries,); `facts` is name -> one fact per query;
    `query_sha256` is the hash of each query's text, None where it was not stored.
    """

    query_ids: tuple[str, ...]
    repos: tuple[str, ...]
    clusters: tuple[Hashable, ...]
    clustered_by: str
    values: Mapping[str, FloatArray]
    facts: Mapping[str, Sequence[Fact]]
    query_sha256: tuple[str | None, ...]

    @classmethod
    def from_rows(cls, rows: Iterable[QueryRow]) -> Self:
        """Columns of the rows of per_query.jsonl.

        A row's cluster is its file (`repo`, `path`), else its `cluster`, else the query itself. Rows that are not
        clustered in the same way, or do not have the same measures, are a ResultError.
        """
        ids: list[str] = []
        repos: list[str] = []
        clusters: list[tuple[str, str]] = []
        hashes: list[str | None] = []
        measures: list[Mapping[str, float]] = []
        facts: list[Mapping[str, Fact]] = []
        for row in rows:
            ids.append(row.query_id)
            repos.append(row.repo or "all")
            clusters.append(_cluster(row))
            hashes.append(row.query_sha256)
            measures.append(row.measures)
            facts.append({"relevant_chunks": row.n_relevant, **row.facts})
        kinds = sorted({kind for kind, _ in clusters})
        if len(kinds) > 1:
            raise ResultError(f"queries are clustered by {' and '.join(kinds)}; give all the same fields")
        if len(set(ids)) < len(ids):
            repeated = Counter(ids).most_common(1)[0][0]
            raise ResultError(f"query {repeated!r} is scored twice; keep one row of it")
        return cls(
            query_ids=tuple(ids),
            repos=tuple(repos),
            clusters=tuple(cluster for _, cluster in clusters),
            clustered_by=kinds[0] if kinds else "query",
            values=_columns(measures),
            facts={name: [each.get(name) for each in facts] for name in dict.fromkeys(chain.from_iterable(facts))},
            query_sha256=tuple(hashes),
        )

    def __len__(self) -> int:
        return len(self.query_ids)

    def by_query(self, measure: str) -> dict[str, float]:
        """query_id -> value of one measure."""
        return dict(zip(self.query_ids, self.values[measure].tolist(), strict=True))

    def other_means(self, metrics: Metrics) -> list[str]:
        """The measures whose stored means are not the means of these columns."""
        repos, at = np.unique(np.array(self.repos, dtype=object), return_inverse=True)
        sizes = np.bincount(at, minlength=len(repos))
        wrong = []
        for name in dict.fromkeys((*metrics.micro, *metrics.macro, *self.values)):
            column = self.values.get(name)
            stored = [metrics.micro.get(name), metrics.macro.get(name)]
            if column is None or not len(self):
                # Of no query every mean is written as 0.
                if column is None or any(stored):
                    wrong.append(name)
                continue
            within = np.bincount(at, weights=column) / sizes
            stored += [metrics.per_repo.get(repo, {}).get(name) for repo in repos.tolist()]
            found = [column.mean(), within.mean(), *within]
            if None in stored or not np.allclose(np.array(stored, dtype=np.float64), found, rtol=1e-9, atol=1e-9):
                wrong.append(name)
        return wrong

    def take(self, positions: Sequence[int] | NDArray[np.int64]) -> Self:
        """The queries at these positions, in this order."""
        index = np.asarray(positions, dtype=np.int64)
        chosen = index.tolist()
        return type(self)(
            query_ids=tuple(self.query_ids[i] for i in chosen),
            repos=tuple(self.repos[i] for i in chosen),
            clusters=tuple(self.clusters[i] for i in chosen),
            clustered_by=self.clustered_by,
            values={name: column[index] for name, column in self.values.items()},
            facts={name: [column[i] for i in chosen] for name, column in self.facts.items()},
            query_sha256=tuple(self.query_sha256[i] for i in chosen),
        )

    def table(self, measures: Sequence[str]) -> FloatArray:
        """float64 (n_queries, n_measures)."""
        return np.column_stack([self.values[name] for name in measures])


def _columns(rows: Sequence[Mapping[str, float]]) -> dict[str, FloatArray]:
    """Measure -> float64 (n_rows,); a ResultError where one is missing from some of the rows."""
    for name, count in Counter(chain.from_iterable(rows)).items():
        if count != len(rows):
            raise ResultError(f"{name} is scored for {count} of {len(rows)} queries; score the run again")
    return {name: np.array([row[name] for row in rows], dtype=np.float64) for name in (rows[0] if rows else ())}


def _cluster(row: QueryRow) -> tuple[str, str]:
    if row.path:
        return "file", f"{row.repo or ''}/{row.path}"
    if row.cluster is not None:
        return row.cluster_by or "cluster", row.cluster
    return "query", row.query_id
