"""The whole diagnosis of a run: what is wrong, by which numbers, and the queries that scored worst."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from repoeval_bench.analysis.comparable import shared_measures
from repoeval_bench.core.errors import UsageError
from repoeval_bench.plugins.logs.diagnosis.checks import Check, check_all
from repoeval_bench.plugins.logs.diagnosis.evidence import TOP, DiagnosisEvidence
from repoeval_bench.runs.naming import runs_beside

if TYPE_CHECKING:
    from repoeval_bench.core.run import Qrels
    from repoeval_bench.runs.log import Retrieved
    from repoeval_bench.runs.view import RunView


@dataclass(frozen=True, slots=True)
class ResultLocation:
    """A chunk and, where they are known, its file and lines (0-based, half-open)."""

    chunk_id: str
    file: str | None = None
    start_line: int | None = None
    end_line: int | None = None

    @classmethod
    def of(cls, chunk_id: str, entry: Retrieved | None) -> ResultLocation:
        """Return the place of a chunk as the log has it."""
        return cls(chunk_id, entry.file, entry.start_line, entry.end_line) if entry else cls(chunk_id)


@dataclass(frozen=True, slots=True)
class Ranked:
    """One result: its rank, location and score, and whether it is relevant."""

    rank: int
    place: ResultLocation
    score: float
    relevant: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstQuery:
    """A query with its value, its gold, and its ten best results."""

    query_id: str
    value: float
    query: str | None
    """None where the log has no text."""
    relevant: int
    first_hit: int | None
    """The rank of the first relevant chunk in the stored ranking."""
    gold: tuple[ResultLocation, ...]
    top: tuple[Ranked, ...]
    bm25: tuple[Ranked, ...] | None
    """None where BM25's ranking is not known."""


BM25 = tuple[Mapping[str, "Sequence[Retrieved]"], "Qrels"]
"""query_id -> BM25's results, best first; the judgements of its chunks."""


def worst_queries(evidence: DiagnosisEvidence, number: int, bm25: BM25 | None) -> list[WorstQuery]:
    """Return the `number` queries with the lowest values, lowest first; ties by the later first hit, then by id."""
    results, qrels = bm25 or ({}, {})
    log, values = evidence.log, evidence.scores.by_query(evidence.measure)
    known = {entry.chunk_id: entry for ranked in results.values() for entry in ranked} | evidence.places
    hits = {
        query_id: next((entry.rank for entry in log.topk(query_id) if entry.chunk_id in log.qrels[query_id]), None)
        for query_id in values
    }
    lowest = sorted(values, key=lambda one: (values[one], -(hits[one] or evidence.metrics.k + 1), one))
    return [
        WorstQuery(
            query_id=query_id,
            value=values[query_id],
            query=log.rows[query_id].query if query_id in log.rows else None,
            relevant=len(log.qrels[query_id]),
            first_hit=hits[query_id],
            gold=_gold(log.qrels[query_id], known),
            top=_top(log.topk(query_id), log.qrels[query_id]),
            bm25=_top(results.get(query_id, ()), qrels.get(query_id, {})) if bm25 else None,
        )
        for query_id in lowest[:number]
    ]


def _gold(chunk_ids: Iterable[str], known: Mapping[str, Retrieved]) -> tuple[ResultLocation, ...]:
    locations = (ResultLocation.of(chunk_id, known.get(chunk_id)) for chunk_id in chunk_ids)
    return tuple(sorted(locations, key=lambda chunk: (chunk.file or "", chunk.start_line or 0, chunk.chunk_id)))


def _top(entries: Sequence[Retrieved], gold: Mapping[str, float]) -> tuple[Ranked, ...]:
    return tuple(
        Ranked(entry.rank, ResultLocation.of(entry.chunk_id, entry), entry.score, entry.chunk_id in gold)
        for entry in entries[:TOP]
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The checks of a run and its worst queries."""

    run: str
    retriever: str
    measure: str
    n_queries: int
    checks: tuple[Check, ...]
    worst: tuple[WorstQuery, ...]
    bm25: str | None
    """The run of BM25's ranking."""
    note: str
    """One sentence on where BM25's ranking is from, or why there is none."""


def diagnose(
    run: RunView,
    *,
    measure: str | None = None,
    worst: int = 20,
    bm25: RunView | None = None,
) -> Diagnosis:
    """Check a run for known problems, and list its `worst` queries with gold, results and BM25's results.

    Segments and worst queries are by `measure` (by default ndcg@10 if it was scored). `bm25` is a run of BM25, by
    default one in the same folder. UsageError: the run lacks the measure.
    """
    scored = run.metrics.micro
    if not scored:
        raise UsageError(f"{run.run_id} was scored with no measure, so it cannot be analysed")
    usual = "ndcg@10" if "ndcg@10" in scored else next(iter(scored))
    (measure,) = shared_measures([run], [measure or usual])
    evidence = DiagnosisEvidence.read(run, run.scores, measure)
    bm25, note = _find_bm25(run, bm25)
    ranking = ({row.query_id: row.ranked for row in bm25.log_rows()}, bm25.qrels()) if bm25 else None
    return Diagnosis(
        run=run.run_id,
        retriever=run.metrics.retriever,
        measure=measure,
        n_queries=len(run.scores),
        checks=tuple(check_all(evidence)),
        worst=tuple(worst_queries(evidence, worst, ranking)),
        bm25=bm25.run_id if bm25 else None,
        note=note,
    )


def _find_bm25(run: RunView, named: RunView | None) -> tuple[RunView | None, str]:
    """Return the run of BM25's ranking, and one sentence: its id, or why there is none.

    It is the `named` run, else one in the same folder. A named run of other queries is a UsageError.
    """
    if named is not None and not set(run.scores.query_ids) <= set(named.scores.query_ids):
        raise UsageError(f"{named.run_id} answers other queries than {run.run_id}; give a run of the same data")
    if named is None and _is_bm25(run):
        return None, "The run is BM25's own."
    bm25 = named or next(filter(_is_bm25, runs_beside(run)), None)
    if bm25 is None:
        return None, (
            "BM25's top 10 is not shown: this folder has no run by bm25 of the same data, protocol and chunks. "
            "Name one with --bm25 RUN."
        )
    return bm25, f"BM25 is {bm25.run_id}."


def _is_bm25(run: RunView) -> bool:
    return "bm25" in run.metrics.retriever.lower()
