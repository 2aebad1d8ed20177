"""BM25's ranking of the same queries: that of a run, or made from the chunks that a run stored."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from repoeval_bench.core.benchmark import Query
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.run import Qrels
from repoeval_bench.core.source import Chunk
from repoeval_bench.core.spec import Spec
from repoeval_bench.plugins.logs.diagnosis.evidence import TOP, Evidence
from repoeval_bench.protocols.exclusion import WINDOW
from repoeval_bench.retrieval.choice import choose_retriever
from repoeval_bench.retrieval.scope import pooled
from repoeval_bench.runs.log import Retrieved
from repoeval_bench.runs.naming import runs_beside

if TYPE_CHECKING:
    from repoeval_bench.runs.inspection import Inspection
    from repoeval_bench.runs.records import RunConfig
    from repoeval_bench.runs.view import RunView

BM25 = "bm25"


@dataclass(frozen=True, slots=True)
class Beside:
    """Another ranking of the same queries (query_id -> best first), the judgements of its chunks, where it is from."""

    results: Mapping[str, Sequence[Retrieved]]
    qrels: Qrels
    origin: str


def find_bm25(run: RunView, evidence: Evidence, named: RunView | None, ids: Sequence[str]) -> tuple[Beside | None, str]:
    """(BM25's ranking of these queries, and where it is from or why there is none, in one sentence).

    It is the `named` run's, else that of a run in the same folder, else made from what the run stored. A named run of
    other queries is a UsageError.
    """
    if named is not None:
        if not set(ids) <= set(named.scores.query_ids):
            raise UsageError(f"{named.run_id} answers other queries than {run.run_id}; give a run of the same data")
        return _stored(named), f"BM25 is {named.run_id}."
    if not ids:
        return None, ""
    if _is_bm25(run):
        return None, "The run is BM25's own."
    for other in filter(_is_bm25, runs_beside(run)):
        return _stored(other), f"BM25 is {other.run_id}."
    try:
        result = rank_with_bm25(evidence, run.inspection, run.manifest.config, ids)
    except UsageError as error:
        return None, f"BM25's top 10 is not shown: {error}; name a run of it with --bm25 RUN."
    return result, f"BM25 is {result.origin}."


def _stored(run: RunView) -> Beside:
    return Beside({row.query_id: row.ranked for row in run.log_rows()}, run.qrels(), run.run_id)


def _is_bm25(run: RunView) -> bool:
    return BM25 in run.metrics.retriever.lower()


def rank_with_bm25(
    evidence: Evidence, inspection: Inspection | None, config: RunConfig | None, ids: Sequence[str]
) -> Beside:
    """BM25 (its defaults) over the chunks that the run stored, for these queries.

    `config` is the manifest's. A UsageError where what the run stored does not say what BM25 would have read.
    """
    texts = {query_id: evidence.log.rows[query_id].query for query_id in ids if query_id in evidence.log.rows}
    if inspection is None or config is None or not all(texts.get(query_id) for query_id in ids):
        raise UsageError("the run has no texts to search")
    if Spec.parse(evidence.metrics.chunker).params.get("header", "none") != "none":
        raise UsageError("the run's chunks have headers, which are not stored")
    exclusion = config.protocol.exclusion
    if config.protocol.documents != "chunks" or exclusion not in {"none", "repocoder"}:
        raise UsageError(f"the chunks that a query sees under {evidence.metrics.protocol} are not stored")
    chunks: dict[str, list[Chunk]] = defaultdict(list)
    for file, stored in inspection.chunks.items():
        source = inspection.sources[file]
        chunks[source.repo].extend(Chunk.cut(source, chunk.chars) for chunk in stored)
    excluded = {query_id: _excluded(inspection, query_id) for query_id in ids} if exclusion == "repocoder" else {}
    repos = dict(zip(evidence.scores.query_ids, evidence.scores.repos, strict=True))
    queries = tuple(Query(query_id, repos[query_id], texts[query_id] or "") for query_id in ids)
    retriever = choose_retriever(BM25)
    searched: Mapping[str, Sequence[Chunk]] = chunks
    if config.protocol.scope == "pooled":
        searched, queries = pooled(chunks, queries)
    run = retriever.build(searched).search(queries, TOP, excluded)
    places = {chunk.chunk_id: chunk for of_repo in chunks.values() for chunk in of_repo}
    results = {
        query_id: [_result(rank, places[chunk_id], score) for rank, (chunk_id, score) in enumerate(ranking, start=1)]
        for query_id, ranking in run.rankings.items()
    }
    return Beside(results, evidence.log.qrels, f"{retriever.spec} over the run's own chunks")


def _excluded(inspection: Inspection, query_id: str) -> frozenset[str]:
    """The chunks that RepoCoder's exclusion takes from a query: those of its file that reach below its prompt."""
    query = inspection.queries[query_id]
    seen = max(0, query.body.start - WINDOW)
    return frozenset(chunk.chunk_id for chunk in inspection.chunks.get(query.file, ()) if chunk.lines.end > seen)


def _result(rank: int, chunk: Chunk, score: float) -> Retrieved:
    return Retrieved(
        rank=rank,
        chunk_id=chunk.chunk_id,
        score=score,
        file=chunk.file,
        start_line=chunk.lines.start,
        end_line=chunk.lines.end,
    )
