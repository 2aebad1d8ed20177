"""BM25's ranking of a stored run's own chunks: what a search by words alone would have given."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from repoeval_bench.analysis.diagnosis.evidence import TOP
from repoeval_bench.core.benchmark import Query
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.source import Chunk
from repoeval_bench.core.spec import Spec
from repoeval_bench.protocols.exclusion import WINDOW
from repoeval_bench.retrieval.choice import Material, choose_retriever
from repoeval_bench.retrieval.scope import pooled
from repoeval_bench.runs.log import Retrieved

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from repoeval_bench.analysis.diagnosis.evidence import Evidence
    from repoeval_bench.core.run import Qrels
    from repoeval_bench.runs.inspection import Inspection
    from repoeval_bench.runs.records import StoredConfig

BM25 = "bm25"


@dataclass(frozen=True, slots=True)
class Beside:
    """Another ranking of the same queries (query_id -> best first), the judgements of its chunks, where it is from."""

    results: Mapping[str, Sequence[Retrieved]]
    qrels: Qrels
    origin: str


def rank_by_words(
    evidence: Evidence, inspection: Inspection | None, config: StoredConfig | None, ids: Sequence[str]
) -> Beside:
    """BM25 (its defaults) over the chunks that the run stored, for these queries.

    `config` is the manifest's. A UsageError where what the run holds does not tell what BM25 would have read.
    """
    texts = {query_id: evidence.rows[query_id].query for query_id in ids if query_id in evidence.rows}
    if inspection is None or config is None or not all(texts.get(query_id) for query_id in ids):
        raise UsageError("the run holds no texts to search")
    if Spec.parse(evidence.metrics.chunker).params.get("header", "none") != "none":
        raise UsageError("the run's chunks have headers, which are not stored")
    exclusion = config.protocol.exclusion
    if config.protocol.documents != "chunks" or exclusion not in {"none", "repocoder"}:
        raise UsageError(f"what a query sees under {evidence.metrics.protocol} is not stored")
    chunks: dict[str, list[Chunk]] = defaultdict(list)
    for file, stored in inspection.chunks.items():
        source = inspection.sources[file]
        chunks[source.repo].extend(Chunk.cut(source, chunk.chars) for chunk in stored)
    excluded: dict[str, frozenset[str]] = {}
    if exclusion == "repocoder":
        for query_id in ids:
            query = inspection.queries[query_id]
            seen = max(0, query.body.start - WINDOW)
            gone = (chunk.chunk_id for chunk in inspection.chunks.get(query.file, ()) if chunk.lines.end > seen)
            excluded[query_id] = frozenset(gone)
    repos = dict(zip(evidence.scores.query_ids, evidence.scores.repos, strict=True))
    queries = tuple(Query(query_id, repos[query_id], texts[query_id] or "") for query_id in ids)
    chosen = choose_retriever(BM25)
    searched: Mapping[str, Sequence[Chunk]] = chunks
    if config.protocol.scope == "pooled":
        searched, queries = pooled(chunks, queries)
    run = chosen.build(Material(searched, {}, None, dict)).search(queries, TOP, excluded)
    places = {chunk.chunk_id: chunk for of_repo in chunks.values() for chunk in of_repo}
    results = {
        query_id: [_result(rank, places[chunk_id], score) for rank, (chunk_id, score) in enumerate(ranking, start=1)]
        for query_id, ranking in run.rankings.items()
    }
    return Beside(results, evidence.relevant, f"{chosen.spec} over the run's own chunks")


def _result(rank: int, chunk: Chunk, score: float) -> Retrieved:
    return Retrieved(
        rank=rank,
        chunk_id=chunk.chunk_id,
        score=score,
        file=f"{chunk.repo}/{chunk.path}",
        start_line=chunk.lines.start,
        end_line=chunk.lines.end,
    )
