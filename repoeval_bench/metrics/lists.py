"""The measures for people who have plain lists of ids: results in rank order, and what is relevant.

`results` is a sequence of ids, best first, each once. `relevant` is a collection of ids, or a mapping id -> gain. A
query without relevant ids scores 0. Ids ranked twice, negative gains and k < 1 are errors, as everywhere.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from itertools import combinations
from math import log2
from typing import TYPE_CHECKING, TypeVar

from repoeval_bench.core.errors import MetricError
from repoeval_bench.metrics.diversity import cosines, mean_dissimilarity
from repoeval_bench.metrics.measure import parse_measures
from repoeval_bench.metrics.scoring import RunScores, score_query, score_run
from repoeval_bench.metrics.subtopics import alpha_ndcg_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_T = TypeVar("_T")

Relevant = Collection[str]
"""Ids that are relevant; a mapping of them gives gains."""

K_VALUES = (1, 5, 10, 20, 100)
"""Cutoffs where none are given."""

_COLUMNS = {"NDCG": "ndcg", "Recall": "recall", "Precision": "precision", "MRR": "mrr"}


def evaluate_retrieval(
    results: Sequence[str], relevant_docs: Relevant, k_values: Sequence[int] = K_VALUES
) -> dict[str, float]:
    """One query: `NDCG@k`, `Recall@k`, `Precision@k` and `MRR@k` for every k, and `AP`."""
    return _named(score_query(_pairs(results), _gains(relevant_docs), [*_keys(k_values).values(), "ap"]), k_values)


def evaluate_batch(
    all_results: Sequence[Sequence[str]] | Mapping[str, Sequence[str]],
    all_relevant_docs: Sequence[Relevant] | Mapping[str, Relevant],
    k_values: Sequence[int] = K_VALUES,
) -> dict[str, float]:
    """Means over queries under the names of `evaluate_retrieval`; `MAP` is the mean of `AP`.

    Two lists of one length, or two mappings by query id; then a query without results scores 0.
    """
    means = _named(_batch(all_results, all_relevant_docs, [*_keys(k_values).values(), "ap"]).mean(), k_values)
    return {**means, "MAP": means["AP"]}


def ndcg_at_k(results: Sequence[str], relevant: Relevant, k: int, *, gain: str = "linear") -> float:
    """nDCG@k; gain `linear` or `exp`."""
    return _one(results, relevant, f"ndcg(gain={gain})@{k}")


def recall_at_k(results: Sequence[str], relevant: Relevant, k: int) -> float:
    """Relevant ids among the first k, over all relevant ones."""
    return _one(results, relevant, f"recall@{k}")


def precision_at_k(results: Sequence[str], relevant: Relevant, k: int) -> float:
    """Relevant ids among the first k, over k."""
    return _one(results, relevant, f"precision@{k}")


def average_precision(results: Sequence[str], relevant: Relevant, k: int | None = None) -> float:
    """Precision at every hit, summed, over all relevant ids."""
    return _one(results, relevant, "ap" if k is None else f"ap@{k}")


def reciprocal_rank(results: Sequence[str], relevant: Relevant, k: int | None = None) -> float:
    """1 / rank of the first relevant id, 0 without one."""
    return _one(results, relevant, "mrr" if k is None else f"mrr@{k}")


def mean_reciprocal_rank(
    all_results: Sequence[Sequence[str]], all_relevant: Sequence[Relevant], k: int | None = None
) -> float:
    """Mean of `reciprocal_rank` over queries."""
    return _only(_batch(all_results, all_relevant, ["mrr" if k is None else f"mrr@{k}"]).mean())


def mean_average_precision(
    all_results: Sequence[Sequence[str]], all_relevant: Sequence[Relevant], k: int | None = None
) -> float:
    """Mean of `average_precision` over queries."""
    return _only(_batch(all_results, all_relevant, ["ap" if k is None else f"ap@{k}"]).mean())


def dcg(gains: Sequence[float], k: int | None = None) -> float:
    """Gains in rank order, each over log2(rank + 1), summed over the first k."""
    return sum(gain / log2(rank + 1) for rank, gain in enumerate(gains[:k], start=1))


def intra_list_diversity(
    vectors: Sequence[NDArray[np.floating]] | NDArray[np.floating] | None = None,
    *,
    similarities: Sequence[float] | None = None,
) -> float:
    """Mean of 1 - cosine over pairs of `vectors` (n, dim), or of 1 - s over given `similarities`; 0 without a pair."""
    if (vectors is None) == (similarities is None):
        raise MetricError("intra_list_diversity takes either vectors or similarities; give exactly one of them")
    if similarities is not None:
        return mean_dissimilarity(similarities)
    if vectors is None or len(vectors) < 2:
        return 0.0
    matrix = cosines(vectors)
    return mean_dissimilarity([float(matrix[i, j]) for i, j in combinations(range(len(matrix)), 2)])


def alpha_ndcg(
    results: Sequence[str], subtopics: Mapping[str, Collection[Hashable]], k: int, *, alpha: float = 0.5
) -> float:
    """alpha-nDCG@k of Clarke et al. 2008; `subtopics` is id -> the sub-topics that it covers."""
    _pairs(results)
    if k < 1 or not 0 <= alpha <= 1:
        raise MetricError(f"alpha_ndcg with k = {k} and alpha = {alpha}; k is at least 1, alpha from 0 to 1")
    return alpha_ndcg_of(results, subtopics, k, alpha)


def _keys(k_values: Sequence[int]) -> dict[str, str]:
    parse_measures(f"ndcg@{k}" for k in k_values)  # a depth that cannot be is one mistake, not one of each measure
    return {f"{label}@{k}": f"{name}@{k}" for k in k_values for label, name in _COLUMNS.items()}


def _named(values: Mapping[str, float], k_values: Sequence[int]) -> dict[str, float]:
    return {**{label: values[name] for label, name in _keys(k_values).items()}, "AP": values["ap"]}


def _batch(
    all_results: Sequence[Sequence[str]] | Mapping[str, Sequence[str]],
    all_relevant: Sequence[Relevant] | Mapping[str, Relevant],
    measures: Sequence[str],
) -> RunScores:
    results, relevant = _by_id(all_results), _by_id(all_relevant)
    if not isinstance(all_results, Mapping) and len(results) != len(relevant):
        raise MetricError(
            f"{len(results)} lists of results and {len(relevant)} of relevant ids; give one of each a query"
        )
    run = {query_id: _pairs(ids) for query_id, ids in results.items()}
    return score_run(run, {query_id: _gains(ids) for query_id, ids in relevant.items()}, measures)


def _by_id(lists: Sequence[_T] | Mapping[str, _T]) -> dict[str, _T]:
    return dict(lists) if isinstance(lists, Mapping) else {str(i): one for i, one in enumerate(lists)}


def _pairs(results: Sequence[str]) -> list[tuple[str, float]]:
    if isinstance(results, str):
        raise MetricError(f"the results are the text {results!r}; give a list of ids")
    if len(set(results)) != len(results):
        raise MetricError(f"an id is ranked twice in {list(results)}; keep one, or recall could pass 1")
    return [(chunk_id, float(-rank)) for rank, chunk_id in enumerate(results)]


def _gains(relevant: Relevant) -> Mapping[str, float]:
    if isinstance(relevant, str):
        raise MetricError(f"the relevant ids are the text {relevant!r}; give a collection of ids")
    return relevant if isinstance(relevant, Mapping) else dict.fromkeys(relevant, 1.0)


def _one(results: Sequence[str], relevant: Relevant, measure: str) -> float:
    return _only(score_query(_pairs(results), _gains(relevant), [measure]))


def _only(values: Mapping[str, float]) -> float:
    (value,) = values.values()
    return value
