"""Which queries of imported gold belong together: repositories, and what is resampled, as gold and log name them.

Both are properties of the benchmark's queries. A run whose log lacks a query has it all the same.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from repoeval_bench.core.errors import ResultError

if TYPE_CHECKING:
    from repoeval_bench.runs.log import Gold, LogRow

REPOSITORY, CONVERSATION, FILE = "repository", "conversation", "file"


def names_of(row: LogRow | Gold, cluster_by: str | None) -> dict[str, str]:
    """Field -> what the row names of its query: repository, conversation, and the field that queries are clustered by.

    A field that the contract does not know is looked up in `extra`; one that holds no word or number is a ResultError.
    """
    found: dict[str, str] = {}
    for field in {REPOSITORY, CONVERSATION, cluster_by or CONVERSATION} - {FILE}:
        value = getattr(row, field) if field in {REPOSITORY, CONVERSATION} else (row.extra or {}).get(field)
        if isinstance(value, str | int):
            found[field] = str(value)
        elif value is not None:
            raise ResultError(f"extra.{field} of query {row.query_id!r} is {value!r}; give a word or a whole number")
    return found


def add_names(known: dict[str, dict[str, str]], row: LogRow | Gold, cluster_by: str | None) -> None:
    """Add what the row names to query_id -> field -> name; a name that differs from the known one is a ResultError."""
    names = known.setdefault(row.query_id, {})
    for field, name in names_of(row, cluster_by).items():
        _same(row.query_id, field, names.setdefault(field, name), name)


def _same(query_id: str, field: str, known: str, name: str) -> None:
    if known != name:
        raise ResultError(f"{field} of query {query_id!r} is {name!r} after {known!r}; give a query one {field}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """query_id -> repository, of all queries or of none; query_id -> cluster, where it is known.

    `cluster_by` is the field that names the clusters; None where they follow from the gold's files, or where nothing is
    known. `alone` counts the queries that name no cluster while others do.
    """

    repositories: Mapping[str, str]
    clusters: Mapping[str, str]
    cluster_by: str | None
    alone: int = 0

    @classmethod
    def of(
        cls,
        queries: Collection[str],
        gold: Mapping[str, Mapping[str, str]],
        log: Mapping[str, Mapping[str, str]],
        *,
        with_files: bool,
        cluster_by: str | None,
    ) -> Self:
        """Read both: what the gold names, and what the log names of queries of which the gold says nothing.

        Queries are clustered by `cluster_by` (a field, or `file`), else by the gold's files, else by conversation. Gold
        and log that contradict each other, a field that no query names, and repositories of some queries alone are a
        ResultError.
        """
        repositories = _named(REPOSITORY, queries, gold, log)
        if repositories and (lacking := [query_id for query_id in queries if query_id not in repositories]):
            raise ResultError(
                f"{len(lacking)} of {len(queries)} queries name no repository (such as {lacking[0]}); name it in the "
                "rows of the gold, for all queries or for none"
            )
        if cluster_by == FILE and not with_files:
            raise ResultError("the gold names chunks, not files, so queries cannot be clustered by file")
        if cluster_by in {None, FILE} and with_files:
            return cls(repositories=repositories, clusters={}, cluster_by=None)
        field = cluster_by or CONVERSATION
        clusters = _named(field, queries, gold, log)
        if not clusters and cluster_by:
            raise ResultError(
                f"no query names a {cluster_by}; write it in the rows of the gold, as a field of theirs or under extra"
            )
        return cls(
            repositories=repositories,
            clusters=clusters,
            cluster_by=field if clusters else None,
            alone=len(queries) - len(clusters) if clusters else 0,
        )


def _named(
    field: str,
    queries: Collection[str],
    gold: Mapping[str, Mapping[str, str]],
    log: Mapping[str, Mapping[str, str]],
) -> dict[str, str]:
    """query_id -> what gold or log name in a field."""
    found: dict[str, str] = {}
    for query_id in queries:
        names = [names[field] for names in (gold.get(query_id, {}), log.get(query_id, {})) if field in names]
        for name in names:
            _same(query_id, field, found.setdefault(query_id, name), name)
    return found
