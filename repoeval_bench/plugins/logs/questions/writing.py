"""Questions of another benchmark as files that this tool reads: gold for `logs import`, questions for `--queries`.

Gold of lines and gold of whole files are two files. Gold of whole files does not depend on chunking: every chunk of the
file is relevant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repoeval_bench.core.errors import ResultError
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.plugins.logs.records import read_rows
from repoeval_bench.runs.records import Record
from repoeval_bench.runs.store import jsonl

if TYPE_CHECKING:
    from repoeval_bench.runs.log import LogRow

GOLD, FILE_GOLD, QUESTIONS, LOG = "gold.jsonl", "gold-files.jsonl", "questions.jsonl", "log.jsonl"


class ForeignRecord(Record, extra="ignore"):
    """A record of another benchmark's format, of which only some fields are read."""


@dataclass(frozen=True, slots=True)
class Target:
    """An answer: lines of a file of the repository, or the whole file if `lines` is None."""

    path: str
    lines: LineSpan | None
    gain: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignQuestion:
    """A question with its answers. `query` is "" if the format has the text in another file."""

    query_id: str
    query: str
    repository: str
    targets: tuple[Target, ...]
    category: str | None = None

    @property
    def has_lines(self) -> bool:
        """Return whether every answer is lines of a file."""
        return all(target.lines is not None for target in self.targets)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionCounts:
    """Counts of what was written: questions with line gold, with whole files, without an answer, without a text."""

    lines: int
    files: int
    unanswered: int
    without_text: int


def line_span(where: str, first: int, last: int) -> LineSpan:
    """Convert lines that count from 1 and include the last one; a ResultError if they are no range."""
    if not 1 <= first <= last:
        raise ResultError(f"{where}: lines {first} to {last} are not a range; lines count from 1, the last is included")
    return LineSpan(first - 1, last)


def relative(path: str) -> str:
    """Return a path in its repository, without the folder of a container (`/testbed`, `/workspace/NAME`)."""
    return re.sub(r"^(?:/testbed/|/workspace/[^/]+/|/|(?:\./)+)", "", path.replace("\\", "/"))


def write_questions(questions: Iterable[ForeignQuestion], folder: Path) -> QuestionCounts:
    """Write the files that get a row into a folder; a ResultError if an id appears twice, or nothing has an answer.

    A question with a whole file among its answers goes to the gold of files, with all its answers.
    """
    answered: dict[str, ForeignQuestion] = {}
    unanswered = 0
    for question in questions:
        if not question.targets:
            unanswered += 1
        elif answered.setdefault(question.query_id, question) is not question:
            raise ResultError(f"question {question.query_id!r} appears twice; keep one")
    if not answered:
        raise ResultError("no question has an answer, so there is nothing to write; name another file")
    of_lines = [question for question in answered.values() if question.has_lines]
    of_files = [question for question in answered.values() if not question.has_lines]
    texts = [question for question in of_lines if question.query.strip()]
    _write(folder / GOLD, (row for question in of_lines for row in _gold(question)))
    _write(folder / FILE_GOLD, (row for question in of_files for row in _gold(question)))
    _write(folder / QUESTIONS, map(_question, texts))
    return QuestionCounts(
        lines=len(of_lines), files=len(of_files), unanswered=unanswered, without_text=len(of_lines) - len(texts)
    )


def write_log(rows: Iterable[LogRow], folder: Path) -> int:
    """Write the ranking of another system as a log; return the number of its queries."""
    return _write(folder / LOG, (row.as_json() for row in rows))


def read_foreign(path: Path, model: type[Any]) -> Iterator[tuple[str, Any]]:
    """Return (`path:line`, record) of a JSONL file; a ResultError names what does not fit the model."""
    return ((f"{path}:{number}", row) for number, row in read_rows(path, model))


def _gold(question: ForeignQuestion) -> Iterator[dict[str, Any]]:
    """Yield the gold of a question, each file and each range once, with its highest gain."""
    gains: dict[tuple[str, LineSpan | None], float] = {}
    for target in question.targets:
        key = (f"{question.repository}/{target.path}", target.lines if question.has_lines else None)
        gains[key] = max(target.gain, gains.get(key, 0.0))
    for (file, lines), gain in gains.items():
        yield {
            "query_id": question.query_id,
            "file": file,
            **({"start_line": lines.start, "end_line": lines.end} if lines else {}),
            "gain": gain,
            "repository": question.repository,
            **({"extra": {"category": question.category}} if question.category else {}),
        }


def _question(question: ForeignQuestion) -> dict[str, Any]:
    """Return a row for `--queries`, whose places are the answers of the highest gain."""
    best = max(target.gain for target in question.targets)
    places = [
        {"file": f"{question.repository}/{target.path}", "start_line": lines.start + 1, "end_line": lines.end}
        for target in question.targets
        if target.gain == best and (lines := target.lines)
    ]
    return {"id": re.sub(r"\s+", "-", question.query_id), "query": question.query, "places": places}


def _write(path: Path, rows: Iterable[dict[str, Any]]) -> int:
    """Write rows and return their number; without rows, remove the file."""
    written = list(rows)
    if not written:
        path.unlink(missing_ok=True)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(jsonl(written), encoding="utf-8")
    return len(written)
