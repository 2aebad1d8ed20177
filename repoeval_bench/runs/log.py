"""The run log as a contract: what a row of retrieved.jsonl.gz holds, in a run made here and in a log from elsewhere.

`LogRow` is the one source: `check_row` checks what a run writes (the place of a chunk once), `read_rows` what is read,
and `schema` prints it as JSON Schema (`logs import --schema`; docs/run-log.schema.json is that output).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self, TypeVar

from pydantic import Field, ValidationError, field_validator, model_validator

from repoeval_bench.core import json_reader
from repoeval_bench.core.errors import ResultError, all_mistakes
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.validation import Count, Line, Plain, mistakes
from repoeval_bench.runs.records import IndexCost, Record
from repoeval_bench.runs.trec import LARGEST_GAIN

_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?!\d)")

_Name = Annotated[str, Field(min_length=1)]
_Nws = Annotated[
    int, Field(ge=0, description="Non-whitespace characters that the embedded text has beyond the chunk's; they cost.")
]
_Milliseconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Placed(Record):
    start_line: Line | None = None
    end_line: Line | None = None

    @model_validator(mode="after")
    def _both_ends(self) -> Self:
        if (self.start_line is None) != (self.end_line is None):
            raise ValueError("a range has start_line and end_line (0-based, half-open); give both or none")
        if self.start_line is not None and self.end_line is not None and self.start_line > self.end_line:
            raise ValueError(f"lines {self.start_line} to {self.end_line} are not a range; the end is not included")
        return self

    @property
    def lines(self) -> LineSpan | None:
        """Its lines; None where it names none."""
        if self.start_line is None or self.end_line is None:
            return None
        return LineSpan(self.start_line, self.end_line)


class Retrieved(_Placed):
    """One chunk that was retrieved. Lines are 0-based and half-open; `file` is repository/path."""

    rank: Annotated[Count, Field(ge=1)]
    chunk_id: _Name
    score: Annotated[float, Field(allow_inf_nan=False)]
    file: str | None = None
    header_nws: _Nws | None = None
    doc_version: str | None = Field(default=None, description="Version or ISO 8601 date of the document.")
    source: str | None = Field(default=None, description="Which source (index, collection) the chunk came from.")
    entities: list[str] | None = None


class ChunkerOfLog(Record):
    """How the index was cut."""

    algo: _Name
    parameters: Plain


class Latency(Record):
    """Milliseconds per step."""

    retrieve: _Milliseconds | None = None
    rerank: _Milliseconds | None = None


class LogRow(Record):
    """One query and what one system retrieved for it. What a contract does not name belongs in `extra`."""

    query_id: _Name
    system: _Name
    k_raw: Annotated[Count, Field(ge=1, description="How deep the system was asked to rank.")]
    topk: list[Retrieved]
    raw_topk: list[Retrieved] | None = Field(
        default=None, description="What the retriever ranked, before the reranker."
    )
    original_topk: list[Retrieved] | None = Field(
        default=None, description="What the original query retrieves, before it was rewritten."
    )
    index_version: _Name
    chunker: ChunkerOfLog
    latency_ms: Latency | None = None
    as_of: str | None = Field(default=None, description="ISO 8601: what the query may know of.")
    no_answer: bool | None = Field(default=None, description="Whether the corpus is known to hold no answer.")
    source: str | None = Field(default=None, description="The source the query was routed to; none: it was not routed.")
    expected_source: str | None = Field(default=None, description="The source that holds the answer.")
    query: str | None = None
    rewritten_query: str | None = None
    query_sha256: str | None = None
    query_tokens: Count | None = None
    entities: list[str] | None = None
    conversation: str | None = Field(default=None, description="Queries of one conversation are resampled together.")
    repository: str | None = Field(default=None, description="What the macro mean is over.")
    index: IndexCost | None = None
    extra: Plain | None = None

    @property
    def ranked(self) -> list[Retrieved]:
        """What was retrieved, best first."""
        return sorted(self.topk, key=attrgetter("rank"))

    @field_validator("as_of")
    @classmethod
    def _is_a_time(cls, text: str | None) -> str | None:
        if text is not None and moment(text) is None:
            raise ValueError(f"{text!r} is not an ISO 8601 date or time; write 2024-05-01 or 2024-05-01T12:00:00+00:00")
        return text


RANKINGS = ("topk", "raw_topk", "original_topk")
"""Fields of a row that rank chunks."""


class Gold(_Placed):
    """One judgement: a chunk id (gain 0: judged and not relevant), a file, or lines of a file.

    What a row names of its query (`repository`, `conversation`, a field of `extra`) holds for all of the query's rows.
    """

    query_id: _Name
    chunk_id: str | None = None
    file: str | None = None
    gain: Annotated[float, Field(ge=0, le=LARGEST_GAIN)] = 1.0
    repository: str | None = None
    conversation: str | None = None
    extra: Plain | None = None


class Place(_Placed):
    """A chunk of the corpus and its place."""

    chunk_id: _Name
    file: _Name
    header_nws: _Nws | None = None


_Grade = Annotated[int, Field(ge=0, le=2)]


class Judgement(_Placed):
    """One chunk of a pool: relevant (2), partly (1), not (0), or not judged yet (null); the rest is for the judge."""

    query_id: _Name
    chunk_id: _Name
    grade: _Grade | None
    file: str | None = None
    query: str | None = None
    text: str | None = None
    note: str | None = None


class Calibrated(Record):
    """One chunk that a trusted person graded (`gold`) and the judge too; ids only say which chunk it was."""

    gold: _Grade
    judge: _Grade
    query_id: str | None = None
    chunk_id: str | None = None


class Negative(Record):
    """A chunk that looks relevant to a query and is not."""

    query_id: _Name
    chunk_id: _Name


class Moment(NamedTuple):
    """A point in time, in UTC (what names no zone is taken for UTC); `whole_day` where no time of day is known."""

    at: datetime
    whole_day: bool

    def is_after(self, other: Moment) -> bool:
        """Whether this is later; where either has no time of day, days are compared."""
        if self.whole_day or other.whole_day:
            return self.at.date() > other.at.date()
        return self.at > other.at


def moment(text: str) -> Moment | None:
    """An ISO 8601 date (2024-05-01) or date and time; None for anything else, such as a version number."""
    if not _ISO_DATE.match(text):
        return None
    try:
        if len(text) == len("2024-05-01"):
            return Moment(datetime.combine(date.fromisoformat(text), datetime.min.time(), UTC), whole_day=True)
        at = datetime.fromisoformat(text)
        return Moment(at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC), whole_day=False)
    except (ValueError, OverflowError):  # OverflowError: before the year 1 or after 9999 in UTC
        return None


_Model = TypeVar("_Model", bound=Record)


def read_rows(path: Path, model: type[_Model]) -> Iterator[tuple[int, _Model]]:
    """(line number, row) of a JSONL file; a row that breaks the contract is a ResultError with file:line."""
    try:
        yield from json_reader.read_rows(path, model)
    except json_reader.JsonFaultError as fault:
        raise ResultError(_sentence(fault.where(path), fault.faults)) from fault
    except json_reader.UnreadableError as fault:
        raise ResultError(f"{path} cannot be read ({fault}); give a JSONL file in UTF-8") from fault


def check_row(row: dict[str, Any]) -> dict[str, Any]:
    """The row unchanged; a ResultError names the query and everything that violates the schema."""
    try:
        LogRow.model_validate(row)
    except ValidationError as error:
        where = f"the row of query {row.get('query_id')!r}"
        sentence = _sentence(where, mistakes(error))
        raise ResultError(f"a log row violates the schema, so nothing is stored: {sentence}") from error
    return row


def _sentence(where: str, found: Sequence[str]) -> str:
    """What is wrong with a row; several mistakes one a line."""
    return f"{where}: {found[0]}" if len(found) == 1 else all_mistakes(found, where)


def schema() -> str:
    """The JSON Schema of a row, as text."""
    content = {"$schema": "https://json-schema.org/draft/2020-12/schema", **LogRow.model_json_schema()}
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"
