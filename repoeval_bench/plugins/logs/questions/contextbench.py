"""ContextBench: the lines that a person needed to resolve an issue, as JSONL, or in the Parquet of the data set.

A row has `instance_id` (or `inst_id`), `problem_statement`, and its gold as a list of `file`, `start_line` and
`end_line`, from 1 and with the last line: `gold_context` as JSON text, `gold_ctx`, or `init_ctx` and `add_ctx`. Its
`source`, the benchmark that the issue is from, is its category. Read from `contextbench/parsers/gold.py` of
EuniAI/ContextBench. Each issue is asked of its own commit, so its repository is named after the issue.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import RootModel

from repoeval_bench.core import json_reader
from repoeval_bench.core.errors import ResultError
from repoeval_bench.core.extras import require
from repoeval_bench.plugins.logs.questions.writing import ForeignQuestion, ForeignRecord, read_foreign


class _Span(ForeignRecord):
    file: str
    start_line: int
    end_line: int


class _Spans(RootModel[list[_Span]]):
    """The gold of an issue, as text."""


class _Instance(ForeignRecord):
    instance_id: str | None = None
    inst_id: str | None = None
    problem_statement: str = ""
    source: str | None = None
    gold_context: str = "[]"
    gold_ctx: tuple[_Span, ...] = ()
    init_ctx: tuple[_Span, ...] = ()
    add_ctx: tuple[_Span, ...] = ()


def read_contextbench(path: Path) -> Iterator[ForeignQuestion]:
    """Read the issues of a file, each with the lines of its gold; a ResultError names a row of another form."""
    for where, row in _parquet(path) if path.suffix == ".parquet" else read_foreign(path, _Instance):
        if (name := row.instance_id or row.inst_id) is None:
            raise ResultError(f"{where}: the row has neither instance_id nor inst_id; give rows of ContextBench")
        try:
            stated = json_reader.parse(row.gold_context, _Spans).root
        except json_reader.JsonFaultError as fault:
            raise ResultError(f"{where}: gold_context: {fault}; give rows of ContextBench") from fault
        question = ForeignQuestion(where, name, row.problem_statement, repository=name, category=row.source)
        for span in (*stated, *row.gold_ctx, *row.init_ctx, *row.add_ctx):
            question.add(span.file, span.start_line, span.end_line)
        yield question


def _parquet(path: Path) -> Iterator[tuple[str, _Instance]]:
    """Yield (`path: row N`, row) of a Parquet file; a ResultError if it lacks a column or is damaged."""
    require(path.name, "pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = ["instance_id", "problem_statement", "gold_context", "source"]
    try:
        with json_reader.opened(path) as stream:
            rows: list[dict[str, Any]] = pq.read_table(stream, columns=columns).to_pylist()
    except (pa.ArrowException, json_reader.UnreadableError, ValueError) as error:
        why = str(error).partition("\n")[0]
        raise ResultError(
            f"{path} is no table with {', '.join(columns)} ({why}); give ContextBench's Parquet"
        ) from error
    for number, row in enumerate(rows, start=1):
        where = f"{path}: row {number}"
        stated = json.dumps({name: value for name, value in row.items() if value is not None}, default=str)
        try:
            yield where, json_reader.parse(stated, _Instance)
        except json_reader.JsonFaultError as fault:
            raise ResultError(f"{where}: {fault}; give ContextBench's Parquet") from fault
