"""alpha-nDCG: a sub-topic that was covered before is worth less each time it is covered again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from math import fsum, log2
from typing import TYPE_CHECKING, Annotated

import numpy as np
from annotated_types import Ge, Le

from repoeval_bench.core.fields import Doc
from repoeval_bench.metrics.context import look_up
from repoeval_bench.metrics.definition import measure

if TYPE_CHECKING:
    from repoeval_bench.metrics.judged_run import FloatArray, JudgedRun


@measure(
    name="alpha_ndcg",
    meaning="nDCG over sub-topics: covering one again is worth (1 - alpha) times as much each time.",
    formula="gain_i = sum over sub-topics s of J(d_i, s) (1 - alpha)^(earlier that cover s); greedy ideal",
    range="0..1",
    source="Clarke et al. 2008; ndeval",
    avoid="there is one sub-topic per query: use ndcg",
    needs=frozenset({"ranking", "subtopics"}),
    ceiling=None,
)
def alpha_ndcg(
    run: JudgedRun,
    k: int | None,
    *,
    alpha: Annotated[float, Ge(0), Le(1), Doc("how much a repeated sub-topic loses")] = 0.5,
) -> FloatArray:
    """Return alpha-nDCG@k over the sub-topics of the context; 0 for a query without any: float64 (n_queries,)."""
    subtopics = run.context.subtopics
    return np.array(
        [
            alpha_ndcg_of(run.ranking(query_id), look_up("subtopics", subtopics, query_id, "query"), k, alpha)
            for query_id in run.query_ids
        ],
        dtype=np.float64,
    )


def alpha_ndcg_of(
    ranking: Sequence[str],
    subtopics: Mapping[str, Collection[Hashable]],
    k: int | None,
    alpha: Annotated[float, Ge(0), Le(1), Doc("how much a repeated sub-topic loses")] = 0.5,
) -> float:
    """Return alpha-nDCG@k of one ranking of ids (Clarke et al. 2008), `subtopics` being id -> what it covers.

    The ideal is greedy, as finding the best one is NP-hard; among equals the larger id comes first. 0 where no id
    covers anything.
    """
    depth = len(subtopics) if k is None else k
    ideal = _dcg((subtopics[i] for i in greedy_ideal(subtopics, depth, alpha)), alpha)
    return _dcg((subtopics.get(i, ()) for i in ranking[:k]), alpha) / ideal if ideal else 0.0


def greedy_ideal(subtopics: Mapping[str, Collection[Hashable]], depth: int, alpha: float) -> list[str]:
    """The ids in the order of largest gain given those before, at most `depth`."""
    covered: Counter[Hashable] = Counter()
    left = sorted((i for i, topics in subtopics.items() if topics), reverse=True)
    order: list[str] = []
    while left and len(order) < depth:
        best = max(left, key=lambda i: _gain(subtopics[i], covered, alpha))
        order.append(best)
        left.remove(best)
        covered.update(set(subtopics[best]))
    return order


def _gain(topics: Collection[Hashable], covered: Counter[Hashable], alpha: float) -> float:
    # fsum is exact in any order. Sets have no order, and a last bit would decide between equals.
    return fsum((1.0 - alpha) ** covered[topic] for topic in set(topics))


def _dcg(ranking: Iterable[Collection[Hashable]], alpha: float) -> float:
    covered: Counter[Hashable] = Counter()
    total = 0.0
    for rank, topics in enumerate(ranking, start=1):
        total += _gain(topics, covered, alpha) / log2(rank + 1)
        covered.update(set(topics))
    return total
