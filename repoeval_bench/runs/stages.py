"""The steps of a run, in order. Parts are passed as objects; `store` writes the files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Any, Self

from repoeval_bench.core.errors import ResultError
from repoeval_bench.core.parts import Embedder, Retriever, Role
from repoeval_bench.core.run import Fact, Qrels, Query, Run
from repoeval_bench.core.source import summarize
from repoeval_bench.core.spans import CharSpan
from repoeval_bench.metrics import ideal_rankings, score_ceilings, score_run, with_ceiling
from repoeval_bench.protocols.protocol import Protocol
from repoeval_bench.retrieval.ranking import pooled
from repoeval_bench.retrieval.registry import ResolvedRetriever
from repoeval_bench.runs.inspection import inspection_files
from repoeval_bench.runs.judgements import JudgedCorpus, judge_corpus
from repoeval_bench.runs.planning import Plan, PlannedRun
from repoeval_bench.runs.records import Counts, FirstStage, RunConfig, Sizes
from repoeval_bench.runs.store import RunOutcome


def embed(job: Sequence[tuple[PlannedRun, Plan]], embedder: Embedder) -> None:
    """Embed every distinct text of a chunker's runs in one pass; `check_gold` comes before the first text."""
    for run, plan in job:
        judgements = judge_corpus(plan.benchmark, plan.corpus, plan.protocol, (), line_nws=run.inputs.lines)
        check_gold(judgements, plan.protocol, plan.chunker, allow_sparse_qrels=run.request.allow_sparse_qrels)
    texts: dict[Role, list[str]] = {"query": [], "document": []}
    for run, plan in job:
        for role, of_role in run.texts(plan).items():
            texts[role] += of_role
    embedder.ensure(texts)


def execute(run: PlannedRun, planned: Plan) -> RunOutcome:
    """Judge, retrieve and score a planned run."""
    config, inputs, embedder, retriever = run.config, run.inputs, run.parts.embedder, run.parts.retriever
    tokens = TokenCounts.of(planned, embedder)
    judge = partial(judge_corpus, planned.benchmark, planned.corpus, planned.protocol, config.measures)
    judgements = judge(embedder=embedder, line_nws=inputs.lines, around=retriever.around)
    # Before the ranking: a run whose texts all have vectors was not in `embed`.
    check_gold(judgements, planned.protocol, planned.chunker, allow_sparse_qrels=run.request.allow_sparse_qrels)
    searcher, queries = _index(planned, retriever, embedder, judgements)
    ranked = searcher.search(queries, config.k, judgements.excluded)
    scores = score_run(ranked.rankings, judgements.qrels, config.measures, judgements.context)
    ceilings = score_ceilings(
        judgements.qrels, config.measures, judgements.context, observed=scores, excluded=judgements.excluded
    )
    scores = with_ceiling(scores, ceilings, planned.protocol.headline_measure)
    facts = tokens.facts(planned, inputs.facts)
    read = read_chars(planned, embedder)
    inspection = inspection_files(inputs.sources, planned.benchmark, planned.corpus, judgements.gold, read)
    return RunOutcome(
        config=config,
        planned=planned,
        judgements=judgements,
        run=ranked,
        scores=scores,
        ceilings=ceilings,
        gold_in_query=inputs.gold_in_query,
        facts=facts,
        counts=count_all(planned, tokens, judgements.qrels, ranked),
        chunk_tokens=tokens.sizes(),
        first_stage=_first_stage(config, retriever),
        inspection=inspection,
    )


def _index(
    planned: Plan, retriever: ResolvedRetriever, embedder: Embedder | None, judgements: JudgedCorpus
) -> tuple[Retriever, tuple[Query, ...]]:
    """Return the retriever over the chunks, and the queries on them, also those that have no answer."""
    chunks, queries = planned.corpus.chunks, (*planned.queries, *planned.benchmark.unanswerable)
    if planned.protocol.scope == "pooled":
        chunks, queries = pooled(chunks, queries)
    searcher = retriever.build(
        chunks,
        planned.corpus.own,
        embedder=embedder,
        ideal=lambda: ideal_rankings(judgements.qrels, judgements.context, judgements.excluded),
    )
    return searcher, queries


def _first_stage(config: RunConfig, retriever: ResolvedRetriever) -> FirstStage | None:
    if retriever.first is None:
        return None
    raw = config.model_copy(update={"retriever": retriever.first.spec, "retriever_identity": {}})
    return FirstStage(retriever=raw.retriever, k_raw=retriever.k_raw or 0, run_id=raw.run_id)


