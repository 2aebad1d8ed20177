"""The format of run logs, of runs made here and of other systems: each row is a query and what was retrieved for it.

`LogRow` defines it. A run made here stores `StoredRow`s, whose rankings are columns: the file names a chunk once, and
then uses its number. `read_log` reads both.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path
from typing import Annotated, NamedTuple, Self

from pydantic import Field, field_validator, model_validator

from repoeval_bench.core.json_reader import JsonFaultError, lines, opened, parse
from repoeval_bench.core.spans import Gold, LineSpan, Place
from repoeval_bench.core.validation import Count, Line, Plain
from repoeval_bench.runs.records import Record

_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?!\d)")

Name = Annotated[str, Field(min_length=1)]
HeaderNws = Annotated[
    int, Field(ge=0, description="Non-whitespace characters that the embedded text has beyond the chunk's; they cost.")
]
_Milliseconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class PlacedRecord(Record):
    """A row that may name lines of a file, at least one."""

    start_line: Line | None = None
    end_line: Line | None = None

    @model_validator(mode="after")
    def _both_ends(self) -> Self:
        if (self.start_line is None) != (self.end_line is None):
            raise ValueError("a range has start_line and end_line (0-based, half-open); give both or none")
        if self.start_line is not None and self.end_line is not None and self.start_line >= self.end_line:
            wrong = "are empty" if self.start_line == self.end_line else "are not a range"
            raise ValueError(
                f"lines {self.start_line} to {self.end_line} {wrong}; lines count from 0, and the end is not included"
            )
        return self

    @property
    def lines(self) -> LineSpan | None:
        """Its lines; None if it names none."""
        if self.start_line is None or self.end_line is None:
            return None
        return LineSpan(self.start_line, self.end_line)


class LoggedChunk(PlacedRecord):
    """A chunk and its place."""

    chunk_id: Name
    file: Name
    header_nws: HeaderNws | None = None


class Retrieved(PlacedRecord):
    """A retrieved chunk. Lines are 0-based and half-open; `file` is repository/path."""

    rank: Annotated[Count, Field(ge=1)]
    chunk_id: Name
    score: Annotated[float, Field(allow_inf_nan=False)]
    file: str | None = None
    header_nws: HeaderNws | None = None
    doc_version: str | None = Field(default=None, description="Version or ISO 8601 date of the document.")
    source: str | None = Field(default=None, description="Which source (index, collection) the chunk came from.")


Hit = tuple[LoggedChunk | Retrieved, float]
"""A retrieved chunk and its score."""


class ChunkerOfLog(Record):
    """Chunker that cut the index."""

    algo: Name
    parameters: Plain


class Latency(Record):
    """Milliseconds of each step."""

    retrieve: _Milliseconds | None = None
    rerank: _Milliseconds | None = None


class LogRow(Record):
    """One query and the chunks that one system retrieved for it. Other data belongs in `extra`."""

    query_id: Name
    system: Name
    k_raw: Annotated[Count, Field(ge=1, description="Number of chunks the system had to rank for a query.")]
    topk: list[Retrieved]
    raw_topk: list[Retrieved] | None = Field(
        default=None, description="What the retriever ranked, before the reranker."
    )
    index_version: Name
    chunker: ChunkerOfLog
    latency_ms: Latency | None = None
    as_of: str | None = Field(default=None, description="ISO 8601: the query may retrieve nothing newer.")
    no_answer: bool | None = Field(default=None, description="Whether the corpus is known to hold no answer.")
    source: str | None = Field(default=None, description="The source the query was routed to; none: it was not routed.")
    expected_source: str | None = Field(default=None, description="The source that holds the answer.")
    query: str | None = None
    query_sha256: str | None = None
    query_tokens: Count | None = None
    conversation: str | None = Field(default=None, description="Queries of one conversation are one cluster.")
    repository: str | None = Field(default=None, description="What the macro mean is over.")
    extra: Plain | None = None

    @property
    def ranked(self) -> list[Retrieved]:
        """Retrieved chunks, best first."""
        return sorted(self.topk, key=attrgetter("rank"))

    @field_validator("as_of")
    @classmethod
    def _is_a_time(cls, text: str | None) -> str | None:
        if text is not None and moment(text) is None:
            raise ValueError(f"{text!r} is not an ISO 8601 date or time; write 2024-05-01 or 2024-05-01T12:00:00+00:00")
        return text


class StoredRow(LogRow):
    """A row as a run stores it, without `topk`.

    Chunks are numbered from 0 through the file; `new_chunks` are those that appear first in this row. `chunks` are the
    numbers of the retrieved ones, best first, and `scores` their scores.
    """

    topk: list[Retrieved] = Field(default_factory=list, max_length=0)
    new_chunks: list[LoggedChunk]
    chunks: list[Count]
    scores: list[Annotated[float, Field(allow_inf_nan=False)]]

    def hits(self, known: list[LoggedChunk]) -> list[Hit]:
        """Return the retrieved chunks, best first; adds this row's new chunks to `known`, of the rows above.

        ValueError if columns differ in length, or a number has no chunk.
        """
        known += self.new_chunks
        if len(self.chunks) != len(self.scores):
            raise ValueError(f"chunks has {len(self.chunks)} numbers, and scores has {len(self.scores)}")
        if max(self.chunks, default=-1) >= len(known):
            raise ValueError(f"chunks has the number {max(self.chunks)}, which no chunk has")
        return [(known[number], score) for number, score in zip(self.chunks, self.scores, strict=True)]


def read_log(path: Path) -> Iterator[tuple[int, LogRow, list[Hit]]]:
    """Yield (line number, row, its hits, best first) of every row of a log; JsonFaultError at the first broken one.

    `in_full` adds the `topk` of a row.
    """
    known: list[LoggedChunk] = []
    with opened(path) as stream:
        for number, line in lines(stream):
            hits: list[Hit]
            try:
                # Only rows that a run stores name new chunks; in a text the quotes would be escaped.
                row = parse(line, StoredRow if b'"new_chunks"' in line else LogRow)
                hits = row.hits(known) if isinstance(row, StoredRow) else [(hit, hit.score) for hit in row.ranked]
            except JsonFaultError as fault:
                raise JsonFaultError(*fault.faults, line=number) from fault
            except ValueError as error:
                raise JsonFaultError(str(error), line=number) from error
            yield number, row, hits


def in_full(row: LogRow, hits: Iterable[Hit]) -> LogRow:
    """Return a row with its `topk`, as in logs of other systems."""
    if not isinstance(row, StoredRow):
        return row
    topk = [
        {"rank": rank, "score": score, **chunk.model_dump(exclude_unset=True)}
        for rank, (chunk, score) in enumerate(hits, start=1)
    ]
    columns = {"new_chunks", "chunks", "scores"}
    return LogRow.model_validate({**row.model_dump(exclude_unset=True, exclude=columns), "topk": topk})


class Moment(NamedTuple):
    """A point in time, in UTC (also without a named zone); `whole_day` if no time of day is known."""

    time: datetime
    whole_day: bool

    def is_after(self, other: Self) -> bool:
        """Return whether this is later; if either has no time of day, days are compared."""
        if self.whole_day or other.whole_day:
            return self.time.date() > other.time.date()
        return self.time > other.time


def moment(text: str) -> Moment | None:
    """Parse an ISO 8601 date (2024-05-01) or date and time; None for anything else, such as a version number."""
    if not _ISO_DATE.match(text):
        return None
    try:
        parsed = datetime.fromisoformat(text)
        in_utc = parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
        return Moment(in_utc, whole_day=len(text) == len("2024-05-01"))
    except (ValueError, OverflowError):  # OverflowError: before the year 1 or after 9999 in UTC
        return None


def first_rank(gold: Gold, ranked: Iterable[Retrieved]) -> int | None:
    """Return the rank of the first result that shares a line with the gold; None if none is known to."""
    files = {location.file for location in gold}
    for hit in ranked:
        if hit.file in files and hit.file is not None and hit.lines is not None:
            location = Place(hit.file, hit.lines)
            if any(map(location.overlap, gold)):
                return hit.rank
    return None
