"""Scores of a run as columns, one entry per query: what every comparison, segment and gate is computed from."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from repoeval_bench.core.errors import ResultError

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from repoeval_bench.core.run import Fact

    FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class ScoredQueries:
    """Queries of a run in stored order, with what statistics need of each.

    `repos` are the groups of the macro mean, `clusters` what is resampled: files where the gold has one, else what
    `clustered_by` names. `values` is measure -> float64 (n_queries,); `facts` is name -> one fact per query;
    `query_sha256` each query's text's, None where it was not stored.
    """

    query_ids: tuple[str, ...]
    repos: tuple[str, ...]
    clusters: tuple[Hashable, ...]
    clustered_by: str
    values: Mapping[str, FloatArray]
    facts: Mapping[str, Sequence[Fact]]
    query_sha256: tuple[str | None, ...]

    @classmethod
    def from_rows(cls, rows: Iterable[Mapping[str, Any]]) -> Self:
        """Columns of the rows of per_query.jsonl.

        A row's cluster is its file (`repo`, `path`), else its `cluster`, else the query itself. Rows that are not
        clustered alike, or do not have the same measures, are a ResultError.
        """
        ids: list[str] = []
        repos: list[str] = []
        clusters: list[Hashable] = []
        kinds: set[str] = set()
        values = _Values()
        facts: dict[str, list[Fact]] = defaultdict(list)
        hashes: list[str | None] = []
        for row in rows:
            query_id = row["query_id"]
            repo = row.get("repo") or "all"
            kind, cluster = _cluster(row, query_id)
            ids.append(query_id)
            repos.append(repo)
            kinds.add(kind)
            clusters.append(cluster)
            hashes.append(row.get("query_sha256"))
            values.add(row["metrics"])
            for name, fact in {"relevant_chunks": row.get("n_relevant"), **row.get("facts", {})}.items():
                facts[name].extend([None] * (len(ids) - 1 - len(facts[name])))
                facts[name].append(fact)
        if len(kinds) > 1:
            raise ResultError(f"queries are clustered by {' and '.join(sorted(kinds))}; give all the same fields")
        if len(set(ids)) < len(ids):
            repeated = Counter(ids).most_common(1)[0][0]
            raise ResultError(f"query {repeated!r} is scored twice; keep one row of it")
        for column_of_facts in facts.values():
            column_of_facts.extend([None] * (len(ids) - len(column_of_facts)))
        return cls(
            tuple(ids), tuple(repos), tuple(clusters), next(iter(kinds), "query"),
            values.columns(), dict(facts),
            tuple(hashes),
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.query_ids)

    def by_query(self, measure: str) -> dict[str, float]:
        """query_id -> value of one measure."""
        return dict(zip(self.query_ids, self.values[measure].tolist(), strict=True))

    def other_means(
        self, micro: Mapping[str, float], macro: Mapping[str, float], per_repo: Mapping[str, Mapping[str, float]]
    ) -> list[str]:
        """The measures for which these are not the means of the columns: over queries, repositories, within each."""
        repos, at = np.unique(np.array(self.repos, dtype=object), return_inverse=True)
        sizes = np.bincount(at, minlength=len(repos))
        wrong = []
        for name in dict.fromkeys((*micro, *macro, *self.values)):
            column = self.values.get(name)
            if column is None or not len(self):
                # Of no query every mean is written as 0.
                if column is None or micro.get(name) or macro.get(name):
                    wrong.append(name)
                continue
            within = np.bincount(at, weights=column) / sizes
            found = [column.mean(), within.mean(), *within]
            told = [micro.get(name), macro.get(name), *(per_repo.get(repo, {}).get(name) for repo in repos.tolist())]
            if None in told or not np.allclose(np.array(told, dtype=np.float64), found, rtol=1e-9, atol=1e-9):
                wrong.append(name)
        return wrong

    def take(self, positions: Sequence[int] | NDArray[np.int64]) -> Self:
        """The queries at these positions, in this order."""
        index = np.asarray(positions, dtype=np.int64)
        chosen = index.tolist()
        return type(self)(
            tuple(self.query_ids[i] for i in chosen),
            tuple(self.repos[i] for i in chosen),
            tuple(self.clusters[i] for i in chosen),
            self.clustered_by,
            {name: column[index] for name, column in self.values.items()},
            {name: [column[i] for i in chosen] for name, column in self.facts.items()},
            tuple(self.query_sha256[i] for i in chosen),
        )

    def table(self, measures: Sequence[str]) -> FloatArray:
        """float64 (n_queries, n_measures)."""
        return np.column_stack([self.values[name] for name in measures])


class _Values:
    """Rows of measures, gathered as one run of numbers: a call per row, not one per number."""

    def __init__(self) -> None:
        self._names: tuple[str, ...] = ()
        self._flat = array("d")
        self._rows = 0
        self._scored: Counter[str] = Counter()

    def add(self, metrics: Mapping[str, float]) -> None:
        names = tuple(metrics)
        self._names = self._names if self._rows else names
        self._rows += 1
        if names == self._names:
            self._flat.extend(metrics.values())
        elif set(names) == set(self._names):
            self._flat.extend([metrics[name] for name in self._names])
        else:
            self._scored.update(names)

    def columns(self) -> dict[str, FloatArray]:
        """Measure -> float64 (n_rows,); a ResultError where one is missing from some of the rows."""
        whole = len(self._flat) // len(self._names) if self._names else 0
        counts = Counter(dict.fromkeys(self._names, whole)) + self._scored
        for name, count in counts.items():
            if count != self._rows:
                raise ResultError(f"{name} is scored for {count} of {self._rows} queries; score the run again")
        table = np.array(self._flat, dtype=np.float64).reshape(self._rows, len(self._names))
        return {name: np.ascontiguousarray(table[:, i]) for i, name in enumerate(self._names)}


def _cluster(row: Mapping[str, Any], query_id: str) -> tuple[str, Hashable]:
    if row.get("path"):
        return "file", f"{row.get('repo') or ''}/{row['path']}"
    if row.get("cluster") is not None:
        return str(row.get("cluster_by") or "cluster"), str(row["cluster"])
    return "query", query_id
