"""Judge a corpus: relevance to each query, excluded chunks, and the context that measures need; or a stored run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from repoeval_bench.core.benchmark import Benchmark
from repoeval_bench.core.parts import Embedder
from repoeval_bench.core.run import Qrels
from repoeval_bench.core.spans import Gold, Place, join
from repoeval_bench.metrics import ChunkPlace, Context, Lines, RunScores, inputs_of, score_run
from repoeval_bench.protocols.exclusion import excluded_chunks, hidden_lines
from repoeval_bench.protocols.protocol import Protocol
from repoeval_bench.protocols.qrels import build_qrels, drop_excluded, gold_of, merge_copies
from repoeval_bench.protocols.uses import definitions_of
from repoeval_bench.retrieval.corpus import Corpus
from repoeval_bench.retrieval.expansion import NOTHING, Expansion
from repoeval_bench.retrieval.registry import choose_retriever
from repoeval_bench.runs.inspection import stored_corpus
from repoeval_bench.runs.view import RunView


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
    seen, chunks = dict(gold), corpus.by_file()
    parts = {t.task_id: definitions_of(t) if protocol.of_definitions else (gold[t.task_id],) for t in benchmark.tasks}
    places = {chunk.chunk_id: ChunkPlace.of(chunk) for chunk in chain.from_iterable(corpus.chunks.values())}
    for task in benchmark.tasks:
        # A task's blanked copy of its file is a file of its own, for that query alone, as its lines have other sizes.
        # Lines that the query reads at no cost count as blank there.
        if task.task_id in corpus.own:
            name, own = own_file(task.file, task.task_id), corpus.own[task.task_id]
            chunks[name] = list(own)
            places |= {chunk.chunk_id: ChunkPlace.of(chunk, name) for chunk in own}
            seen[task.task_id] = _renamed(gold[task.task_id], task.file, name)
            parts[task.task_id] = tuple(_renamed(part, task.file, name) for part in parts[task.task_id])
    qrels = merge_copies(build_qrels(seen, chunks, protocol.relevance, line_nws, parts), corpus.merged)
    excluded = excluded_chunks(benchmark.tasks, corpus.chunks, protocol.exclusion)
    qrels = drop_excluded(qrels, excluded)
    needs = inputs_of(measures)
    context = Context(
        places=places,
        gold=seen,
        line_nws=line_nws,
        definitions=parts,
        texts={chunk.chunk_id: chunk.text for chunk in corpus} if "texts" in needs else None,
        vectors=_vectors(corpus, embedder) if "vectors" in needs and embedder else None,
        subtopics=_gold_lines(qrels, places, seen, line_nws) if "subtopics" in needs else None,
    )
    if rule := Expansion.parse(around):
        hidden = hidden_lines(benchmark.tasks, benchmark.by_name, protocol.exclusion)
        context = replace(context, brought=rule.of(corpus, benchmark.by_name), hidden=hidden)
    return JudgedCorpus(qrels=qrels, excluded=excluded, gold=gold, context=context)


class Rescored:
    """Scores a stored ranking by other measures of lines, or another gold; nothing is cut or retrieved again.

    The run is one of a chunker over these files; `lines` is the result of `count_lines`, if it is known.
    """

    def __init__(self, run: RunView, benchmark: Benchmark, lines: Lines | None = None) -> None:
        assert run.inspection is not None
        self._benchmark, self._lines = benchmark, lines
        self._corpus = stored_corpus(run.inspection, benchmark)
        self._rankings, self._headers = run.rankings(), run.header_sizes()
        self._around = choose_retriever(run.metrics.retriever).around

    def by(self, measures: Sequence[str], protocol: Protocol) -> RunScores:
        """Return the scores of each query by measures of lines."""
        judged = judge_corpus(
            self._benchmark, self._corpus, protocol, measures, line_nws=self._lines, around=self._around
        )
        places = {**(judged.context.places or {})}
        for chunk_id, nws in self._headers.items():
            places[chunk_id] = replace(places[chunk_id], header_nws=nws)
        return score_run(self._rankings, judged.qrels, measures, replace(judged.context, places=places))


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


def _renamed(gold: Gold, file: str, name: str) -> Gold:
    """Return the places with another name for one file."""
    return tuple(Place(name, location.lines) if location.file == file else location for location in gold)


def own_file(file: str, query_id: str) -> str:
    """Return the name of a file as one query alone sees it."""
    return f"{file}#{query_id}"


def _vectors(corpus: Corpus, embedder: Embedder) -> dict[str, NDArray[np.float32]]:
    rows = embedder.encode([chunk.embed_text for chunk in corpus], "document")
    return {chunk.chunk_id: row for chunk, row in zip(corpus, rows, strict=True)}


def _gold_lines(
    qrels: Qrels, places: Mapping[str, ChunkPlace], gold: Mapping[str, Gold], line_nws: Lines
) -> dict[str, dict[str, frozenset[tuple[str, int]]]]:
    """Return query_id -> chunk_id -> the sub-topics that it covers: the non-blank gold lines in it."""
    return {
        query_id: {
            chunk_id: frozenset(
                (location.file, line)
                for location in join(gold[query_id])
                if location.file == places[chunk_id].file
                for line in location.lines.common(places[chunk_id].lines)
                if line_nws[location.file][line]
            )
            for chunk_id in gains
        }
        for query_id, gains in qrels.items()
    }
