"""Rows of the files beside a log of another system: gold, judgements, negatives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AliasChoices, Field

from repoeval_bench.core import json_reader
from repoeval_bench.core.errors import ResultError, UsageError, all_mistakes
from repoeval_bench.core.validation import Plain  # noqa: TC001 - pydantic reads it
from repoeval_bench.runs.log import Name, PlacedRecord
from repoeval_bench.runs.records import Record

RANKINGS = ("topk", "raw_topk")
"""Fields of a row that rank chunks."""


class LogError(ResultError, UsageError):
    """A log, or a file beside it, is broken, or the two contradict each other (exit code 2)."""

    exit_code = 2


def _named(*names: str) -> Any:
    return Field(validation_alias=AliasChoices(*names))


class Gold(PlacedRecord):
    """One judgement: a chunk id (gain 0: judged and not relevant), a file, or lines of a file.

    What a row says of its query (`repository`, `conversation`) holds for all rows of that query.
    BEIR's names of the fields are read too.
    """

    query_id: Annotated[Name, _named("query_id", "query-id")]
    chunk_id: Annotated[str | None, _named("chunk_id", "corpus-id")] = None
    file: str | None = None
    gain: Annotated[float, Field(ge=0), _named("gain", "score")] = 1.0
    repository: str | None = None
    conversation: str | None = None
    extra: Plain | None = None


_Grade = Annotated[int, Field(ge=0, le=2)]


class Judgement(PlacedRecord):
    """One chunk of a pool: relevant (2), partly (1), not (0), or not judged yet (null); the rest is for the judge."""

    query_id: Name
    chunk_id: Name
    grade: _Grade | None
    file: str | None = None
    query: str | None = None
    text: str | None = None
    note: str | None = None


class Calibrated(Record):
    """One chunk that a trusted person graded (`gold`) and the judge too; the ids only name the chunk."""

    gold: _Grade
    judge: _Grade
    query_id: str | None = None
    chunk_id: str | None = None


class Negative(Record):
    """A chunk that looks relevant to a query and is not."""

    query_id: Name
    chunk_id: Name


_Model = TypeVar("_Model", bound=Record)


def read_rows(path: Path, model: type[_Model]) -> Iterator[tuple[int, _Model]]:
    """Yield (line number, row) of a JSONL file; a row that breaks the contract is a LogError with file:line."""
    return log_faults(path, json_reader.read_rows(path, model))


def log_faults(path: Path, rows: Iterator[tuple[int, _Model]]) -> Iterator[tuple[int, _Model]]:
    """Yield the rows of a file; a fault in them becomes a LogError."""
    try:
        yield from rows
    except json_reader.JsonFaultError as fault:
        where, faults = fault.where(path), fault.faults
        raise LogError(f"{where}: {faults[0]}" if len(faults) == 1 else all_mistakes(faults, where)) from fault
    except json_reader.UnreadableError as fault:
        raise LogError(f"{path} cannot be read ({fault}); give a JSONL file in UTF-8") from fault
