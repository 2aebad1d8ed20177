"""A user's facts about queries: a CSV or JSONL file of query id -> values."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repoeval_bench.core import json_reader
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.numbers import EXACT
from repoeval_bench.core.run import Fact

if TYPE_CHECKING:
    from repoeval_bench.runs.query_scores import QueryScores

_WORDS: dict[str, Fact] = {"": None, "true": True, "yes": True, "false": False, "no": False}


def with_facts(scores: QueryScores, path: Path | None) -> tuple[QueryScores, tuple[str, ...]]:
    """Return the queries with the facts of a file, and the names of these facts; UsageError if a name is taken."""
    if path is None:
        return scores, ()
    facts = read_facts(path, scores.query_ids)
    if taken := sorted(set(facts) & {*scores.facts, "repo", scores.clustered_by}):
        raise UsageError(f"{path}: {', '.join(taken)} is a fact of the run already; give it another name")
    return replace(scores, facts={**scores.facts, **facts}), tuple(facts)


def read_facts(path: Path, query_ids: Sequence[str]) -> dict[str, list[Fact]]:
    """Fact -> one value for each query of `query_ids`; None for a query that is not in the file.

    A CSV has a header with `query_id`, a JSONL file an object with it in each line. In a CSV, numbers and
    true/false/yes/no are read as such. A UsageError names file:line of a broken row, a number that is not finite, or a
    query that appears twice. A column that is named twice is a UsageError too, and so is a file with none of the
    queries.
    """
    indexes = {query_id: i for i, query_id in enumerate(query_ids)}
    columns: dict[str, list[Fact]] = {}
    seen: set[str] = set()
    for number, row in _rows(path):
        query_id = row.pop("query_id", None)
        if not isinstance(query_id, str) or not query_id:
            raise UsageError(f"{path}:{number}: no query_id; every row names its query")
        if query_id in seen:
            raise UsageError(f"{path}:{number}: query {query_id!r} appears twice; keep one row of it")
        seen.add(query_id)
        for name, value in row.items():
            if not isinstance(value, str | int | float | bool | None):
                raise UsageError(f"{path}:{number}: {name} is {value!r}; give a word, a number, true, false or nothing")
            if isinstance(value, float) and not math.isfinite(value):
                raise UsageError(f"{path}:{number}: {name} is {value}, not a finite number; leave it empty if unknown")
            if isinstance(value, int) and abs(value) > EXACT:
                raise UsageError(f"{path}:{number}: {name} is {value}, above 2^53; write it as a text")
            column = columns.setdefault(name, [None] * len(query_ids))
            if query_id in indexes:
                column[indexes[query_id]] = value
    if not seen & set(indexes):
        raise UsageError(f"{path} names none of the run's queries, such as {query_ids[0]!r}; check its query_id")
    return columns


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    read = _csv_rows if path.suffix.lower() == ".csv" else _json_rows
    with json_reader.faults_as(UsageError, path, "give a CSV or JSONL file in UTF-8"):
        yield from read(path)


def _csv_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each record that is not empty, with the line it ends in."""
    text = json_reader.read_text(path)
    reader = csv.DictReader(io.StringIO(text, newline=""), restkey="more", strict=True)
    try:
        names = [*(reader.fieldnames or ())]
        if "query_id" not in names or len(set(names)) < len(names):
            raise UsageError(f"{path}:1: the header is {', '.join(names) or 'empty'}; name query_id, and no fact twice")
        for row in reader:
            if ("more" in row and "more" not in names) or None in row.values():
                raise UsageError(f"{path}:{reader.line_num}: not as many fields as the header has; give as many")
            yield reader.line_num, {name: _value(text) if name != "query_id" else text for name, text in row.items()}
    except csv.Error as error:
        raise UsageError(f"{path}:{reader.reader.line_num}: the row is not CSV ({error})") from error


def _json_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with json_reader.opened(path) as stream:
        for number, line in json_reader.lines(stream):
            try:
                row = json_reader.parse_loose(line)
            except json_reader.JsonFaultError as fault:
                raise UsageError(f"{path}:{number}: {fault}; give one object a line") from fault
            if not isinstance(row, dict):
                raise UsageError(f'{path}:{number}: not an object; write {{"query_id": …, name: value}}')
            yield number, row


def _value(text: str) -> Fact:
    if text.strip().lower() in _WORDS:
        return _WORDS[text.strip().lower()]
    try:
        return float(text)
    except ValueError:
        return text
