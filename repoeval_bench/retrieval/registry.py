"""Retrievers and rerankers by name. A new one is a file in this folder, which registers it."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

from repoeval_bench.core.registry import Kind, Row
from repoeval_bench.retrieval.plug_in import PlugInRetriever, PlugInScorer


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrieverRow(Row):
    """A retriever as it is registered."""

    final: bool = False
    """Whether no reranker reorders its results."""

    @property
    def vectors(self) -> bool:
        """Return whether it compares vectors itself, as no first stage of it does."""
        return self.inner is None and "embedder" in inspect.signature(self.part).parameters


RETRIEVERS = Kind(
    "retriever",
    "repoeval_bench.retrieval",
    RetrieverRow,
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
