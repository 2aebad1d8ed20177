"""Files of a run from which a query can be shown: sources, chunk boundaries, gold, and the part that the model read.

sources.jsonl.gz   every file that was chunked, with its text
chunks.jsonl.gz    every chunk that the chunker made, by file, as spans
queries.jsonl.gz   for each query, the characters that the model read and the gold places; its text is in the log

An imported run does not have them.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, Field

from repoeval_bench.core.benchmark import Benchmark, Task
from repoeval_bench.core.errors import ResultError
from repoeval_bench.core.files import packed
from repoeval_bench.core.json_reader import faults_as, read_rows
from repoeval_bench.core.source import Chunk, SourceFile, blanked, chunk_id_at, chunk_id_of_task, count_nws
from repoeval_bench.core.spans import CharSpan, Gold, LineSpan, Place
from repoeval_bench.core.validation import Count, Line
from repoeval_bench.dataset.reading.sampling import some_of, tokens_per_nws
from repoeval_bench.protocols.uses import used_of
from repoeval_bench.retrieval.corpus import Corpus
from repoeval_bench.runs.records import Record

SOURCES = "sources.jsonl.gz"
CHUNKS = "chunks.jsonl.gz"
QUERIES = "queries.jsonl.gz"


def _in_order(span: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the numbers; a ValueError if one of the ranges among them ends before it starts."""
    numbers = [number for number in span if isinstance(number, int)]
    if numbers[0] > numbers[1] or (len(numbers) > 3 and numbers[2] > numbers[3]):
        raise ValueError(f"{list(span)} is not a range: it ends before it starts")
    return span


_Ends = Annotated[tuple[Line, Line], AfterValidator(_in_order)]
_Chunk = Annotated[tuple[Line, Line, Line, Line, Count], AfterValidator(_in_order)]
_Gold = Annotated[tuple[str, Line, Line], AfterValidator(_in_order)]


class SourceRow(Record):
    """A row of sources.jsonl.gz."""

    repo: str
    path: str
    text: str


class ChunksRow(Record):
    """A row of chunks.jsonl.gz: the chunks of a file, or those that one query has instead.

    A span is [characters from, to, lines from, to, non-whitespace characters].
    """

    file: str
    query_id: str | None = None
    spans: list[_Chunk]


class DefinitionRow(Record):
    """A definition that a query needs, and the tier by which that is known.

    `gold` is [file, lines from, to] of each of its places, which are in one file.
    """

    name: str
    kind: str
    tier: str
    gold: list[_Gold] = Field(min_length=1)

    @property
    def places(self) -> Gold:
        """Return its gold as places."""
        return tuple(Place(file, LineSpan(start, end)) for file, start, end in self.gold)


class CommitRow(Record):
    """The commit that asks a query of protocol `commits`: its id, its date and its whole subject."""

    commit: str
    date: str
    subject: str


class QueryGoldRow(Record):
    """A row of queries.jsonl.gz: a query's file (`repo/path`), its gold, and the lines to write (`body`).

    `read` are the characters of its text that the model read. `gold` is [file, lines from, to] of each place,
    `definitions` are those in it, if the protocol asks for definitions; `commit` asks it.
    """

    query_id: str
    file: str
    read: _Ends
    gold: list[_Gold]
    body: _Ends
    definitions: tuple[DefinitionRow, ...] = ()
    commit: CommitRow | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredChunk:
    """A chunk's id and place; `nws` counts its non-whitespace characters."""

    chunk_id: str
    file: str
    chars: CharSpan
    lines: LineSpan
    nws: int


class Inspection:
    """Sources and chunks of a run, by `repo/path`. A file is read when it is needed; ResultError if it is broken."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def sources(self) -> dict[str, SourceFile]:
        """The files that were chunked."""
        return read_sources(self._folder / SOURCES)

    @property
    def chunks(self) -> dict[str, tuple[StoredChunk, ...]]:
        """The chunks of each file."""
        return self._cut[0]

    @property
    def own(self) -> dict[str, tuple[StoredChunk, ...]]:
        """The chunks that a query saw instead of its file's, by query_id."""
        return self._cut[1]

    @cached_property
    def queries(self) -> dict[str, QueryGoldRow]:
        """The file and the gold of each query, by query_id."""
        return {row.query_id: row for row in _rows(self._folder / QUERIES, QueryGoldRow)}

    @cached_property
    def _cut(self) -> tuple[dict[str, tuple[StoredChunk, ...]], dict[str, tuple[StoredChunk, ...]]]:
        chunks: dict[str, tuple[StoredChunk, ...]] = {}
        own: dict[str, tuple[StoredChunk, ...]] = {}
        for row in _rows(self._folder / CHUNKS, ChunksRow):
            if row.query_id is None:
                chunks[row.file] = _chunks(row)
            else:
                own[row.query_id] = _chunks(row)
        return chunks, own


def pack_sources(benchmark: Benchmark) -> bytes:
    """Return the content of sources.jsonl.gz, which no chunker changes."""
    return _packed(
        SourceRow(repo=file.repo, path=file.path, text=file.text)
        for files in benchmark.files.values()
        for file in files
    )


