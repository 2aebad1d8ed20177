"""Looking things up in a context, with one sentence where they are not there."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from repoeval_bench.core.errors import MetricError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from repoeval_bench.core.places import Gold
    from repoeval_bench.metrics.context import ChunkPlace
    from repoeval_bench.metrics.judged import Judged

_T = TypeVar("_T")


def look_up(what: str, table: Mapping[str, _T] | None, key: str, owner: str) -> _T:
    """The entry of `key`; a MetricError says which input has no entry for which `owner` (chunk or query)."""
    try:
        return (table or {})[key]
    except KeyError:
        raise MetricError(f"{what} has no entry for {owner} {key!r}; the context must cover the whole run") from None


def places_of(judged: Judged, query_id: str, k: int | None = None) -> Sequence[ChunkPlace]:
    """Places of the chunks retrieved for a query, best first, the first k of them."""
    places = (judged.context.places if judged.context else None) or {}
    ranking = judged.ranking(query_id)[:k]
    try:
        return [places[chunk_id] for chunk_id in ranking]
    except KeyError:
        return [look_up("places", places, chunk_id, "chunk") for chunk_id in ranking]


def gold_of(judged: Judged, query_id: str) -> Gold:
    """The gold of a query."""
    return look_up("gold", judged.context.gold if judged.context else None, query_id, "query")
