"""Judge a corpus: relevance to each query, excluded chunks, and the context that measures need."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from repoeval_bench.core.benchmark import Benchmark
from repoeval_bench.core.parts import Embedder
from repoeval_bench.core.run import Qrels
from repoeval_bench.core.source import Chunk
from repoeval_bench.core.spans import Gold, Place, join
from repoeval_bench.metrics import ChunkPlace, Context, Lines, inputs_of
from repoeval_bench.protocols.exclusion import excluded_chunks, hidden_lines
from repoeval_bench.protocols.protocol import Protocol
from repoeval_bench.protocols.qrels import build_qrels, drop_excluded, gold_of, merge_copies
from repoeval_bench.protocols.uses import definitions_of
from repoeval_bench.retrieval.corpus import Corpus
from repoeval_bench.retrieval.expansion import NOTHING, Expansion


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedCorpus:
    """The judgements of a corpus: `qrels` without excluded chunks, and the `context` of measures.

    `excluded` is query_id -> the chunks that it may not see, `gold` query_id -> its gold.
    """

    qrels: Qrels
    excluded: Mapping[str, frozenset[str]]
    gold: Mapping[str, Gold]
    context: Context


def judge_corpus(
    benchmark: Benchmark,
    corpus: Corpus,
    protocol: Protocol,
    measures: Sequence[str],
    *,
    embedder: Embedder | None = None,
    line_nws: Lines | None = None,
    around: str = NOTHING,
) -> JudgedCorpus:
    """Judge every chunk by the protocol, and collect the context that `measures` need.

    `line_nws` is the result of `count_lines` for these files, or more. `around` is the rule by which a hit brings more
    lines.
    """
    line_nws = line_nws or count_lines(benchmark, protocol)
    gold = {task.task_id: gold_of(task, protocol) for task in benchmark.tasks}
    parts = {t.task_id: definitions_of(t) if protocol.of_definitions else (gold[t.task_id],) for t in benchmark.tasks}
    seen = _Seen.by(benchmark, corpus, gold, parts, line_nws)
    qrels = build_qrels(seen.gold, seen.chunks, protocol.relevance, seen.line_nws, seen.definitions)
    qrels = merge_copies(qrels, corpus.merged)
    excluded = excluded_chunks(benchmark.tasks, corpus.chunks, protocol.exclusion)
    qrels = drop_excluded(qrels, excluded)
    context = _context(corpus, seen, qrels, inputs_of(measures), embedder)
    if rule := Expansion.parse(around):
        hidden = hidden_lines(benchmark.tasks, benchmark.by_name, protocol.exclusion)
        context = replace(context, brought=rule.of(corpus, benchmark.by_name), hidden=hidden)
    return JudgedCorpus(qrels=qrels, excluded=excluded, gold=gold, context=context)


def count_lines(benchmark: Benchmark, protocol: Protocol) -> Lines:
    """`repo/path` -> the non-whitespace characters of each line, also for each task's blanked copy of its file."""
    copies: dict[str, Place] = {}
    if protocol.blanks:
        free = protocol.exclusion == "free"
        copies = {
            own_file(task.file, task.task_id): Place(task.file, task.context_span if free else task.body)
            for task in benchmark.tasks
        }
    return Lines({file.name: file.line_nws() for files in benchmark.files.values() for file in files}, copies)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """Gold and files as the queries see them: `gold` and `definitions` by query, `chunks` and `line_nws` by file."""

    gold: Mapping[str, Gold]
    definitions: Mapping[str, Sequence[Gold]]
    chunks: Mapping[str, Sequence[Chunk]]
    line_nws: Mapping[str, Sequence[int]]

    @classmethod
    def by(
        cls,
        benchmark: Benchmark,
        corpus: Corpus,
        gold: Mapping[str, Gold],
        definitions: Mapping[str, Sequence[Gold]],
        line_nws: Lines,
    ) -> Self:
        chunks: dict[str, list[Chunk]] = defaultdict(list)
        for repo, repo_chunks in corpus.chunks.items():
            for chunk in (*repo_chunks, *corpus.dropped.get(repo, ())):
                chunks[chunk.file].append(chunk)
        seen, parts = dict(gold), dict(definitions)
        for task in benchmark.tasks:
            # A task's blanked copy of its file is a file of its own, for that query alone, as its lines have other
            # sizes. Lines that the query reads at no cost count as blank there.
            if task.task_id in corpus.own:
                name = own_file(task.file, task.task_id)
                chunks[name] = list(corpus.own[task.task_id])
                seen[task.task_id] = _renamed(gold[task.task_id], task.file, name)
                parts[task.task_id] = [_renamed(part, task.file, name) for part in definitions[task.task_id]]
        return cls(gold=seen, definitions=parts, chunks=chunks, line_nws=line_nws)


def _renamed(gold: Gold, file: str, name: str) -> Gold:
    """Return the places with another name for one file."""
    return tuple(Place(name, location.lines) if location.file == file else location for location in gold)


def own_file(file: str, query_id: str) -> str:
    """Return the name of a file as one query alone sees it."""
    return f"{file}#{query_id}"


def _context(corpus: Corpus, seen: _Seen, qrels: Qrels, needs: frozenset[str], embedder: Embedder | None) -> Context:
    places = {chunk.chunk_id: ChunkPlace.of(chunk) for chunks in corpus.chunks.values() for chunk in chunks}
    for query_id, own in corpus.own.items():
        places |= {chunk.chunk_id: ChunkPlace.of(chunk, own_file(chunk.file, query_id)) for chunk in own}
    chunks = list(corpus) if needs & {"texts", "vectors"} else []
    vectors = None
    if "vectors" in needs and embedder:
        rows = embedder.encode([chunk.embed_text for chunk in chunks], "document")
        vectors = {chunk.chunk_id: row for chunk, row in zip(chunks, rows, strict=True)}
    return Context(
        places=places,
        gold=seen.gold,
        line_nws=seen.line_nws,
        definitions=seen.definitions,
        texts={chunk.chunk_id: chunk.text for chunk in chunks} if "texts" in needs else None,
        vectors=vectors,
        subtopics=_gold_lines(qrels, places, seen) if "subtopics" in needs else None,
    )


def _gold_lines(
    qrels: Qrels, places: Mapping[str, ChunkPlace], seen: _Seen
) -> dict[str, dict[str, frozenset[tuple[str, int]]]]:
    """Return query_id -> chunk_id -> the sub-topics that it covers: the non-blank gold lines in it."""
    return {
        query_id: {
            chunk_id: frozenset(
                (location.file, line)
                for location in join(seen.gold[query_id])
                if location.file == places[chunk_id].file
                for line in location.lines.common(places[chunk_id].lines)
                if seen.line_nws[location.file][line]
            )
            for chunk_id in gains
        }
        for query_id, gains in qrels.items()
    }
