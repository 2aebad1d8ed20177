"""What a run keeps so that a person can look inside a query: sources, chunk boundaries, and what was read of it.

sources.jsonl.gz   every file that was chunked, with its text
chunks.jsonl.gz    every chunk the chunker made, by file, as spans
queries.jsonl.gz   which of a query's characters the model read, and the lines that are gold; its text is in the log

The compressed bytes carry no time, so that a second identical run writes the same files. A run that was imported, or
stored by an earlier version, has none of them.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from repoeval_bench.core.errors import ResultError
from repoeval_bench.core.source import SourceFile, count_nws, encode_id
from repoeval_bench.core.spans import CharSpan, LineSpan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from repoeval_bench.core.benchmark import Benchmark, Task
    from repoeval_bench.core.source import Chunk
    from repoeval_bench.retrieval.corpus import Corpus

SOURCES = "sources.jsonl.gz"
CHUNKS = "chunks.jsonl.gz"
QUERIES = "queries.jsonl.gz"


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """One chunk's id and place; `nws` are its non-whitespace characters."""

    chunk_id: str
    file: str
    chars: CharSpan
    lines: LineSpan
    nws: int


@dataclass(frozen=True, slots=True)
class StoredQuery:
    """A query's file (`repo/path`), which characters of its text the model read, its gold, the lines to be written."""

    query_id: str
    file: str
    read: CharSpan
    gold: LineSpan
    body: LineSpan


@dataclass(frozen=True, slots=True)
class Inside:
    """What of a run can be looked into. `chunks` and `own` (query_id -> chunks it saw in place of its file's) by file.

    `sources` is `repo/path` -> file.
    """

    sources: Mapping[str, SourceFile]
    chunks: Mapping[str, tuple[StoredChunk, ...]]
    own: Mapping[str, tuple[StoredChunk, ...]]
    queries: Mapping[str, StoredQuery]


def pack_sources(benchmark: Benchmark) -> bytes:
    """The content of sources.jsonl.gz, which no chunker changes."""
    return _packed(
        {"repo": file.repo, "path": file.path, "text": file.text}
        for files in benchmark.files.values()
        for file in files
    )


def files_of(
    sources: bytes,
    corpus: Corpus,
    tasks: Iterable[Task],
    spans: Mapping[str, LineSpan],
    read: Mapping[str, CharSpan],
) -> dict[str, bytes]:
    """The three files, name -> content, `sources` as `pack_sources` made them.

    `spans` are the tasks' gold lines, `read` the characters that the model read of their queries.
    """
    return {
        SOURCES: sources,
        CHUNKS: _packed(_chunk_rows(corpus)),
        QUERIES: _packed(
            {
                "query_id": task.task_id,
                "file": f"{task.repo}/{task.path}",
                "read": _ends(read[task.task_id]),
                "gold": _ends(spans[task.task_id]),
                "body": _ends(task.body),
            }
            for task in tasks
        ),
    }


def read_inside(folder: Path) -> Inside | None:
    """What `files_of` wrote into a run folder; None where the run has none of it, a ResultError where it is broken."""
    if not all((folder / name).is_file() for name in (SOURCES, CHUNKS, QUERIES)):
        return None
    sources = {
        f"{row['repo']}/{row['path']}": SourceFile(row["repo"], row["path"], row["text"])
        for row in _rows(folder / SOURCES)
    }
    chunks: dict[str, tuple[StoredChunk, ...]] = {}
    own: dict[str, tuple[StoredChunk, ...]] = {}
    for row in _rows(folder / CHUNKS):
        ending = f"#{row['query_id']}" if "query_id" in row else ""
        found = tuple(_chunk(row["file"], span, ending) for span in row["spans"])
        if ending:
            own[row["query_id"]] = found
        else:
            chunks[row["file"]] = found
    queries = {
        row["query_id"]: StoredQuery(
            row["query_id"], row["file"], CharSpan(*row["read"]), LineSpan(*row["gold"]), LineSpan(*row["body"])
        )
        for row in _rows(folder / QUERIES)
    }  # fmt: skip
    return Inside(sources, chunks, own, queries)


def _chunk_rows(corpus: Corpus) -> Iterator[dict[str, Any]]:
    by_file: dict[str, list[Chunk]] = defaultdict(list)
    for repo, chunks in corpus.chunks.items():
        # What was merged into an identical chunk was cut all the same.
        for chunk in (*chunks, *corpus.dropped.get(repo, ())):
            by_file[f"{chunk.repo}/{chunk.path}"].append(chunk)
    for file, chunks_of_file in by_file.items():
        yield {"file": file, "spans": _spans(chunks_of_file)}
    for query_id, seen in corpus.own.items():
        if seen:
            yield {"query_id": query_id, "file": f"{seen[0].repo}/{seen[0].path}", "spans": _spans(seen)}


def _spans(chunks: Iterable[Chunk]) -> list[list[int]]:
    """[characters from, to, lines from, to, nws] of each chunk, by start."""
    return sorted([*_ends(chunk.chars), *_ends(chunk.lines), count_nws(chunk.text)] for chunk in chunks)


def _chunk(file: str, span: Sequence[int], ending: str) -> StoredChunk:
    first, last, line, end, nws = span
    # The id as `Chunk.cut` gives it, and once more encoded where the query's own chunk got the query's id.
    chunk_id = encode_id(f"{file}@{first}-{last}")
    chunk_id = encode_id(chunk_id + ending) if ending else chunk_id
    return StoredChunk(chunk_id, file, CharSpan(first, last), LineSpan(line, end), nws)


def _ends(span: CharSpan | LineSpan) -> list[int]:
    return [span.start, span.end]


def _packed(rows: Iterable[Mapping[str, Any]]) -> bytes:
    # Escaped to ASCII, a lone surrogate is text too.
    text = "".join(json.dumps(row) + "\n" for row in rows)
    return gzip.compress(text.encode("ascii"), compresslevel=3, mtime=0)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    try:
        with gzip.open(path, "rt", encoding="ascii") as stream:
            for line in stream:
                yield json.loads(line)
    except (OSError, EOFError, ValueError) as error:
        raise ResultError(f"{path} is broken ({error}); run the evaluation again") from error
