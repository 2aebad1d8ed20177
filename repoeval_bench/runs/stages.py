"""The steps of a run, in order, on one screen. Parts come in as objects; files are written by `store`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING, Any

from repoeval_bench.core.errors import DatasetError, ResultError
from repoeval_bench.core.spans import CharSpan
from repoeval_bench.dataset.assembly import published_subset
from repoeval_bench.dataset.facts import task_facts
from repoeval_bench.metrics import ideal_rankings, score_ceilings, score_run, with_ceiling
from repoeval_bench.protocols.leak import top_over_prompt
from repoeval_bench.protocols.protocol import scores_none
from repoeval_bench.protocols.queries import make_queries
from repoeval_bench.retrieval.choice import Material
from repoeval_bench.retrieval.corpus import build_corpus, chunk_blanked, merge_identical, summarize
from repoeval_bench.retrieval.linemap import LineMap
from repoeval_bench.retrieval.scope import pooled
from repoeval_bench.runs.executors import IN_PROCESS, LARGE
from repoeval_bench.runs.inspection import inspection_files
from repoeval_bench.runs.judgements import judge_corpus
from repoeval_bench.runs.records import EMBED_STEP, Counts, FirstStage, IndexCost, Sizes
from repoeval_bench.runs.shared import Given
from repoeval_bench.runs.store import Cost, Judged, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from repoeval_bench.core.benchmark import Benchmark, Query
    from repoeval_bench.core.parts import Chunker, Embedder, Role
    from repoeval_bench.core.run import Fact, Run
    from repoeval_bench.protocols.protocol import Protocol
    from repoeval_bench.retrieval.choice import ChosenRetriever
    from repoeval_bench.retrieval.corpus import Corpus
    from repoeval_bench.runs.config import RunConfig
    from repoeval_bench.runs.executors import Executor
    from repoeval_bench.runs.judgements import JudgedCorpus


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run will embed: made without a model, so that it can be shown before anything is computed.

    `corpus` is what the chunker made and the retriever ranks, `documents` what is judged: the same, unless the
    protocol judges every chunker on one baseline's chunks. `encoded` texts were embedded for it and for what was
    planned with it; `usage` is what that used (tokens, as a server counts them), empty where nobody says.
    """

    benchmark: Benchmark
    protocol: Protocol
    chunker: str
    corpus: Corpus
    documents: Corpus
    queries: tuple[Query, ...]
    seconds: dict[str, float]
    encoded: int = 0
    usage: Mapping[str, int] = field(default_factory=dict)

    def texts(self) -> dict[Role, list[str]]:
        """Role -> the texts of that role, with repeats."""
        return {
            "query": [query.text for query in self.queries],
            "document": [chunk.embed_text for chunk in self.corpus],
        }


def plan(
    benchmark: Benchmark,
    chunker: Chunker,
    protocol: Protocol,
    *,
    baseline: Chunker | None = None,
    skip_errors: bool = False,
) -> Plan:
    """Select the protocol's repositories, chunk them, and make the queries.

    `baseline` makes the documents where the protocol judges every chunker on one chunker's chunks.
    """
    selected = select(benchmark, protocol)
    queries = make_queries(selected.tasks, protocol.query)
    chunked = _chunk(selected, protocol, (chunker, baseline), skip_errors=skip_errors)
    return Plan(selected, protocol, chunker.spec, *chunked[:2], queries, {"chunk": chunked[2]})


def plan_all(
    benchmark: Benchmark,
    parts: Sequence[tuple[Chunker, Chunker | None]],
    protocol: Protocol,
    *,
    skip_errors: bool = False,
    executor: Executor = IN_PROCESS,
) -> tuple[Given, list[Plan]]:
    """What is the same for all of them, and the plan of every (chunker, baseline), as `plan` makes it.

    Chunkers work at once where the executor has several processes.
    """
    selected = select(benchmark, protocol)
    queries = make_queries(selected.tasks, protocol.query)
    jobs: list[Callable[[], Any]] = [
        *(partial(_chunk, selected, protocol, each, skip_errors=skip_errors) for each in parts),
        partial(task_facts, selected),
    ]
    *chunked, facts = executor.map(jobs)
    return Given(selected, protocol, queries, facts), [
        Plan(selected, protocol, cutter.spec, corpus, documents, queries, {"chunk": seconds})
        for (cutter, _), (corpus, documents, seconds) in zip(parts, chunked, strict=True)
    ]


