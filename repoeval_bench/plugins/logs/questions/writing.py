"""Questions of another benchmark as files that this tool reads: gold for `logs import`, questions for `--queries`.

Answers that are lines and answers that are whole files are in files of their own. Gold of whole files does not depend
on chunking: every chunk of the file is relevant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from repoeval_bench.core.errors import ResultError
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.validation import LINES
from repoeval_bench.plugins.logs.records import read_rows
from repoeval_bench.runs.records import Record
from repoeval_bench.runs.store import jsonl

GOLD, QUESTIONS = "gold.jsonl", "questions.jsonl"
"""Answers that are lines, and their questions."""
FILE_GOLD, FILE_QUESTIONS = "gold-files.jsonl", "questions-files.jsonl"
"""The same of answers that are whole files."""


class ForeignRecord(Record, extra="ignore"):
    """A record of another benchmark's format, of which only some fields are read."""


class ForeignQuestion:
    """A question; `answers` is (file, its lines, or None for the whole file) -> the highest gain.

    `where` names its row in errors. `query` is "" if the format has the text in another file.
    """

    def __init__(self, where: str, query_id: str, query: str, repository: str, category: str | None = None) -> None:
        self.query_id, self.query, self.category = query_id, query, category
        self.answers: dict[tuple[str, LineSpan | None], float] = {}
        self._where, self._repository = where, repository

    def add(self, path: str, first: int | None = None, last: int | None = None, gain: float = 1.0) -> None:
        """Add an answer: lines of a file of the repository, the last one included, or without them the whole file."""
        lines = None if first is None or last is None else line_span(self._where, first, last)
        answer = f"{self._repository}/{relative(path)}", lines
        self.answers[answer] = max(gain, self.answers.get(answer, 0.0))

    @property
    def has_lines(self) -> bool:
        """Return whether every answer is lines of a file."""
        return all(lines is not None for _, lines in self.answers)

    def gold(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of its gold: of lines, or of files if one of the answers is a whole file."""
        gains: dict[tuple[str, LineSpan | None], float] = {}
        for (file, lines), gain in self.answers.items():
            key = file, lines if self.has_lines else None
            gains[key] = max(gain, gains.get(key, 0.0))
        for (file, lines), gain in gains.items():
            yield {
                "query_id": self.query_id,
                "file": file,
                **({"start_line": lines.start, "end_line": lines.end} if lines else {}),
                "gain": gain,
                "repository": self._repository,
                **({"extra": {"category": self.category}} if self.category else {}),
            }

    def as_query(self, *, strict: bool) -> dict[str, Any]:
        """Return a row for `--queries`, whose places are the answers of the highest gain."""
        best = max(self.answers.values())
        places = [
            {"file": file, **({"start_line": lines.start + 1, "end_line": lines.end} if lines else {})}
            for (file, lines), gain in self.answers.items()
            if gain == best
        ]
        row = {"id": re.sub(r"\s+", "-", self.query_id), "query": self.query, "places": places}
        return row if strict else row | {"strict": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionCounts:
    """Counts of what was written: file -> questions in it, and those that are in none."""

    written: Mapping[str, int]
    unanswered: int
    without_text: int


def line_span(where: str, first: int, last: int) -> LineSpan:
    """Convert lines that count from 1 and include the last one; a ResultError if they are no range."""
    if not 1 <= first <= last <= LINES:
        raise ResultError(
            f"{where}: lines {first} to {last} are not a range; lines count from 1 to {LINES:,}, the last is included"
        )
    return LineSpan(first - 1, last)


def relative(path: str) -> str:
    """Return a path in its repository, without the folder of a container (`/testbed`, `/workspace/NAME`)."""
    return re.sub(r"^(?:/testbed/|/workspace/[^/]+/|/|(?:\./)+)", "", path.replace("\\", "/"))


def write_questions(questions: Iterable[ForeignQuestion], folder: Path, *, strict: bool = False) -> QuestionCounts:
    """Write the files that get a row into a folder; a ResultError if an id appears twice, or nothing has an answer.

    A question with a whole file among its answers goes to the files of these, with all its answers. Unless `strict`,
    `--queries` counts answers that the source lacks; else it refuses them.
    """
    answered: dict[str, ForeignQuestion] = {}
    unanswered = 0
    for question in questions:
        if not question.answers:
            unanswered += 1
        elif answered.setdefault(question.query_id, question) is not question:
            raise ResultError(f"question {question.query_id!r} appears twice; keep one")
    if not answered:
        raise ResultError("no question has an answer, so there is nothing to write; name another file")
    written: dict[str, int] = {}
    for is_lines, gold, queries in ((True, GOLD, QUESTIONS), (False, FILE_GOLD, FILE_QUESTIONS)):
        kept = [question for question in answered.values() if question.has_lines == is_lines]
        with_text = [question.as_query(strict=strict) for question in kept if question.query.strip()]
        _write(folder / gold, [row for question in kept for row in question.gold()])
        _write(folder / queries, with_text)
        written |= {gold: len(kept), queries: len(with_text)}
    without_text = len(answered) - written[QUESTIONS] - written[FILE_QUESTIONS]
    return QuestionCounts(written=written, unanswered=unanswered, without_text=without_text)


def read_foreign(path: Path, model: type[Any]) -> Iterator[tuple[str, Any]]:
    """Return (`path:line`, record) of a JSONL file; a ResultError names what does not fit the model."""
    return ((f"{path}:{number}", row) for number, row in read_rows(path, model))


def _write(path: Path, rows: list[dict[str, Any]]) -> int:
    """Write rows and return their number; without rows, remove the file."""
    if not rows:
        path.unlink(missing_ok=True)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(jsonl(rows), encoding="utf-8")
    return len(rows)
