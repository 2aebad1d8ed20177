"""The queries that scored worst: what is gold, what the run gave, and what BM25 gives, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from repoeval_bench.analysis.diagnosis.evidence import TOP

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from repoeval_bench.analysis.diagnosis.bm25 import Beside
    from repoeval_bench.analysis.diagnosis.evidence import Evidence
    from repoeval_bench.runs.log import Retrieved


@dataclass(frozen=True, slots=True)
class Place:
    """A chunk and, where they are known, its file and lines (0-based, half-open)."""

    chunk_id: str
    file: str | None
    start_line: int | None
    end_line: int | None


@dataclass(frozen=True, slots=True)
class Ranked:
    """One result: its rank, place and score, and whether it is relevant."""

    rank: int
    place: Place
    score: float
    relevant: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstQuery:
    """A query with its value; `first_hit` is the rank of its first relevant chunk in the stored ranking.

    `query` is None where the log has no text, `bm25` where BM25's ranking is not known.
    """

    query_id: str
    value: float
    query: str | None
    relevant: int
    first_hit: int | None
    gold: tuple[Place, ...]
    top: tuple[Ranked, ...]
    bm25: tuple[Ranked, ...] | None


def worst_ids(evidence: Evidence, measure: str, number: int) -> list[str]:
    """The `number` queries with the lowest value, the lowest first; of equals the one found later, then by id."""
    values = evidence.scores.by_query(measure)
    later = {query_id: -(_first_hit(evidence, query_id) or evidence.depth + 1) for query_id in values}
    return sorted(values, key=lambda query_id: (values[query_id], later[query_id], query_id))[:number]


def worst_queries(evidence: Evidence, measure: str, ids: Sequence[str], bm25: Beside | None) -> list[WorstQuery]:
    """These queries with their gold, their top 10 and, where there is one, BM25's."""
    values = evidence.scores.by_query(measure)
    known = dict(evidence.places)
    for results in bm25.results.values() if bm25 else ():
        known |= {entry.chunk_id: entry for entry in results if entry.chunk_id not in known}
    return [
        WorstQuery(
            query_id=query_id,
            value=values[query_id],
            query=evidence.log.rows[query_id].query if query_id in evidence.log.rows else None,
            relevant=len(evidence.log.qrels[query_id]),
            first_hit=_first_hit(evidence, query_id),
            gold=_gold(evidence.log.qrels[query_id], known),
            top=_top(evidence.top(query_id, TOP), evidence.log.qrels[query_id]),
            bm25=_top(bm25.results.get(query_id, ())[:TOP], bm25.qrels.get(query_id, {})) if bm25 else None,
        )
        for query_id in ids
    ]


def _gold(chunk_ids: Iterable[str], known: Mapping[str, Retrieved]) -> tuple[Place, ...]:
    places = (_place(chunk_id, known.get(chunk_id)) for chunk_id in chunk_ids)
    return tuple(sorted(places, key=lambda place: (place.file or "", place.start_line or 0, place.chunk_id)))


def _first_hit(evidence: Evidence, query_id: str) -> int | None:
    gold = evidence.log.qrels[query_id]
    return next((entry.rank for entry in evidence.top(query_id) if entry.chunk_id in gold), None)


def _top(entries: Iterable[Retrieved], gold: Mapping[str, float]) -> tuple[Ranked, ...]:
    return tuple(
        Ranked(entry.rank, _place(entry.chunk_id, entry), entry.score, entry.chunk_id in gold) for entry in entries
    )


def _place(chunk_id: str, entry: Retrieved | None) -> Place:
    if entry is None:
        return Place(chunk_id, None, None, None)
    return Place(chunk_id, entry.file, entry.start_line, entry.end_line)