def _chunk(
    selected: Benchmark, protocol: Protocol, cutters: tuple[Chunker, Chunker | None], *, skip_errors: bool
) -> tuple[Corpus, Corpus, float]:
    """(what the chunker makes, the documents, seconds)."""
    started = perf_counter()
    chunker, baseline = cutters

    def chunk(cutter: Chunker) -> Corpus:
        corpus = build_corpus(selected.files, cutter, skip_errors=skip_errors)
        if protocol.documents == "windows":
            corpus = merge_identical(corpus)
        if protocol.exclusion == "body":
            corpus = chunk_blanked(corpus, selected.tasks, selected.files, cutter)
        return corpus

    corpus = chunk(chunker)
    documents = chunk(baseline) if baseline and protocol.documents == "baseline" else corpus
    return corpus, documents, perf_counter() - started


def embed(plans: Sequence[Plan], embedder: Embedder, *, ranked: bool = True, measured: bool = False) -> list[Plan]:
    """Embed every distinct text of all plans in one pass; the plans, with what that took.

    `ranked`: a retriever compares queries with chunks by vectors. `measured`: a measure compares what is judged. Where
    no query of a plan has a relevant chunk this is a ResultError, before the first text is embedded.
    """
    started = perf_counter()
    texts = texts_of(plans, ranked=ranked, measured=measured)
    if any(embedder.pending(texts).values()):
        for planned in plans:
            check_gold(judge_corpus(planned.benchmark, planned.documents, planned.protocol, ()), planned.protocol)
    encoded, usage = embedder.ensure(texts)
    spent = {EMBED_STEP: perf_counter() - started}
    return [replace(planned, seconds=planned.seconds | spent, encoded=encoded, usage=usage) for planned in plans]


def texts_of(plans: Sequence[Plan], *, ranked: bool = True, measured: bool = False) -> dict[Role, list[str]]:
    """Role -> the texts of that role that `embed` has to have vectors of, with repeats."""
    texts: dict[Role, list[str]] = {"query": [], "document": []}
    for planned in plans:
        if ranked:
            for role, each in planned.texts().items():
                texts[role] += each
        if measured:
            texts["document"] += [chunk.embed_text for chunk in planned.documents]
    return texts


