"""Queries, the rankings of a retriever, and the relevance judgements."""

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

Qrels = dict[str, dict[str, float]]
"""query_id -> chunk_id -> gain (> 0). A query without a relevant chunk has an empty dict, never no entry."""

Fact = str | float | bool | None
"""A fact about a query: a word, a number, yes or no; None if it is not known."""

Ranking = tuple[tuple[str, float], ...]
"""(chunk_id, score), best first; position is rank."""


def in_float32(scores: Iterable[float]) -> "array[float]":
    """Round scores to float32; one beyond its range becomes infinite."""
    # trec_eval compares them in this type.
    return array("f", list(scores))


def trec_order(scores: Mapping[str, float]) -> list[str]:
    """Order the chunk ids of scores that others made: by (score as float32, id), both descending, as trec_eval does."""
    return [chunk_id for _, chunk_id in sorted(zip(in_float32(scores.values()), scores, strict=True), reverse=True)]


@dataclass(frozen=True, slots=True)
class Query:
    """The text that the retriever gets for one task; `query_id` is the task's id."""

    query_id: str
    repo: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The rankings that a system returned, by query id. Every query of the run has an entry.

    `latency_ms` is the time to rank each query, without the time to embed it. `rerank_ms` is the time to rerank its
    best chunks; a query with cached scores has none. `pairs` is (pairs of query and chunk that a model read, how many
    of them it had to cut). Equality ignores all three.
    """

    tag: str
    rankings: Mapping[str, Ranking]
    latency_ms: Mapping[str, float] = field(default_factory=dict, compare=False)
    rerank_ms: Mapping[str, float] = field(default_factory=dict, compare=False)
    pairs: tuple[int, int] = field(default=(0, 0), compare=False)
