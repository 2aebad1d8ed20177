"""Plans whose chunks are embedded in their files: each chunk is given what the embedder calls its span."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.source import Chunk, SourceFile, blanked

if TYPE_CHECKING:
    from repoeval_bench.core.parts import Embedder
    from repoeval_bench.retrieval.corpus import Corpus
    from repoeval_bench.runs.planning import Plan

_BLANKS = frozenset({"none", "body", "free"})
"""Exclusions that hide nothing of a file whose other chunks are seen."""


def read_in_files(plans: Sequence[Plan], embedder: Embedder) -> list[Plan]:
    """The plans, with the chunks' spans where the embedder reads them in their files; else as they are.

    A UsageError where a chunk is more than its lines, or its vector would know of lines that a query may not see.
    """
    return [_read(planned, embedder) for planned in plans] if embedder.late else list(plans)


def _read(planned: Plan, embedder: Embedder) -> Plan:
    protocol = planned.protocol
    if protocol.exclusion not in _BLANKS:
        raise UsageError(
            f"exclusion={protocol.exclusion} hides chunks, and with late=true the vectors of others know what is in "
            "them; choose exclusion=body, or leave late=true out"
        )
    if protocol.documents == "windows" or any(chunk.header or chunk.rewritten for chunk in planned.corpus):
        raise UsageError(
            "late=true embeds the lines of chunks as they are in their files, without headers or titles; leave one out"
        )
    files = planned.benchmark.by_name
    own = {task.task_id: blanked(files[task.file], task.body) for task in planned.benchmark.tasks if protocol.blanks}
    corpus = _named(planned.corpus, files, own, embedder)
    same = planned.documents is planned.corpus
    return replace(
        planned, corpus=corpus, documents=corpus if same else _named(planned.documents, files, own, embedder)
    )


def _named(
    corpus: Corpus, files: Mapping[str, SourceFile], own: Mapping[str, SourceFile], embedder: Embedder
) -> Corpus:
    def named(chunks: Sequence[Chunk], file: SourceFile | None = None) -> tuple[Chunk, ...]:
        return tuple(
            replace(chunk, in_file=embedder.in_file((file or files[chunk.file]).text, chunk.chars)) for chunk in chunks
        )

    return replace(
        corpus,
        chunks={repo: named(chunks) for repo, chunks in corpus.chunks.items()},
        own={query_id: named(chunks, own[query_id]) for query_id, chunks in corpus.own.items()},
    )
