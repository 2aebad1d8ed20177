"""Counts of a run: texts and tokens, those that the model does not read, and the cost of the index."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Self

from repoeval_bench.core.spans import CharSpan
from repoeval_bench.retrieval.corpus import summarize
from repoeval_bench.runs.records import Counts, IndexCost, Sizes

if TYPE_CHECKING:
    from repoeval_bench.core.parts import Embedder, Role
    from repoeval_bench.core.run import Fact, Qrels, Run
    from repoeval_bench.runs.planning import Plan


@dataclass(frozen=True, slots=True)
class TokenCounts:
    """The tokens of each query and chunk, None without a model, or if it does not report them.

    A role's limit is the number of a text's tokens that the model reads; infinite if it reads all. `n_chunks` counts
    the chunks of the unchanged files, which come first; only these are counted. A query's own chunks, cut from its file
    with the target blanked, would count a file once for each of its queries.
    """

    tokens: Mapping[Role, Sequence[int] | None]
    limits: Mapping[Role, float]
    n_chunks: int
    has_model: bool

    @classmethod
    def of(cls, planned: Plan, embedder: Embedder | None) -> Self:
        """Return the tokens of a plan's texts."""
        texts, n_chunks = planned.texts(), planned.corpus.n_chunks
        if embedder is None:
            return cls(dict.fromkeys(texts), dict.fromkeys(texts, inf), n_chunks, has_model=False)
        tokens = {role: embedder.count_tokens(texts[role], role) for role in texts}
        most = inf if embedder.max_tokens is None else embedder.max_tokens
        limits = {role: most if embedder.truncates(role) else inf for role in texts}
        return cls(tokens, limits, n_chunks, has_model=True)

    def total(self, role: Role) -> int | None:
        """Count the tokens of a role's texts; 0 without a model, None if it does not report them."""
        return self._sum(role, lambda count, _: count)

    def truncated(self, role: Role) -> int | None:
        """Count the texts of a role that the model does not read to the end."""
        return self._sum(role, lambda count, limit: count > limit)

    def lost(self, role: Role) -> int | None:
        """Count the tokens of a role that the model does not read."""
        return self._sum(role, lambda count, limit: int(count - limit) if count > limit else 0)

    def sizes(self) -> Sizes | None:
        """Mean, median, p95 and maximum of the chunks' tokens; None if no tokens are known."""
        known = any(counts is not None for counts in self.tokens.values())
        return Sizes.model_validate(summarize(self._counted("document") or [])) if known else None

    def facts(self, planned: Plan, known: Mapping[str, Mapping[str, Fact]]) -> dict[str, dict[str, Fact]]:
        """Return the facts of each task, with its query's tokens and whether the model truncates it, if known."""
        facts = {task_id: dict(task_facts) for task_id, task_facts in known.items()}
        for query, count in zip(planned.queries, self.tokens["query"] or (), strict=False):
            facts[query.query_id] |= {"query_tokens": count, "truncated": count > self.limits["query"]}
        return facts

    def _counted(self, role: Role) -> Sequence[int] | None:
        tokens = self.tokens[role]
        return tokens[: self.n_chunks] if tokens is not None and role == "document" else tokens

    def _sum(self, role: Role, function: Callable[[int, float], int]) -> int | None:
        tokens = self._counted(role)
        if tokens is None:
            return None if self.has_model else 0
        return sum(function(count, self.limits[role]) for count in tokens)


def count_all(planned: Plan, tokens: TokenCounts, qrels: Qrels, run: Run) -> Counts:
    """Collect all counts of a run."""
    corpus = planned.corpus
    pairs, pairs_truncated = run.pairs
    return Counts(
        queries=len(planned.queries),
        queries_truncated=tokens.truncated("query"),
        queries_tokens=tokens.total("query"),
        queries_tokens_lost=tokens.lost("query"),
        queries_without_relevant=sum(not gains for gains in qrels.values()),
        chunks=corpus.n_chunks,
        chunks_truncated=tokens.truncated("document"),
        chunks_tokens=tokens.total("document"),
        chunks_tokens_lost=tokens.lost("document"),
        chunks_duplicate=sum(map(len, corpus.duplicates())),
        chunks_merged=len(corpus.merged),
        files=corpus.n_files,
        files_skipped=len(corpus.skipped),
        files_undecodable=len(planned.benchmark.undecodable),
        lines_uncovered=corpus.uncovered_lines,
        **({"tasks_unscored": planned.benchmark.unscored} if planned.protocol.counts_unscored else {}),
        **({"pairs": pairs, "pairs_truncated": pairs_truncated} if pairs else {}),
        **({"queries_no_answer": len(unanswerable)} if (unanswerable := planned.benchmark.unanswerable) else {}),
    )


def index_cost(planned: Plan, tokens: TokenCounts, embedder: Embedder) -> IndexCost | None:
    """Count vectors, tokens that the model reads (each distinct text once) and float32 bytes; None without any.

    Only the parts of long texts that the model reads count. Tokens are None if the model does not report them.
    """
    texts = planned.texts()["document"]
    if not texts:
        return None
    (row,) = embedder.encode(texts[:1], "document")
    n_read = None
    counted = tokens.tokens["document"]
    if counted is not None:
        whole = dict(zip(texts, counted, strict=True))
        parts = list({part: None for pieces in embedder.parts(texts, "document") for part in pieces})
        cut = [part for part in parts if part not in whole]
        counts = whole | dict(zip(cut, embedder.count_tokens(cut, "document") or (), strict=True))
        n_read = sum(min(counts[part], embedder.max_tokens or counts[part]) for part in parts)
    return IndexCost(vectors=len(texts), tokens=n_read, bytes=len(texts) * row.nbytes)


def read_chars(planned: Plan, embedder: Embedder | None) -> dict[str, CharSpan]:
    """Return query_id -> the characters of its text that the model reads; all of them without a model."""
    texts = [query.text for query in planned.queries]
    spans = embedder.read_chars(texts, "query") if embedder else [CharSpan(0, len(text)) for text in texts]
    return {query.query_id: span for query, span in zip(planned.queries, spans, strict=True)}