def execute(
    planned: Plan,
    config: RunConfig,
    embedder: Embedder | None,
    retriever: ChosenRetriever,
    given: Given,
) -> Outcome:
    """Embed, retrieve, judge and score what was planned. `embedder` is None where nothing needs vectors.

    `given` is what `plan_all` made for all plans.
    """
    seconds = dict(planned.seconds)
    started = perf_counter()

    def lap(step: str) -> None:
        nonlocal started
        now = perf_counter()
        seconds[step] = now - started
        started = now

    texts = planned.texts()
    counted = {role: embedder.count_tokens(texts[role], role) for role in texts} if embedder else {}
    tokens = {role: each for role, each in counted.items() if each is not None}
    lap("count tokens")
    benchmark, corpus, documents = planned.benchmark, planned.corpus, planned.documents
    protocol, line_nws = config.protocol, given.lines
    judged = judge_corpus(benchmark, documents, protocol, config.measures, embedder=embedder, line_nws=line_nws)
    scored = judged
    if corpus is not documents:
        scored = judge_corpus(benchmark, corpus, protocol, ("line_rprec",), line_nws=line_nws)
    check_gold(judged, config.protocol)
    lap("judge")
    chunks, queries = corpus.chunks, planned.queries
    if config.protocol.scope == "pooled":
        chunks, queries = pooled(chunks, queries)
    material = Material(
        chunks, corpus.own, embedder, lambda: ideal_rankings(scored.qrels, scored.context, scored.excluded)
    )
    searcher = retriever.build(material)
    lap("index")
    depth = config.k if corpus is documents else max(1, len(list(corpus)))
    run = searcher.search(queries, depth, scored.excluded)
    if corpus is not documents:
        run = map_lines(planned, scored.excluded, judged, run, config.k)
    lap("retrieve")
    scores = score_run(run.rankings, judged.qrels, config.measures, judged.context)
    lap("score")
    ceilings = score_ceilings(judged.qrels, config.measures, judged.context, observed=scores, excluded=judged.excluded)
    scores = with_ceiling(scores, ceilings, config.protocol.headline_measure)
    lap("ceilings")
    leak = {
        "gold_lines_in_query": given.gold_in_query,
        "top10_over_prompt": top_over_prompt(
            benchmark.tasks, run.rankings, {chunk.chunk_id: chunk for chunk in documents}
        ),
    }
    lap("leak")
    truncated = {role: _truncated(embedder, tokens.get(role, ()), role) for role in texts}
    lost = {role: _tokens_lost(embedder, tokens.get(role, ()), role) for role in texts}
    # A model that does not count tokens does not say what it cut.
    unknown = embedder is not None and not tokens
    counts = Counts(
        queries=len(planned.queries),
        queries_truncated=None if unknown else truncated["query"],
        queries_tokens=None if unknown else sum(tokens.get("query", ())),
        queries_tokens_lost=None if unknown else lost["query"],
        queries_without_relevant=sum(not gains for gains in judged.qrels.values()),
        chunks=corpus.n_chunks,
        chunks_truncated=None if unknown else truncated["document"],
        chunks_tokens=None if unknown else sum(tokens.get("document", ())),
        chunks_tokens_lost=None if unknown else lost["document"],
        chunks_duplicate=sum(map(len, corpus.duplicates())),
        chunks_merged=len(corpus.merged),
        files=corpus.n_files,
        files_skipped=len(corpus.skipped),
        files_undecodable=len(benchmark.undecodable),
        lines_uncovered=corpus.uncovered_lines,
        **({"pairs": run.pairs[0], "pairs_truncated": run.pairs[1]} if run.pairs[0] else {}),
    )
    chunk_tokens = Sizes.model_validate(summarize(tokens.get("document", []))) if tokens else None
    facts = _facts(planned, given.facts, tokens.get("query", ()), embedder)
    index_cost = _index_cost(planned, tokens.get("document"), embedder) if embedder and retriever.vectors else None
    lap("facts")
    kept = inspection_files(given.sources, corpus, benchmark.tasks, judged.gold, _read_chars(planned, embedder))
    lap("inspection")
    return Outcome(
        config=config,
        benchmark=benchmark,
        corpus=corpus,
        documents=documents,
        judged=Judged(
            queries=planned.queries,
            qrels=judged.qrels,
            run=run,
            scores=scores,
            ceilings=ceilings,
            leak=leak,
            facts=facts,
        ),
        counts=counts,
        chunk_tokens=chunk_tokens,
        cost=Cost(seconds=seconds, encoded=planned.encoded, usage=planned.usage, index=index_cost),
        first_stage=_first_stage(config, retriever),
        inspection=kept,
    )


def is_large(benchmark: Benchmark) -> bool:
    """Whether further processes are worth their start."""
    return sum(len(file.text) for files in benchmark.files.values() for file in files) >= LARGE


def check_gold(judged: JudgedCorpus, protocol: Protocol) -> None:
    """A ResultError where no query has a relevant chunk: every mean would be 0 and say nothing."""
    if any(judged.qrels.values()):
        return
    way_out = "choose another chunker, gold or relevance"
    if protocol.exclusion != "none":
        way_out = (
            f"exclusion={protocol.exclusion} may hide them; choose another --exclusion, or a chunker with smaller "
            "chunks"
        )
    raise ResultError(
        f"none of the {len(judged.qrels)} queries has a relevant chunk under protocol {protocol.name}, so there is "
        f"nothing to score; {way_out}"
    )


