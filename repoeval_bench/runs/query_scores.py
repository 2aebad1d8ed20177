"""Scores of a run as columns, one entry per query, from which comparisons, segments and gates are computed."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from repoeval_bench.core.benchmark import PERIOD
from repoeval_bench.core.errors import ResultError, UsageError
from repoeval_bench.core.languages import language_of
from repoeval_bench.core.run import Fact
from repoeval_bench.core.words import count
from repoeval_bench.runs.records import QueryRow

FloatArray = NDArray[np.float64]

# Scores that are less apart are the same: another processor may round, or add up, in another way.
SAME = 1e-12

# Sums are compared at this number of digits: their rounding error must not break a tie.
DIGITS = 12

GROUP = "group of files"
"""What a cluster is where queries have gold in several files, and so join these files to one cluster."""

SOURCE_FILE = "source file"
"""What a cluster is where commits are the queries: a file in all periods of its history."""

RUN_FACTS = {
    "repo": "the repository that is searched, or the period of a history",
    "language": "languages of the target's files, by their names: every .h counts as C",
    "relevant_chunks": "chunks that are relevant to the query",
    "query_tokens": "tokens of the query, where a model reads it",
    "truncated": "whether the model truncates the query",
}
"""Facts of a query that a run adds to those of its task."""


def repository_kind(clustered_by: str) -> str:
    """Return what a repository of queries is: a period of one history, where they are clustered as commits are."""
    return PERIOD if clustered_by == SOURCE_FILE else "repository"


class Alone(NamedTuple):
    """The cluster of a query whose files are not known: no other query is in it."""

    # A tuple, because a tuple is hashed and compared in C: 100,000 queries need that millions of times.
    query_id: str

    def __str__(self) -> str:
        return f"query {self.query_id}"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class QueryScores:
    """The queries of a run in stored order, with the data that statistics need of each."""

    query_ids: tuple[str, ...]
    repos: tuple[str, ...]
    """The groups of the macro mean."""
    clusters: tuple[Hashable, ...]
    """Tests flip signs by them; a query without a known one is `Alone`."""
    clustered_by: str
    """A field of the gold or the log, else `file` (the gold's files), else `query`."""
    gold_files: tuple[tuple[str, ...], ...]
    """The files of each query's gold, empty if they are not known."""
    values: Mapping[str, FloatArray]
    """Measure -> float64 (n_queries,)."""
    facts: Mapping[str, Sequence[Fact]]
    """Name -> one fact per query; if the gold's `language` was not stored, it is read from `gold_files`."""
    query_sha256: tuple[str | None, ...]
    """The hash of each query's text, None if it was not stored."""

    @classmethod
    def from_rows(cls, rows: Iterable[QueryRow]) -> Self:
        """Build the columns from the rows of per_query.jsonl.gz.

        ResultError if rows are clustered by different fields, or have different measures.
        """
        ids: list[str] = []
        repos: list[str] = []
        files: list[tuple[str, ...]] = []
        named: list[str | None] = []
        fields: set[str] = set()
        hashes: list[str | None] = []
        measures: defaultdict[str, array[float]] = defaultdict(lambda: array("d"))
        facts: list[Mapping[str, Fact]] = []
        for row in rows:
            ids.append(row.query_id)
            repos.append(row.repo or "all")
            files.append(row.gold_files or ((f"{row.repo or ''}/{row.path}",) if row.path else ()))
            named.append(row.cluster)
            fields |= {row.cluster_by} if row.cluster_by else set()
            hashes.append(row.query_sha256)
            for name, value in row.measures.items():
                measures[name].append(value)
            own = {"relevant_chunks": row.n_relevant, "language": _languages(files[-1])}
            facts.append({**own, **row.facts})
        kinds = fields or ({"file" if names else "query" for names in files} or {"query"})
        if len(kinds) > 1:
            raise ResultError(f"queries are clustered by {' and '.join(sorted(kinds))}; give all the same fields")
        if len(set(ids)) < len(ids):
            repeated = Counter(ids).most_common(1)[0][0]
            raise ResultError(f"query {repeated!r} is scored twice; keep one row of it")
        (clustered_by,) = kinds
        if clustered_by == "file":
            named = list(clusters_of(dict(zip(ids, files, strict=True))).values())
        return cls(
            query_ids=tuple(ids),
            repos=tuple(repos),
            clusters=tuple(Alone(q) if name is None else name for q, name in zip(ids, named, strict=True)),
            clustered_by=clustered_by,
            gold_files=tuple(files),
            values=_columns(measures, len(ids)),
            facts={
                name: [of_query.get(name) for of_query in facts] for name in dict.fromkeys(chain.from_iterable(facts))
            },
            query_sha256=tuple(hashes),
        )

    def __len__(self) -> int:
        return len(self.query_ids)

    @property
    def cluster_kind(self) -> str:
        """The name of one cluster: `clustered_by`, or `GROUP` where the files are more than the clusters."""
        return GROUP if self.clustered_by == "file" and self.n_files > len(set(self.clusters)) else self.clustered_by

    @property
    def kinds(self) -> tuple[str, str]:
        """The names of one cluster and of one repository."""
        return self.cluster_kind, repository_kind(self.clustered_by)

    @property
    def n_files(self) -> int:
        """The number of files that have gold."""
        return len(set(chain.from_iterable(self.gold_files)))

    def by_query(self, measure: str) -> dict[str, float]:
        """Return query_id -> value of one measure."""
        return dict(zip(self.query_ids, self.values[measure].tolist(), strict=True))

    def take(self, positions: Sequence[int] | NDArray[np.int64]) -> Self:
        """Return the queries at these positions, in this order."""
        index = np.asarray(positions, dtype=np.int64)
        indexes = index.tolist()
        names = ("query_ids", "repos", "clusters", "gold_files", "query_sha256")
        columns: dict[str, Any] = {name: tuple(getattr(self, name)[i] for i in indexes) for name in names}
        values = {name: column[index] for name, column in self.values.items()}
        facts = {name: [column[i] for i in indexes] for name, column in self.facts.items()}
        return replace(self, **columns, values=values, facts=facts)

    def in_order(self, query_ids: tuple[str, ...]) -> Self:
        """Return all queries in this order."""
        if self.query_ids == query_ids:
            return self
        index_of = {query_id: i for i, query_id in enumerate(self.query_ids)}
        return self.take([index_of[query_id] for query_id in query_ids])

    def table(self, measures: Sequence[str]) -> FloatArray:
        """Return float64 (n_queries, n_measures)."""
        return np.column_stack([self.values[name] for name in measures])


def clusters_of(files: Mapping[str, Collection[str]]) -> dict[str, str]:
    """Return query_id -> its cluster, from query_id -> the files of its gold, at least one.

    Queries that share a file are in one cluster, directly or through other queries, in any order of rows, places and
    files. A cluster is named after its first file by name, with the number of its other files.
    """
    # Queries of one file resemble each other, so statistics flip signs by cluster.
    parents: dict[str, str] = {}

    def root(file: str) -> str:
        while (above := parents.setdefault(file, file)) != file:
            parents[file] = parents[above]  # halves the way for the next search
            file = parents[file]
        return file

    for paths in files.values():
        first, *others = map(root, paths)
        for other in others:
            parents[root(other)] = root(first)
    members: dict[str, list[str]] = defaultdict(list)
    for file in parents:
        members[root(file)].append(file)
    names = {top: _cluster_name(paths) for top, paths in members.items()}
    return {query_id: names[root(next(iter(paths)))] for query_id, paths in files.items()}


def _cluster_name(files: Collection[str]) -> str:
    others = len(files) - 1
    return min(files) + (f" (+{count(others, 'file')})" if others else "")


def _languages(files: Iterable[str]) -> str | None:
    """Return the names of these files' languages, as in `list languages`; None if none is known."""
    known = filter(None, map(language_of, files))
    return ", ".join(sorted({language.name for language in known})) or None


def _columns(measures: Mapping[str, array[float]], n_rows: int) -> dict[str, FloatArray]:
    """Measure -> float64 (n_rows,); ResultError if one is missing from some of the rows."""
    for name, values in measures.items():
        if len(values) != n_rows:
            raise ResultError(f"{name} is scored for {len(values)} of {n_rows} queries; score the run again")
    return {name: np.array(values) for name, values in measures.items()}


def together(runs: Sequence[QueryScores]) -> list[QueryScores]:
    """Scores of the same queries, in one order and with the same clusters: a cluster that one run knows holds for all.

    Scores of a query that are the same but for rounding (`SAME`) become equal. UsageError if runs disagree about a
    query's cluster or repository.
    """
    orders = {run.query_ids for run in runs}
    # That of ids if they differ, so that the order of the runs does not matter.
    ids = runs[0].query_ids if len(orders) == 1 else tuple(sorted(runs[0].query_ids))
    ordered = [run.in_order(ids) for run in runs]
    clusters, clustered_by = ordered[0].clusters, ordered[0].clustered_by
    for run in ordered[1:]:
        if sentence := disagreement(replace(ordered[0], clusters=clusters, clustered_by=clustered_by), run):
            raise UsageError(
                f"the runs have {sentence}; import both logs with one gold file and one kind of `conversation`"
            )
        if run.clusters != clusters:
            pairs = zip(clusters, run.clusters, strict=True)
            clusters = tuple(theirs if isinstance(known, Alone) else known for known, theirs in pairs)
        clustered_by = run.clustered_by if clustered_by == "query" else clustered_by
    return [
        replace(run, clusters=clusters, clustered_by=clustered_by, values=values)
        for run, values in zip(ordered, _without_rounding(ordered), strict=True)
    ]


def _without_rounding(runs: Sequence[QueryScores]) -> list[dict[str, FloatArray]]:
    """The values of runs of the same queries; the lowest of those that are the same stands for all of them."""
    of_runs = [dict(run.values) for run in runs]
    for name in dict.fromkeys(chain.from_iterable(of_runs)):
        having = [values for values in of_runs if name in values]
        table = np.stack([values[name] for values in having])
        order = np.argsort(table, axis=0)
        ordered = np.take_along_axis(table, order, axis=0)
        with np.errstate(invalid="ignore"):  # scores that are not finite are refused later
            gaps = np.diff(ordered, axis=0)
            if not ((gaps > 0) & (gaps < SAME)).any():
                continue
            for below, above in pairwise(ordered):
                np.copyto(above, below, where=above - below < SAME)
        np.put_along_axis(table, order, ordered, axis=0)
        for values, column in zip(having, table, strict=True):
            values[name] = column
    return of_runs


def disagreement(a: QueryScores, b: QueryScores) -> str:
    """Describe how two runs differ in the clusters or repositories of their queries; empty if they do not."""
    if a.clustered_by != b.clustered_by and "query" not in (a.clustered_by, b.clustered_by):
        return f"queries clustered by {a.clustered_by} against {b.clustered_by}"
    if a.query_ids == b.query_ids and (a.clusters, a.repos) == (b.clusters, b.repos):
        return ""
    sentences = []
    for what in ("clusters", "repos"):
        theirs = dict(zip(b.query_ids, getattr(b, what), strict=True))
        differing = {
            query_id: (ours, other)
            for query_id, ours in zip(a.query_ids, getattr(a, what), strict=True)
            if (other := theirs.get(query_id, ours)) != ours
            and not isinstance(ours, Alone)
            and not isinstance(other, Alone)
        }
        if differing:
            query_id, (ours, other) = min(differing.items())
            name = "cluster" if what == "clusters" else repository_kind(a.clustered_by)
            queries = count(len(differing), "query")
            sentences.append(f"another {name} of {queries} (such as {query_id}: {ours} against {other})")
    return " and ".join(sentences)
