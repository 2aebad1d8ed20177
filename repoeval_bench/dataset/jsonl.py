"""JSON Lines files, read against a schema: every bad row is reported with its line and field, all at once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ValidationError

from repoeval_bench.core.errors import DatasetError
from repoeval_bench.core.validation import expectation

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Row = TypeVar("Row", bound=BaseModel)


def read_rows(raw: bytes, name: str, schema: type[Row]) -> list[Row]:
    """The rows of a file's bytes in order; lines end in LF or CRLF, blank lines are skipped.

    A DatasetError lists every bad row as `name:line: field: problem`, and reports a file without a row.
    """
    rows: list[Row] = []
    problems: list[str] = []
    bad_rows = 0
    # Split at LF alone: U+2028 and its like may be part of a JSON string.
    for number, line in enumerate(raw.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            rows.append(schema.model_validate_json(line.decode("utf-8")))
        except UnicodeDecodeError as error:
            bad_rows += 1
            problems.append(f"{name}:{number}: row: UTF-8 was expected, byte {error.start} is not")
        except ValidationError as error:
            bad_rows += 1
            problems.extend(f"{name}:{number}: {_explain(detail)}" for detail in error.errors())
    if problems:
        noun = "row" if bad_rows == 1 else "rows"
        raise DatasetError("\n  ".join([f"{name} has {bad_rows} bad {noun}:", *problems]))
    if not rows:
        raise DatasetError(f"{name} has no tasks; delete it and fetch it again with `repoeval-bench data fetch`")
    return rows


def _explain(detail: ErrorDetails) -> str:
    """One problem of one row: the field, what was expected, and what is there instead."""
    field = ".".join(map(str, detail["loc"])) or "row"
    message = expectation(dict(detail))
    if isinstance(detail["input"], dict) or detail["type"] == "json_invalid":
        return f"{field}: {message}"
    found = json.dumps(detail["input"], default=str, ensure_ascii=False)
    return f"{field}: {message}, got {found if len(found) <= 60 else found[:57] + '...'}"
