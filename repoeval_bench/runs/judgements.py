"""A corpus judged: what is relevant to whom, what is hidden from whom, and what the measures look up beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from repoeval_bench.metrics import Context, Place, inputs_of
from repoeval_bench.protocols.exclusion import hidden_chunks
from repoeval_bench.protocols.qrels import build_qrels, credit_copies, gold_span, hide, merge_copies

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from repoeval_bench.core.benchmark import Benchmark
    from repoeval_bench.core.parts import Embedder
    from repoeval_bench.core.run import Qrels
    from repoeval_bench.core.spans import LineSpan
    from repoeval_bench.protocols.protocol import Protocol
    from repoeval_bench.retrieval.corpus import Corpus


@dataclass(frozen=True, slots=True)
class JudgedCorpus:
    """qrels: over what a query may see. hidden: query_id -> what it may not. spans: query_id -> its gold lines.

    line_nws: `repo/path` -> non-whitespace characters of each line.
    """

    qrels: Qrels
    hidden: Mapping[str, frozenset[str]]
    spans: Mapping[str, LineSpan]
    line_nws: Mapping[str, Sequence[int]]
    context: Context


def judge_corpus(
    benchmark: Benchmark,
    corpus: Corpus,
    protocol: Protocol,
    measures: Sequence[str],
    *,
    embedder: Embedder | None = None,
    line_nws: Mapping[str, Sequence[int]] | None = None,
) -> JudgedCorpus:
    """Judge every chunk by the protocol, and gather what `measures` need.

    `line_nws` spares a caller who judges often the counting (`count_lines` of these files, or of more).
    """
    tasks = benchmark.tasks
    line_nws = line_nws or count_lines(benchmark)
    with_dropped = {repo: (*chunks, *corpus.dropped.get(repo, ())) for repo, chunks in corpus.chunks.items()}
    qrels = merge_copies(build_qrels(tasks, with_dropped, protocol, line_nws, corpus.own), corpus.merged)
    if protocol.copies == "credited":
        qrels = credit_copies(qrels, corpus.duplicates())
        for query_id in corpus.own:
            qrels |= credit_copies({query_id: qrels[query_id]}, corpus.own_duplicates(query_id))
    hidden = hidden_chunks(tasks, corpus.chunks, protocol.exclude)
    qrels = hide(qrels, hidden)
    spans = {task.task_id: gold_span(task, protocol) for task in tasks}
    needs = inputs_of(measures)
    context = _context(benchmark, corpus, spans=spans, line_nws=line_nws, qrels=qrels, needs=needs, embedder=embedder)
    return JudgedCorpus(qrels, hidden, spans, line_nws, context)


def count_lines(benchmark: Benchmark) -> dict[str, list[int]]:
    """`repo/path` -> non-whitespace characters of each line."""
    return {f"{file.repo}/{file.path}": file.line_nws() for files in benchmark.files.values() for file in files}


def _context(
    benchmark: Benchmark,
    corpus: Corpus,
    *,
    spans: Mapping[str, LineSpan],
    line_nws: Mapping[str, Sequence[int]],
    qrels: Qrels,
    needs: frozenset[str],
    embedder: Embedder | None,
) -> Context:
    places = {chunk.chunk_id: Place.of_chunk(chunk) for chunks in corpus.chunks.values() for chunk in chunks}
    gold = {task.task_id: Place.of_task(task, spans[task.task_id]) for task in benchmark.tasks}
    own_lines: dict[str, Sequence[int]] = {}
    for task in benchmark.tasks:
        if task.task_id not in corpus.own:
            continue
        # The task's file with blanked lines is a file of its own: its lines cost and count differently.
        base = gold[task.task_id]
        file = f"{base.file}#{task.task_id}"
        blanked = list(line_nws[base.file])
        blanked[task.body.start : task.body.end] = [0] * len(task.body)
        own_lines[file] = blanked
        gold[task.task_id] = Place(file, base.lines)
        for chunk in corpus.own[task.task_id]:
            places[chunk.chunk_id] = Place(file, chunk.lines, Place.of_chunk(chunk).header_nws)
    sizes = {**line_nws, **own_lines} if own_lines else line_nws
    chunks = list(corpus) if needs & {"texts", "vectors"} else []
    vectors = None
    if "vectors" in needs and embedder:
        rows = embedder.encode([chunk.embed_text for chunk in chunks], "document")
        vectors = {chunk.chunk_id: row for chunk, row in zip(chunks, rows, strict=True)}
    return Context(
        places=places,
        gold=gold,
        line_nws=sizes,
        texts={chunk.chunk_id: chunk.text for chunk in chunks} if "texts" in needs else None,
        vectors=vectors,
        subtopics=_gold_lines(qrels, places, gold, sizes) if "subtopics" in needs else None,
    )


def _gold_lines(
    qrels: Qrels, places: Mapping[str, Place], gold: Mapping[str, Place], sizes: Mapping[str, Sequence[int]]
) -> dict[str, dict[str, frozenset[int]]]:
    """A query's sub-topics are the non-blank lines of its gold; a relevant chunk covers those it holds."""
    covered: dict[str, dict[str, frozenset[int]]] = {}
    for query_id, gains in qrels.items():
        wanted = gold[query_id]
        lines = frozenset(line for line in wanted.lines if sizes[wanted.file][line])
        covered[query_id] = {
            chunk_id: lines & frozenset(places[chunk_id].lines)
            for chunk_id in gains
            if places[chunk_id].file == wanted.file
        }
    return covered
