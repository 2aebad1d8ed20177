"""The steps of a run, in order. Parts are passed as objects; `store` writes the files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING

from repoeval_bench.core.errors import ResultError
from repoeval_bench.metrics import ideal_rankings, score_ceilings, score_run, with_ceiling
from repoeval_bench.retrieval.ranking import pooled
from repoeval_bench.runs.accounting import TokenCounts, count_all, index_cost, read_chars
from repoeval_bench.runs.inspection import inspection_files
from repoeval_bench.runs.judgements import JudgedCorpus, judge_corpus
from repoeval_bench.runs.records import EMBED_STEP, FirstStage, RunConfig
from repoeval_bench.runs.store import RunOutcome

if TYPE_CHECKING:
    from repoeval_bench.core.benchmark import Query
    from repoeval_bench.core.parts import Embedder, Retriever, Role
    from repoeval_bench.protocols.protocol import Protocol
    from repoeval_bench.retrieval.registry import ResolvedRetriever
    from repoeval_bench.runs.planning import Plan, PlannedRun


def embed(job: Sequence[tuple[PlannedRun, Plan]], embedder: Embedder) -> list[tuple[PlannedRun, Plan]]:
    """Embed every distinct text of a chunker's runs in one pass, and return the plans with its cost.

    `check_gold` comes before the first text is embedded.
    """
    for run, plan in job:
        judgements = judge_corpus(plan.benchmark, plan.corpus, plan.protocol, ())
        check_gold(judgements, plan.protocol, plan.chunker, allow_sparse_qrels=run.allow_sparse_qrels)
    started = perf_counter()
    texts: dict[Role, list[str]] = {"query": [], "document": []}
    for run, plan in job:
        for role, of_role in run.texts(plan).items():
            texts[role] += of_role
    encoded = embedder.ensure(texts)
    spent = {EMBED_STEP: perf_counter() - started}
    return [(run, replace(plan, seconds=plan.seconds | spent, encoded=encoded)) for run, plan in job]


def execute(run: PlannedRun, planned: Plan) -> RunOutcome:
    """Judge, retrieve and score a planned run."""
    config, inputs, embedder, retriever = run.config, run.inputs, run.parts.embedder, run.parts.retriever
    tokens = TokenCounts.of(planned, embedder)
    judge = partial(judge_corpus, planned.benchmark, planned.corpus, planned.protocol, config.measures)
    judgements = judge(embedder=embedder, line_nws=inputs.lines, around=retriever.around)
    check_gold(judgements, planned.protocol, planned.chunker, allow_sparse_qrels=run.allow_sparse_qrels)
    searcher, queries = _index(planned, retriever, embedder, judgements)
    ranked = searcher.search(queries, config.k, judgements.excluded)
    scores = score_run(ranked.rankings, judgements.qrels, config.measures, judgements.context)
    ceilings = score_ceilings(
        judgements.qrels, config.measures, judgements.context, observed=scores, excluded=judgements.excluded
    )
    scores = with_ceiling(scores, ceilings, planned.protocol.headline_measure)
    facts = tokens.facts(planned, inputs.facts)
    index = index_cost(planned, tokens, embedder) if embedder and retriever.vectors else None
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
        index=index,
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

    Means then say little about a ranking. If no query has a relevant chunk, they say nothing, and the error is always
    raised.
    """
    total, with_gold = len(judgements.qrels), sum(map(bool, judgements.qrels.values()))
    if 2 * with_gold >= total or (allow_sparse_qrels and with_gold):
        return
    way_out = "choose another chunker, gold or relevance"
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