def stored_corpus(inspection: Inspection, benchmark: Benchmark) -> Corpus:
    """Return the chunks that a run over these files made, without their headers."""
    body = {task.task_id: task.body for task in benchmark.tasks}

    def cut(file: SourceFile, stored: Iterable[StoredChunk]) -> list[Chunk]:
        return [replace(Chunk.cut(file, one.chars), chunk_id=one.chunk_id) for one in stored]

    chunks = {
        repo: tuple(chunk for file in files for chunk in cut(file, inspection.chunks.get(file.name, ())))
        for repo, files in benchmark.files.items()
    }
    own = {
        query_id: tuple(cut(blanked(benchmark.by_name[stored[0].file], body[query_id]), stored))
        for query_id, stored in inspection.own.items()
    }
    return Corpus(chunks=chunks, n_files=len(benchmark.by_name), skipped=(), uncovered_lines=0, own=own)


def inspection_files(
    sources: bytes, benchmark: Benchmark, corpus: Corpus, gold: Mapping[str, Gold], read: Mapping[str, CharSpan]
) -> dict[str, bytes]:
    """Return the three files of a run, name -> content, `sources` as `pack_sources` made them.

    `gold` is query_id -> its places, `read` query_id -> the characters that the model read of it.
    """
    return {
        SOURCES: sources,
        CHUNKS: _packed(_chunk_rows(corpus)),
        QUERIES: _packed(
            QueryGoldRow(
                query_id=task.task_id,
                file=task.file,
                read=_ends(read[task.task_id]),
                gold=_gold_rows(gold[task.task_id]),
                body=_ends(task.body),
                **_own_fields(task, of_definitions=benchmark.of_definitions),
            )
            for task in benchmark.tasks
        ),
    }


def read_sources(path: Path) -> dict[str, SourceFile]:
    """`repo/path` -> file, from a run's sources.jsonl.gz; ResultError if it is broken."""
    files = (SourceFile(row.repo, row.path, row.text) for row in _rows(path, SourceRow))
    return {file.name: file for file in files}


def stored_tokens_per_nws(folder: Path) -> float | None:
    """Return the tokens per non-whitespace character of a run's stored sources; None if it stored none."""
    path = folder / SOURCES
    return tokens_per_nws(some_of([*read_sources(path).values()])) if path.is_file() else None


def read_inspection(folder: Path) -> Inspection | None:
    """The files of `inspection_files`; None if the folder lacks one of them."""
    return Inspection(folder) if all((folder / name).is_file() for name in (SOURCES, CHUNKS, QUERIES)) else None


def _chunk_rows(corpus: Corpus) -> Iterator[ChunksRow]:
    nws = cache(count_nws)  # most of a query's own chunks have texts that its file's chunks have too

    def spans(chunks: Iterable[Chunk]) -> list[tuple[int, int, int, int, int]]:
        return sorted((*_ends(chunk.chars), *_ends(chunk.lines), nws(chunk.text)) for chunk in chunks)

    # Spans are valid ranges, so the rows need no check. A chunk that was merged away is a boundary all the same.
    for file, chunks_of_file in corpus.by_file().items():
        yield ChunksRow.model_construct(file=file, spans=spans(chunks_of_file))
    for query_id, seen in corpus.own.items():
        if seen:
            yield ChunksRow.model_construct(query_id=query_id, file=seen[0].file, spans=spans(seen))


def _chunks(row: ChunksRow) -> tuple[StoredChunk, ...]:
    chunks = []
    for first, last, start, end, nws in row.spans:
        chunk_id = chunk_id_at(row.file, first, last)
        if row.query_id is not None:
            chunk_id = chunk_id_of_task(chunk_id, row.query_id)
        chars, lines = CharSpan(first, last), LineSpan(start, end)
        chunks.append(StoredChunk(chunk_id=chunk_id, file=row.file, chars=chars, lines=lines, nws=nws))
    return tuple(chunks)


def _own_fields(task: Task, *, of_definitions: bool) -> dict[str, Any]:
    """The fields that only queries of some protocols have."""
    fields: dict[str, Any] = {}
    if of_definitions:
        fields["definitions"] = tuple(
            DefinitionRow(name=used.definition.name, kind=used.definition.kind, tier=used.tier, gold=_gold_rows(gold))
            for used, gold in used_of(task)
        )
    if change := task.change:
        fields["commit"] = CommitRow(commit=change.commit, date=change.date, subject=change.subject)
    return fields


def _gold_rows(gold: Gold) -> list[tuple[str, int, int]]:
    return [(location.file, *_ends(location.lines)) for location in gold]


def _ends(span: CharSpan | LineSpan) -> tuple[int, int]:
    return span.start, span.end


def _packed(rows: Iterable[Record]) -> bytes:
    # Escaped to ASCII, so that a lone surrogate can be encoded. The compressed bytes contain no time, so that a second
    # identical run writes the same files.
    return b"".join(packed("".join(json.dumps(row.model_dump(exclude_unset=True)) + "\n" for row in rows)))


_Row = TypeVar("_Row", bound=Record)


def _rows(path: Path, model: type[_Row]) -> Iterator[_Row]:
    with faults_as(ResultError, path, "run the evaluation again"):
        for _, row in read_rows(path, model):
            yield row
