"""Retrievers and rerankers by name, and how the one that a run names is built over a corpus.

A new one registers itself in its file. What another package gives is checked.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from repoeval_bench.core.errors import MetricError, UsageError, plug_in_errors_as
from repoeval_bench.core.fields import parameters_of
from repoeval_bench.core.parts import Embedder, PairScorer, Retriever
from repoeval_bench.core.registry import Kind, ResolvedSpec, Row
from repoeval_bench.core.run import Query, Ranking, Run
from repoeval_bench.core.spec import format_spec
from repoeval_bench.retrieval.expansion import NOTHING
from repoeval_bench.retrieval.ranking import Chunks, Excluded, rank


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


class PlugInScorer(PairScorer):
    """A reranker of another package, which counts as reading texts whole and caching no scores."""

    def __init__(self, inner: Any, part: ResolvedSpec) -> None:
        self._inner, self._spec = inner, part.spec
        self.identity = getattr(inner, "identity", {})

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return one score for each text; MetricError where the plug-in fails or gives something else."""
        with plug_in_errors_as(MetricError, self._spec, "repair the reranker"):
            scores = [float(score) for score in self._inner.score(query, texts)]
        if len(scores) != len(texts) or not all(map(math.isfinite, scores)):
            raise MetricError(
                f"{self._spec} gave {len(scores)} scores for {len(texts)} texts, or one that is not finite"
            )
        return scores


RETRIEVERS = Kind(
    "retriever",
    "repoeval_bench.retrieval",
    Row,
    gives=("chunks", "own", "embedder", "ideal", "scorer", "inner"),
    offers=("search",),
    shown="search(self, queries, k, excluded), which gives a Run",
    wrapper=PlugInRetriever,
)

RERANKERS = Kind(
    "reranker",
    "repoeval_bench.retrieval",
    Row,
    offers=("score",),
    shown="score(self, query, texts), which gives a number for each text",
    wrapper=PlugInScorer,
)


@dataclass(frozen=True, slots=True)
class ResolvedRetriever:
    """A retriever with all options resolved. If it has a `model`, `scorer` must be set before `build`."""

    part: ResolvedSpec
    scorer: PairScorer | None = None

    @property
    def spec(self) -> str:
        """The spec that rebuilds it, every option printed."""
        return self.part.spec

    @property
    def first(self) -> "ResolvedRetriever | None":
        """The first stage of a reranker, whose best `k_raw` results are reranked; None for other retrievers."""
        return choose_retriever(self.part.options["first"]) if self.part.inner else None

    @property
    def k_raw(self) -> int | None:
        """Number of results of the first stage that are reranked; None for other retrievers."""
        return cast("int", self.part.options["k_raw"]) if self.part.inner else None

    @property
    def around(self) -> str:
        """The rule of what is read with each hit: an option of `grep`, and `none` for other retrievers."""
        return str(self.part.options["around"]) if self.part.row.name == "grep" else NOTHING

    @property
    def vectors(self) -> bool:
        """Return whether this retriever or its first stage compares vectors."""
        if self.first:
            return self.first.vectors
        return "embedder" in parameters_of(self.part.row.part)

    @property
    def model(self) -> str:
        """The spec of its cross-encoder; "" where there is none."""
        inner = self.part.inner
        return format_spec("st", inner.options, inner.target) if inner and inner.row.target else ""

    def check_installed(self) -> None:
        """Raise a UsageError where a package is missing that it, or its first stage, needs."""
        try:
            for stage in (self, self.first):
                if stage is not None:
                    stage.part.check_installed()
        except UsageError as error:
            raise UsageError(f"{error}, or choose bm25, which needs no extra") from error

    def build(
        self,
        chunks: Chunks,
        own: Chunks | None = None,
        *,
        embedder: Embedder | None = None,
        ideal: Callable[[], Mapping[str, Sequence[str]]] = dict,
    ) -> Retriever:
        """Return the retriever over `chunks` (repository -> its chunks).

        own: query_id -> chunks that this query alone sees. embedder: None without vectors. ideal: gives query_id -> the
        ids of the relevant chunks, best first; only a retriever that is meant to cheat calls it.
        """
        options = {"embedder": embedder, "ideal": ideal, "scorer": self.scorer}
        return cast("Retriever", self.part.make(chunks=chunks, own=own or {}, **options))


def choose_retriever(text: str) -> ResolvedRetriever:
    """Return the retriever that a spec such as `bm25:b=0.5` names; a SpecError for an impossible one."""
    return ResolvedRetriever(RETRIEVERS.choose(text))
