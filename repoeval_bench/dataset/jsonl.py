"""Upstream's task files: the only place that knows the names of their fields.

A row is JSON: `prompt` and `metadata` with `task_id`, `ground_truth`, `fpath_tuple`, `context_start_lineno`
and `lineno` (or `line_no`), both 0-based, and at function level `function_name`. What upstream leaves loose
is made firm here: ids that name nothing are numbered, a tuple written as a string is read, `--` becomes `_`.
"""

from __future__ import annotations

import ast
import json
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from repoeval_bench.core.benchmark import Task
from repoeval_bench.core.errors import DatasetError
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.validation import expectation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from pydantic_core import ErrorDetails


def _path_parts(value: Any) -> Any:
    """A path as its parts, from a list or from the string of a tuple; anything else stays for the schema."""
    if isinstance(value, str):
        try:
            value = ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
            raise ValueError("a list of path parts, or the string of a tuple of them, was expected") from error
    if not isinstance(value, (list, tuple)) or not all(isinstance(part, str) for part in value):
        raise ValueError("a list of path parts, or the string of a tuple of them, was expected")
    if len(value) < 2:
        raise ValueError("the repository and at least one path part were expected")
    parts = [step for part in value for step in part.replace("\\", "/").split("/")]
    if any(step in {"", ".", ".."} for step in parts):
        raise ValueError("path parts without '', '.' and '..' were expected")
    return parts


class _Metadata(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)

    task_id: str
    ground_truth: Annotated[str, Field(min_length=1)]
    fpath_tuple: Annotated[list[str], BeforeValidator(_path_parts)]
    context_start_lineno: Annotated[int, Field(ge=0)]
    lineno: Annotated[int, Field(ge=0, validation_alias=AliasChoices("lineno", "line_no"))]
    function_name: str | None = None

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.context_start_lineno > self.lineno:
            raise ValueError(f"context_start_lineno of at most lineno ({self.lineno}) was expected")
        return self


class _Row(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)

    prompt: str
    metadata: _Metadata

    @property
    def repo(self) -> str:
        return self.metadata.fpath_tuple[0].replace("--", "_")

    @property
    def number(self) -> int | None:
        """The number at the end of upstream's id; None where it is the word `idx`."""
        tail = self.metadata.task_id.rpartition("/")[2]
        return int(tail) if tail.isascii() and tail.isdigit() else None

    def task(self, number: int, level: str) -> Task:
        data = self.metadata
        return Task(
            task_id=f"{self.repo}/{number}",
            repo=self.repo,
            path="/".join(data.fpath_tuple[1:]),
            prompt=self.prompt,
            ground_truth=data.ground_truth,
            body=LineSpan(data.lineno, data.lineno + len(data.ground_truth.splitlines())),
            context_start=data.context_start_lineno,
            level=level,
            function_name=data.function_name,
        )


def read_tasks(path: Path, *, level: str) -> tuple[Task, ...]:
    """All tasks of a file, in its order; a DatasetError lists every bad row as `file:line: field: problem`.

    Lines end in LF or CRLF. `task_id` becomes `owner_repo/number`: upstream's own number where every row has
    one and no two rows of a repository share it, else the position among the repository's rows.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise DatasetError(f"cannot read the task file {path}: {error.strerror}") from error
    return parse_tasks(raw, name=path.name, level=level)


def parse_tasks(raw: bytes, *, name: str, level: str) -> tuple[Task, ...]:
    """The same from a file's bytes; `name` stands in the error text."""
    rows: list[_Row] = []
    problems: list[str] = []
    bad_rows = 0
    # Split at LF alone: U+2028 and its like may stand inside a JSON string.
    for number, line in enumerate(raw.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            rows.append(_Row.model_validate_json(line.decode("utf-8")))
        except UnicodeDecodeError as error:
            bad_rows += 1
            problems.append(f"{name}:{number}: row: UTF-8 was expected, byte {error.start} is not")
        except ValidationError as error:
            bad_rows += 1
            problems.extend(f"{name}:{number}: {_explain(detail)}" for detail in error.errors())
    if problems:
        rows_word = "row" if bad_rows == 1 else "rows"
        raise DatasetError("\n  ".join([f"{name} has {bad_rows} bad {rows_word}:", *problems]))
    if not rows:
        raise DatasetError(f"{name} holds no task; delete it and fetch it again with `repoeval-bench data fetch`")
    return tuple(row.task(number, level) for row, number in zip(rows, _numbers(rows), strict=True))


def _numbers(rows: Sequence[_Row]) -> list[int]:
    own = [(row.repo, row.number) for row in rows]
    if len(set(own)) == len(own) and all(number is not None for _, number in own):
        return [number for _, number in own if number is not None]
    return list(_positions(row.repo for row in rows))


def _positions(repos: Iterable[str]) -> Iterator[int]:
    seen: Counter[str] = Counter()
    for repo in repos:
        yield seen[repo]
        seen[repo] += 1


def _explain(detail: ErrorDetails) -> str:
    """One problem of one row: the field, what was expected, and what stands there instead."""
    field = ".".join(map(str, detail["loc"])) or "row"
    message = expectation(dict(detail))
    if isinstance(detail["input"], dict) or detail["type"] == "json_invalid":
        return f"{field}: {message}"
    given = json.dumps(detail["input"], default=str, ensure_ascii=False)
    return f"{field}: {message}, got {given if len(given) <= 60 else given[:57] + '...'}"


def dump_tasks(tasks: Iterable[Task]) -> bytes:
    """Tasks as a file of upstream's format, LF ends; `parse_tasks` gives the same tasks back."""
    return b"".join(
        json.dumps(
            {
                "prompt": task.prompt,
                "metadata": {
                    "task_id": task.task_id,
                    "ground_truth": task.ground_truth,
                    "fpath_tuple": [task.repo, *task.path.split("/")],
                    "context_start_lineno": task.context_start,
                    "lineno": task.body.start,
                    "function_name": task.function_name,
                },
            }
        ).encode()
        + b"\n"
        for task in tasks
    )
