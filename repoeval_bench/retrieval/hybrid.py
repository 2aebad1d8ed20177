"""Dense and lexical rankings fused into one, by ranks or by scores."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Annotated, Literal

from repoeval_bench.core.fields import Doc
from repoeval_bench.core.parts import Embedder
from repoeval_bench.core.run import Query, Ranking, Run
from repoeval_bench.retrieval.bm25 import Bm25Retriever
from repoeval_bench.retrieval.dense import DenseRetriever
from repoeval_bench.retrieval.ranking import Chunks, Excluded, rank
from repoeval_bench.retrieval.registry import RETRIEVERS

# More chunks than any corpus has: both stages rank them all, as a chunk that one of them ranks low may be fused up.
_ALL = 2**62

_AT_ONCE = 64  # queries; a full ranking of a large corpus for every query would fill the memory

# What is added to a rank: the published constant.
_K0 = 60

# Reciprocal ranks are multiplied by this: at 1 / (60 + 300) neighbours differ by less than scores are rounded to.
SCALE = 1000


@RETRIEVERS.register(
    meaning="dense and bm25 fused: by reciprocal ranks (rrf), or as the mean of min-max scaled scores (sum)",
    requires=("faiss",),
)
class HybridRetriever:
    """Fuses the full rankings of dense and bm25 into one score for each chunk."""

    def __init__(
        self,
        chunks: Chunks,
        own: Chunks,
        embedder: Embedder,
        *,
        fusion: Annotated[Literal["rrf", "sum"], Doc("rrf: reciprocal ranks; sum: scores scaled to 0..1")] = "rrf",
    ) -> None:
        self._stages = DenseRetriever(chunks, embedder, own), Bm25Retriever(chunks, own)
        self._fuse = min_max_sum if fusion == "sum" else reciprocal_ranks

    def search(self, queries: Sequence[Query], k: int, excluded: Excluded | None = None) -> Run:
        """Return the k best chunks of each query's repository; both stages see what the query may see."""
        rankings: dict[str, Ranking] = {}
        latency: dict[str, float] = {}
        for start_index in range(0, len(queries), _AT_ONCE):
            part = queries[start_index : start_index + _AT_ONCE]
            dense, lexical = (stage.search(part, _ALL, excluded) for stage in self._stages)
            for query in part:
                name = query.query_id
                start = perf_counter()
                fused = self._fuse(dense.rankings[name], lexical.rankings[name])
                rankings[name] = rank(fused.items(), k)
                spent = (perf_counter() - start) * 1000
                latency[name] = dense.latency_ms[name] + lexical.latency_ms[name] + spent
        return Run(tag="hybrid", rankings=rankings, latency_ms=latency)


def reciprocal_ranks(dense: Ranking, lexical: Ranking) -> Mapping[str, float]:
    """Reciprocal rank fusion (Cormack, Clarke & Buettcher 2009): the mean of 1 / (60 + rank), times 1000."""
    scores: dict[str, float] = defaultdict(float)
    # A chunk that shares no term with the query has no lexical rank, and gets nothing for one.
    sharing = tuple((chunk_id, score) for chunk_id, score in lexical if score > 0)
    for ranking in (dense, sharing):
        for position, (chunk_id, _) in enumerate(ranking, start=1):
            scores[chunk_id] += SCALE * 0.5 / (_K0 + position)
    return scores


def min_max_sum(dense: Ranking, lexical: Ranking) -> Mapping[str, float]:
    """Return the mean of both scores, each scaled to 0..1 over the chunks that the query may see; 0 if all tie."""
    scores: dict[str, float] = defaultdict(float)
    for ranking in (dense, lexical):
        if not ranking:
            continue
        # A ranking is ordered, so its ends are its extremes.
        low, high = ranking[-1][1], ranking[0][1]
        for chunk_id, score in ranking:
            scores[chunk_id] += 0.5 * (score - low) / (high - low) if high > low else 0.0
    return scores
