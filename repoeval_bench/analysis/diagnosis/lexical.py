"""BM25's ranking of a stored run's own chunks: what a search by words alone would have given."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from repoeval_bench.analysis.diagnosis.evidence import TOP
from repoeval_bench.core.benchmark import Query
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.source import Chunk
from repoeval_bench.core.spec import Spec
from repoeval_bench.protocols.exclusion import WINDOW
from repoeval_bench.retrieval.choice import Material, choose_retriever
from repoeval_bench.retrieval.scope import pooled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from repoeval_bench.analysis.diagnosis.evidence import Evidence
    from repoeval_bench.core.run import Qrels
    from repoeval_bench.runs.inspection import Inside

BM25 = "bm25"


@dataclass(frozen=True, slots=True)
class Beside:
    """Another ranking of the same queries: rows as in the run log, the judgements of its chunks, where it is from."""

    rows: Mapping[str, Mapping[str, Any]]
    qrels: Qrels
    origin: str


def rank_by_words(evidence: Evidence, inside: Inside | None, config: Mapping[str, Any], ids: Sequence[str]) -> Beside:
    """BM25 (its defaults) over the chunks that the run stored, for these queries.

    `config` is the manifest's. A UsageError where what the run holds does not tell what BM25 would have read.
    """
    protocol = config.get("protocol") or {}
    texts = {query_id: evidence.rows.get(query_id, {}).get("query") for query_id in ids}
    if inside is None or not all(texts.values()):
        raise UsageError("the run holds no texts to search")
    if Spec.parse(evidence.metrics["chunker"]).params.get("header", "none") != "none":
        raise UsageError("the run's chunks have headers, which are not stored")
    exclusion = protocol.get("exclusion", "none")
    if protocol.get("documents") != "chunks" or exclusion not in {"none", "repocoder"}:
        raise UsageError(f"what a query sees under {evidence.metrics['protocol']} is not stored")
    chunks: dict[str, list[Chunk]] = defaultdict(list)
    for file, stored in inside.chunks.items():
        source = inside.sources[file]
        chunks[source.repo].extend(Chunk.cut(source, chunk.chars) for chunk in stored)
    excluded: dict[str, frozenset[str]] = {}
    if exclusion == "repocoder":
        for query_id in ids:
            query = inside.queries[query_id]
            seen = max(0, query.body.start - WINDOW)
            gone = (chunk.chunk_id for chunk in inside.chunks.get(query.file, ()) if chunk.lines.end > seen)
            excluded[query_id] = frozenset(gone)
    repos = dict(zip(evidence.scored.query_ids, evidence.scored.repos, strict=True))
    queries = tuple(Query(query_id, repos[query_id], str(texts[query_id])) for query_id in ids)
    chosen = choose_retriever(BM25)
    searched: Mapping[str, Sequence[Chunk]] = chunks
    if protocol.get("scope") == "pooled":
        searched, queries = pooled(chunks, queries)
    run = chosen.build(Material(searched, {}, None, dict)).search(queries, TOP, excluded)
    places = {chunk.chunk_id: chunk for of_repo in chunks.values() for chunk in of_repo}
    rows = {
        query_id: {
            "topk": [
                {
                    "rank": rank, "chunk_id": chunk_id, "score": score,
                    "file": f"{places[chunk_id].repo}/{places[chunk_id].path}",
                    "start_line": places[chunk_id].lines.start, "end_line": places[chunk_id].lines.end,
                }
                for rank, (chunk_id, score) in enumerate(ranking, start=1)
            ]
        }
        for query_id, ranking in run.rankings.items()
    }  # fmt: skip
    return Beside(rows, evidence.relevant, f"{chosen.spec} over the run's own chunks")
