"""Wrappers of retrievers and rerankers from other packages, which check their results."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from repoeval_bench.core.benchmark import Query
from repoeval_bench.core.errors import MetricError, plug_in_errors_as
from repoeval_bench.core.run import Ranking, Run
from repoeval_bench.retrieval.ranking import rank

if TYPE_CHECKING:
    from repoeval_bench.core.registry import ResolvedSpec
    from repoeval_bench.retrieval.scope import Excluded


class PlugInRetriever:
    """A retriever of another package, whose results are checked and sorted as all rankings are."""

    def __init__(self, inner: Any, part: ResolvedSpec) -> None:
        self._inner, self._spec = inner, part.spec

    def search(self, queries: Sequence[Query], k: int, excluded: Excluded | None = None) -> Run:
        """Return the k best chunks of each query; MetricError where the plug-in fails or breaks the contract."""
        with plug_in_errors_as(MetricError, self._spec, "repair the retriever"):
            run: Run = self._inner.search(queries, k, excluded)
            rankings = {query.query_id: run.rankings[query.query_id] for query in queries}
        checked = {name: self._checked(name, ranking, k, excluded or {}) for name, ranking in rankings.items()}
        return replace(run, rankings=checked)

    def _checked(self, name: str, ranking: Ranking, k: int, excluded: Excluded) -> Ranking:
        ids = [chunk_id for chunk_id, _ in ranking]
        hidden = excluded.get(name, frozenset()).intersection(ids)
        if hidden:
            raise MetricError(f"{self._spec} returned {min(hidden)}, which query {name!r} may not see; leave it out")
        if len(set(ids)) < len(ids) or not all(math.isfinite(score) for _, score in ranking):
            raise MetricError(f"{self._spec} returned a chunk twice or a score that is not finite for query {name!r}")
        return rank(ranking, k)


class PlugInScorer:
    """A reranker of another package, which counts as reading texts whole and caching no scores."""

    pairs = (0, 0)
    n_cached = 0

    def __init__(self, inner: Any, part: ResolvedSpec) -> None:
        self._inner, self._spec = inner, part.spec

    @property
    def identity(self) -> Mapping[str, Any]:
        """Facts that decide a score beside the two texts and the spec."""
        return getattr(self._inner, "identity", {})

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return one score for each text; MetricError where the plug-in fails or gives something else."""
        with plug_in_errors_as(MetricError, self._spec, "repair the reranker"):
            scores = [float(score) for score in self._inner.score(query, texts)]
        if len(scores) != len(texts) or not all(map(math.isfinite, scores)):
            raise MetricError(
                f"{self._spec} gave {len(scores)} scores for {len(texts)} texts, or one that is not finite"
            )
        return scores
