"""The whole diagnosis of a run: what is wrong, by which numbers, and the queries that scored worst."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from repoeval_bench.analysis.comparable import shared_measures
from repoeval_bench.analysis.diagnosis.bm25 import find_bm25
from repoeval_bench.analysis.diagnosis.checks import check_all
from repoeval_bench.analysis.diagnosis.evidence import Evidence
from repoeval_bench.analysis.diagnosis.thresholds import Thresholds
from repoeval_bench.analysis.diagnosis.worst import worst_ids, worst_queries
from repoeval_bench.analysis.facts import with_facts
from repoeval_bench.core.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from repoeval_bench.analysis.diagnosis.checks import Check
    from repoeval_bench.analysis.diagnosis.worst import WorstQuery
    from repoeval_bench.runs.view import RunView


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The checks of a run and its worst queries. `bm25` says where BM25's ranking is from (None: there is none).

    `note` says the same in a sentence, or why there is none.
    """

    run: str
    retriever: str
    measure: str
    n_queries: int
    checks: tuple[Check, ...]
    worst: tuple[WorstQuery, ...]
    bm25: str | None
    note: str


def diagnose(
    run: RunView,
    *,
    measure: str | None = None,
    limits: Thresholds | None = None,
    facts: Path | None = None,
    worst: int = 20,
    bm25: RunView | None = None,
) -> Diagnosis:
    """Hold a run against the known playbook, and list the `worst` queries with gold, results and BM25's results.

    `measure` is what segments and worst queries are judged by (ndcg@10 where it was scored), `facts` a file of facts
    to split the queries by, `bm25` a run of BM25 (found or made unless given). A measure that the run lacks is a
    UsageError.
    """
    (measure,) = shared_measures([run], [measure or _usual(run)])
    evidence = Evidence.read(run, with_facts(run.scores, facts)[0])
    checks = check_all(evidence, measure, limits or Thresholds())
    ids = worst_ids(evidence, measure, worst)
    beside, note = find_bm25(run, evidence, bm25, ids)
    return Diagnosis(
        run=run.run_id,
        retriever=run.metrics.retriever,
        measure=measure,
        n_queries=len(run.scores),
        checks=tuple(checks),
        worst=tuple(worst_queries(evidence, measure, ids, beside)),
        bm25=beside.origin if beside else None,
        note=note,
    )


def _usual(run: RunView) -> str:
    scored = run.metrics.micro
    if not scored:
        raise UsageError(f"{run.run_id} was scored with no measure, so it cannot be analysed")
    return "ndcg@10" if "ndcg@10" in scored else next(iter(scored))
