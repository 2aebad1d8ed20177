"""Plans whose chunks are embedded in their files: each chunk is given what the embedder calls its span."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.source import Chunk, SourceFile, blanked

if TYPE_CHECKING:
    from repoeval_bench.core.benchmark import Benchmark
    from repoeval_bench.core.parts import Embedder
    from repoeval_bench.protocols.protocol import Protocol
    from repoeval_bench.retrieval.corpus import Corpus
    from repoeval_bench.runs.planning import Plan

_BLANKS = frozenset({"none", "body", "free"})
"""Exclusions that hide nothing of a file whose other chunks are seen."""

_MORE = "late=true embeds the lines of chunks as they are in their files, without headers or titles; leave one out"


def read_in_files(plans: Sequence[Plan], embedder: Embedder) -> list[Plan]:
    """The plans, with the chunks' spans where the embedder reads them in their files; else as they are.

    A UsageError where a chunk is more than its lines, or its vector would know of lines that a query may not see.
    """
    return [_read(planned, embedder) for planned in plans] if embedder.late else list(plans)


def check_late(protocol: Protocol) -> None:
    """A UsageError where a protocol's chunks are not lines of files, or may not be known of by all queries."""
    if protocol.exclusion not in _BLANKS:
        raise UsageError(
            f"exclusion={protocol.exclusion} hides chunks, and with late=true the vectors of others know what is in "
            "them; choose exclusion=body, or leave late=true out"
        )
    if protocol.documents == "windows":
        raise UsageError(_MORE)


def corpus_in_files(corpus: Corpus, benchmark: Benchmark, embedder: Embedder) -> Corpus:
    """The corpus, each chunk with what the embedder calls its span; a UsageError where one is more than its lines."""
    if any(chunk.header or chunk.rewritten for chunk in corpus):
        raise UsageError(_MORE)
    files = benchmark.by_name
    own = {task.task_id: blanked(files[task.file], task.body) for task in benchmark.tasks if task.task_id in corpus.own}

    def named(chunks: Sequence[Chunk], file: SourceFile | None = None) -> tuple[Chunk, ...]:
        return tuple(
            replace(chunk, in_file=embedder.in_file((file or files[chunk.file]).text, chunk.chars)) for chunk in chunks
        )

    return replace(
        corpus,
        chunks={repo: named(chunks) for repo, chunks in corpus.chunks.items()},
        own={query_id: named(chunks, own[query_id]) for query_id, chunks in corpus.own.items()},
    )


def _read(planned: Plan, embedder: Embedder) -> Plan:
    check_late(planned.protocol)
    corpus = corpus_in_files(planned.corpus, planned.benchmark, embedder)
    if planned.documents is planned.corpus:
        return replace(planned, corpus=corpus, documents=corpus)
    return replace(planned, corpus=corpus, documents=corpus_in_files(planned.documents, planned.benchmark, embedder))