def _read_chars(planned: Plan, embedder: Embedder | None) -> dict[str, CharSpan]:
    texts = [query.text for query in planned.queries]
    # Without a model every character is read.
    spans = embedder.read_chars(texts, "query") if embedder else [CharSpan(0, len(text)) for text in texts]
    return {query.query_id: span for query, span in zip(planned.queries, spans, strict=True)}


def _first_stage(config: RunConfig, retriever: ChosenRetriever) -> FirstStage | None:
    if retriever.first is None:
        return None
    raw = replace(config, retriever=retriever.first.spec, retriever_identity={})
    return FirstStage(retriever=raw.retriever, k_raw=retriever.k_raw or 0, run_id=raw.run_id)


def _index_cost(planned: Plan, tokens: Sequence[int] | None, embedder: Embedder) -> IndexCost | None:
    """Vectors, tokens that the model reads for them (each distinct text once) and float32 bytes; None without any.

    A text that is searched by its windows has a vector for each; of long texts the parts that are read count. Tokens
    are None where the model does not tell them.
    """
    texts = planned.texts()["document"]
    if not texts:
        return None
    n_vectors = embedder.n_vectors(texts, "document")
    (row,) = embedder.encode(texts[:1], "document")
    n_read = None
    if tokens is not None:
        whole = dict(zip(texts, tokens, strict=True))
        parts = list({part: None for pieces in embedder.parts(texts, "document") for part in pieces})
        cut = [part for part in parts if part not in whole]
        counts = whole | dict(zip(cut, embedder.count_tokens(cut, "document") or (), strict=True))
        n_read = sum(min(counts[part], embedder.max_tokens or counts[part]) for part in parts)
    return IndexCost(vectors=n_vectors, tokens=n_read, bytes=n_vectors * row.nbytes)


def _facts(
    planned: Plan, given: Mapping[str, Mapping[str, Fact]], tokens: Sequence[int], embedder: Embedder | None
) -> dict[str, dict[str, Fact]]:
    facts = {task_id: dict(each) for task_id, each in given.items()}
    # Without a model nothing is counted, and nothing truncated: then neither fact is there.
    for query, count in zip(planned.queries, tokens, strict=False):
        truncated = bool(_truncated(embedder, [count], "query"))
        facts[query.query_id] |= {"query_tokens": count, "truncated": truncated}
    return facts


def map_lines(planned: Plan, excluded: Mapping[str, frozenset[str]], judged: JudgedCorpus, run: Run, k: int) -> Run:
    """A run over the chunker's chunks as one over the documents; `excluded` are the chunks that queries may not see."""
    corpus, documents = planned.corpus, planned.documents
    blanked = {}
    if planned.protocol.exclusion == "body":
        blanked = {task.task_id: (f"{task.repo}/{task.path}", task.body) for task in planned.benchmark.tasks}
    line_map = LineMap(
        chunks=corpus.chunks,
        own=corpus.own,
        documents=documents.chunks,
        documents_own=documents.own,
        line_nws=judged.line_nws,
        blanked=blanked,
    )
    return line_map.map(run, planned.queries, k, excluded, judged.excluded)


def select(benchmark: Benchmark, protocol: Protocol) -> Benchmark:
    """The repositories and tasks that the protocol scores; a DatasetError where it scores none of them."""
    chosen = published_subset(benchmark, protocol.repositories)
    if not chosen.tasks:
        raise DatasetError(scores_none(protocol, benchmark.files))
    return chosen


def _truncated(embedder: Embedder | None, tokens: Sequence[int], role: Role) -> int:
    """How many of these texts the model does not read whole."""
    limit = _limit(embedder, role)
    return sum(count > limit for count in tokens)


def _tokens_lost(embedder: Embedder | None, tokens: Sequence[int], role: Role) -> int:
    """How many of these texts' tokens the model does not read."""
    limit = _limit(embedder, role)
    return sum(int(count - limit) for count in tokens if count > limit)


def _limit(embedder: Embedder | None, role: Role) -> float:
    if embedder is None or embedder.max_tokens is None or not embedder.truncates(role):
        return inf
    return embedder.max_tokens
