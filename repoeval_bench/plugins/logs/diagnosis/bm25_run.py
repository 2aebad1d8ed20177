"""BM25's ranking of the same queries, from a run that was named or is in the same folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.run import Qrels
from repoeval_bench.runs.naming import runs_beside

if TYPE_CHECKING:
    from repoeval_bench.runs.log import Retrieved
    from repoeval_bench.runs.view import RunView


@dataclass(frozen=True, slots=True)
class Beside:
    """Another ranking of the same queries (query_id -> best first), the judgements of its chunks, and its origin."""

    results: Mapping[str, Sequence[Retrieved]]
    qrels: Qrels
    origin: str


def find_bm25(run: RunView, named: RunView | None, ids: Sequence[str]) -> tuple[Beside | None, str]:
    """Return BM25's ranking of these queries, and one sentence: its origin, or why there is none.

    It is that of the `named` run, else that of a run in the same folder. A named run of other queries is a UsageError.
    """
    if named is not None and not set(ids) <= set(named.scores.query_ids):
        raise UsageError(f"{named.run_id} answers other queries than {run.run_id}; give a run of the same data")
    if named is None and _is_bm25(run):
        return None, "The run is BM25's own."
    bm25 = named or next(filter(_is_bm25, runs_beside(run)), None)
    if bm25 is None:
        return None, (
            "BM25's top 10 is not shown: this folder has no run by bm25 of the same data, protocol and chunks. Make "
            f"one with eval -c {run.metrics.chunker} --protocol {run.metrics.protocol} --retriever bm25, or name one "
            "with --bm25 RUN."
        )
    results = {row.query_id: row.ranked for row in bm25.log_rows()}
    return Beside(results, bm25.qrels(), bm25.run_id), f"BM25 is {bm25.run_id}."


def _is_bm25(run: RunView) -> bool:
    return "bm25" in run.metrics.retriever.lower()