def check_gold(judgements: JudgedCorpus, protocol: Protocol, chunker: str, *, allow_sparse_qrels: bool) -> None:
    """Raise a ResultError if fewer than half of the queries have a relevant chunk, unless `allow_sparse_qrels` is set.

    If no query has a relevant chunk, the error is always raised.
    """
    # Means then hardly depend on the ranking.
    total, with_gold = len(judgements.qrels), sum(map(bool, judgements.qrels.values()))
    if 2 * with_gold >= total or (allow_sparse_qrels and with_gold):
        return
    way_out = "choose another chunker, other target lines (--set gold) or another relevance"
    if protocol.exclusion != "none":
        way_out = (
            f"exclusion={protocol.exclusion} may hide them; choose another exclusion (--set exclusion=NAME) or "
            "smaller chunks"
        )
    if not with_gold:
        raise ResultError(
            f"none of the {total} queries has a relevant chunk under protocol {protocol.name} with {chunker}, so there "
            f"is nothing to score; {way_out}"
        )
    raise ResultError(
        f"only {with_gold} of {total} queries have a relevant chunk under protocol {protocol.name} with {chunker}; "
        f"{way_out}, or allow it with --set allow_sparse_qrels"
    )


@dataclass(frozen=True, slots=True)
class TokenCounts:
    """The tokens of each query and chunk, None without a model, or if it does not report them."""

    tokens: Mapping[Role, Sequence[int] | None]
    limits: Mapping[Role, float]
    """Tokens of a text that the model reads; infinite if it reads all."""
    n_chunks: int
    """Chunks of the unchanged files, which come first; only these are counted."""
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

    def counted(self, role: Role, what: str) -> dict[str, Any]:
        """Count a role's tokens, the texts that the model does not read to their end, and the tokens left unread.

        They are fields of `Counts` for `what`: 0 without a model, None if it does not report them.
        """
        names = [f"{what}_{counted}" for counted in ("tokens", "truncated", "tokens_lost")]
        tokens, limit = self._of_files(role), self.limits[role]
        if tokens is None:
            return dict.fromkeys(names, None if self.has_model else 0)
        lost = [int(count - limit) for count in tokens if count > limit]
        return dict(zip(names, (sum(tokens), len(lost), sum(lost)), strict=True))

    def sizes(self) -> Sizes | None:
        """Mean, median, p95 and maximum of the chunks' tokens; None if no tokens are known."""
        known = any(counts is not None for counts in self.tokens.values())
        return Sizes.model_validate(summarize(self._of_files("document") or [])) if known else None

    def facts(self, planned: Plan, known: Mapping[str, Mapping[str, Fact]]) -> dict[str, dict[str, Fact]]:
        """Return the facts of each task, with its query's tokens and whether the model truncates it, if known."""
        facts = {task_id: dict(task_facts) for task_id, task_facts in known.items()}
        for query, count in zip(planned.queries, self.tokens["query"] or (), strict=False):
            facts[query.query_id] |= {"query_tokens": count, "truncated": count > self.limits["query"]}
        return facts

    def _of_files(self, role: Role) -> Sequence[int] | None:
        # A query's own chunks, cut from its file with the target blanked, would count the file once for each query.
        tokens = self.tokens[role]
        return tokens[: self.n_chunks] if tokens is not None and role == "document" else tokens


def count_all(planned: Plan, tokens: TokenCounts, qrels: Qrels, run: Run) -> Counts:
    """Collect all counts of a run."""
    corpus = planned.corpus
    pairs, pairs_truncated = run.pairs
    return Counts(
        queries=len(planned.queries),
        **tokens.counted("query", "queries"),
        queries_without_relevant=sum(not gains for gains in qrels.values()),
        chunks=corpus.n_chunks,
        **tokens.counted("document", "chunks"),
        chunks_duplicate=corpus.n_duplicates,
        chunks_merged=len(corpus.merged),
        files=corpus.n_files,
        files_skipped=len(corpus.skipped),
        files_undecodable=len(planned.benchmark.undecodable),
        lines_uncovered=corpus.uncovered_lines,
        **({"tasks_unscored": planned.benchmark.unscored} if planned.protocol.counts_unscored else {}),
        **({"pairs": pairs, "pairs_truncated": pairs_truncated} if pairs else {}),
        **({"queries_no_answer": len(unanswerable)} if (unanswerable := planned.benchmark.unanswerable) else {}),
    )


def read_chars(planned: Plan, embedder: Embedder | None) -> dict[str, CharSpan]:
    """Return query_id -> the characters of its text that the model reads; all of them without a model."""
    texts = [query.text for query in planned.queries]
    spans = embedder.read_chars(texts, "query") if embedder else [CharSpan(0, len(text)) for text in texts]
    return {query.query_id: span for query, span in zip(planned.queries, spans, strict=True)}
