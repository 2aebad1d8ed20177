"""Questions of another benchmark as files that this tool reads: gold for `logs import`, questions for `--queries`.

One file has the questions. Gold of lines and gold of whole files are in files of their own, as `logs import` takes one
kind. Gold of whole files does not depend on chunking: every chunk of the file is relevant.
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

QUESTIONS = "questions.jsonl"
GOLD, FILE_GOLD = "gold.jsonl", "gold-files.jsonl"
"""Answers that are lines, and those of questions with a whole file among their answers."""


class ForeignRecord(Record, extra="ignore"):
    """A record of another benchmark's format, of which only some fields are read."""


class ForeignQuestion:
    """A question; `answers` is (file, its lines, or None for the whole file) -> the highest gain.

    `where` names its row in errors. `query` is "" if the format has the text in another file. `no_answer`: it is known
    to have no answer.
    """

    def __init__(
        self,
        where: str,
        query_id: str,
        query: str,
        repository: str,
        category: str | None = None,
        *,
        no_answer: bool = False,
    ) -> None:
        self.query_id, self.query, self.category, self.no_answer = query_id, query, category, no_answer
        self.answers: dict[tuple[str, LineSpan | None], float] = {}
        self._where, self._repository = where, repository

    def add(self, path: str, first: int | None = None, last: int | None = None, gain: float = 1.0) -> None:
        """Add an answer: lines of a file of the repository, the last one included, or without them the whole file."""
        lines = None if first is None or last is None else line_span(self._where, first, last)
        answer = relative(path), lines
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
                "file": f"{self._repository}/{file}",
                **({"start_line": lines.start, "end_line": lines.end} if lines else {}),
                "gain": gain,
                "repository": self._repository,
                **({"extra": {"category": self.category}} if self.category else {}),
            }

    def as_query(self, *, strict: bool) -> dict[str, Any]:
        """Return a row for `--queries`; all of its answers are places, whatever their gain."""
        places = [
            {"file": file, **({"start_line": lines.start + 1, "end_line": lines.end} if lines else {})}
            for file, lines in self.answers
        ]
        return {
            "id": re.sub(r"\s+", "-", self.query_id),
            "query": self.query,
            "repository": self._repository,
            **({"no_answer": True} if self.no_answer else {"places": places}),
            **({"facts": {"category": self.category}} if self.category else {}),
            **({} if strict else {"strict": False}),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionCounts:
    """Counts of what was written: file -> questions in it, those known to have no answer, and those in no file."""

    written: Mapping[str, int]
    no_answer: int
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

    Gold of a question with a whole file among its answers goes to the gold of these, with all its answers. Unless
    `strict`, `--queries` counts answers that the source lacks; else it refuses them.
    """
    kept: dict[str, ForeignQuestion] = {}
    unanswered = 0
    for question in questions:
        if not question.answers and not question.no_answer:
            unanswered += 1
        elif kept.setdefault(question.query_id, question) is not question:
            raise ResultError(f"question {question.query_id!r} appears twice; keep one")
    answered = [question for question in kept.values() if question.answers]
    if not kept:
        raise ResultError("no question has an answer, so there is nothing to write; name another file")
    with_text = [question for question in kept.values() if question.query.strip()]
    written = {QUESTIONS: _write(folder / QUESTIONS, [question.as_query(strict=strict) for question in with_text])}
    for name, is_lines in ((GOLD, True), (FILE_GOLD, False)):
        of_kind = [question for question in answered if question.has_lines == is_lines]
        _write(folder / name, [row for question in of_kind for row in question.gold()])
        written[name] = len(of_kind)
    return QuestionCounts(
        written=written,
        no_answer=len(kept) - len(answered),
        unanswered=unanswered,
        without_text=len(kept) - len(with_text),
    )


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
