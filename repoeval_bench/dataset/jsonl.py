"""JSON Lines files, read against a schema: every bad row is reported with its line and field, all at once."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel

from repoeval_bench.core.errors import DatasetError
from repoeval_bench.core.json_reader import JsonFaultError, lines, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

Row = TypeVar("Row", bound=BaseModel)


def read_rows(raw: bytes, name: str, schema: type[Row]) -> list[Row]:
    """The rows of a file's bytes in order; lines end in LF or CRLF, blank lines are skipped.

    A DatasetError lists every bad row as `name:line: field: problem`, and reports a file without a row.
    """
    rows: list[Row] = []
    problems: list[str] = []
    bad_rows = 0
    for number, row in parse_rows(raw, schema):
        if isinstance(row, JsonFaultError):
            bad_rows += 1
            problems += (f"{name}:{number}: {fault}" for fault in row.faults)
        else:
            rows.append(row)
    if problems:
        noun = "row" if bad_rows == 1 else "rows"
        raise DatasetError("\n  ".join([f"{name} has {bad_rows} bad {noun}:", *problems]))
    if not rows:
        raise DatasetError(f"{name} has no tasks; delete it and fetch it again with `repoeval-bench data fetch`")
    return rows


def parse_rows(raw: bytes, schema: type[Row]) -> Iterator[tuple[int, Row | JsonFaultError]]:
    """(line, row, or what is wrong with it) of every line that is not blank."""
    try:
        for number, line in lines(io.BytesIO(raw)):
            try:
                yield number, parse(line, schema, "row")
            except JsonFaultError as fault:
                yield number, fault
    except JsonFaultError as fault:  # a line of no end: what follows is not read
        yield fault.line, fault
