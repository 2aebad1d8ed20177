"""Questions of another benchmark as files that this tool reads: gold for `logs import`, questions for `--queries`.

A new benchmark is a reader and its row in `FORMATS`.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import click
from pydantic import Field, RootModel

from repoeval_bench.cli.console import echo
from repoeval_bench.cli.options import OUTPUT_FOLDER
from repoeval_bench.core import json_reader
from repoeval_bench.core.errors import ResultError, os_reason
from repoeval_bench.core.extras import require
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.validation import LINES
from repoeval_bench.core.words import count
from repoeval_bench.plugins.logs.records import read_rows
from repoeval_bench.runs.records import Record
from repoeval_bench.runs.store import jsonl

QUESTIONS = "questions.jsonl"
# Two files, as `logs import` takes one kind. Gold of whole files does not depend on chunking: every chunk of the file
# is relevant.
GOLD, FILE_GOLD = "gold.jsonl", "gold-files.jsonl"
"""Answers that are lines, and those of questions with a whole file among their answers."""


class ForeignRecord(Record, extra="ignore"):
    """A record of another benchmark's format, of which only some fields are read."""


@dataclass(kw_only=True)
class ForeignQuestion:
    """A question of another benchmark."""

    where: str
    """The name of its row in errors."""
    query_id: str
    query: str
    """Its text; "" if the format has it in another file."""
    repository: str
    category: str | None = None
    no_answer: bool = False
    """Whether it is known to have no answer."""
    answers: dict[tuple[str, LineSpan | None], float] = field(default_factory=dict)
    """(File, its lines, or None for the whole file) -> the highest gain."""

    def add(self, path: str, first: int | None = None, last: int | None = None, gain: float = 1.0) -> None:
        """Add an answer: lines of a file of the repository, the last one included, or without them the whole file."""
        lines = None if first is None or last is None else line_span(self.where, first, last)
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
                "file": f"{self.repository}/{file}",
                **({"start_line": lines.start, "end_line": lines.end} if lines else {}),
                "gain": gain,
                "repository": self.repository,
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
            "repository": self.repository,
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


def _write(path: Path, rows: list[dict[str, Any]]) -> int:
    """Write rows and return their number; without rows, remove the file."""
    if not rows:
        path.unlink(missing_ok=True)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(jsonl(rows), encoding="utf-8")
    return len(rows)


# Agent Retrieval Bench: the files that a coding agent has to read next, as JSONL. Read from `baseline.py` and
# `abstention.py` of eyuansu62/agent-retrieval-bench.
# Task -> where its gold is, in the order in which upstream looks.
_OF_TASK = {"code2test": ("related_tests",), "comment2context": ("must_context_files", "context_files")}
# Where it is otherwise.
_OF_ANY = ("root_cause_files", "related_tests")


class _File(ForeignRecord):
    path: str


class _Gold(ForeignRecord):
    no_gold: bool = False
    files: tuple[str | _File, ...] = ()
    must_context_files: tuple[str | _File, ...] = ()
    context_files: tuple[str | _File, ...] = ()
    related_tests: tuple[str | _File, ...] = ()
    root_cause_files: tuple[str | _File, ...] = ()


class _Sample(ForeignRecord):
    id: str
    repo: str
    """`owner/name`."""
    base_commit: str
    gold: _Gold
    task_type: str | None = None
    query: dict[str, Any] = Field(default_factory=dict)
    """Several fields, asked as their JSON, as upstream's own retrievers ask them."""


def read_agent_retrieval_bench(path: Path) -> Iterator[ForeignQuestion]:
    """Read the samples of a file, each with the files of its gold; a ResultError names a row of another form."""
    for where, row in _rows(path, _Sample):
        question = ForeignQuestion(
            where=where,
            query_id=row.id,
            query=json.dumps(row.query, ensure_ascii=False, sort_keys=True) if row.query else "",
            # Each sample is asked of its own commit.
            repository=f"{row.repo.replace('/', '__')}-{row.base_commit[:12]}",
            category=row.task_type,
            no_answer=row.gold.no_gold,
        )
        keys = () if row.gold.no_gold else ("files", *_OF_TASK.get(row.task_type or "", ()), *_OF_ANY)
        for file in next(filter(None, (getattr(row.gold, key) for key in keys)), ()):
            question.add(file if isinstance(file, str) else file.path)
        yield question


# ContextBench: the lines that a person needed to resolve an issue, as JSONL or Parquet. Read from
# `contextbench/parsers/gold.py` of EuniAI/ContextBench.
class _Span(ForeignRecord):
    file: str
    start_line: int
    """From 1; the last line is included."""
    end_line: int


class _Spans(RootModel[list[_Span]]):
    """The gold of an issue, as text."""


class _Instance(ForeignRecord):
    instance_id: str | None = None
    inst_id: str | None = None
    problem_statement: str = ""
    source: str | None = None
    """The benchmark that the issue is from."""
    gold_context: str = "[]"
    """Spans as JSON text; other files have one of the fields below."""
    gold_ctx: tuple[_Span, ...] = ()
    init_ctx: tuple[_Span, ...] = ()
    add_ctx: tuple[_Span, ...] = ()


def read_contextbench(path: Path) -> Iterator[ForeignQuestion]:
    """Read the issues of a file, each with the lines of its gold; a ResultError names a row of another form."""
    for where, row in _parquet(path) if path.suffix == ".parquet" else _rows(path, _Instance):
        if (name := row.instance_id or row.inst_id) is None:
            raise ResultError(f"{where}: the row has neither instance_id nor inst_id; give rows of ContextBench")
        try:
            stated = json_reader.parse(row.gold_context, _Spans).root
        except json_reader.JsonFaultError as fault:
            raise ResultError(f"{where}: gold_context: {fault}; give rows of ContextBench") from fault
        # Each issue is asked of its own commit, so its repository is named after it.
        question = ForeignQuestion(
            where=where, query_id=name, query=row.problem_statement, repository=name, category=row.source
        )
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
    except (pa.ArrowException, OSError, ValueError) as error:
        why = os_reason(error).partition("\n")[0]
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


# Semble's annotations: a JSON list for each repository, named after it, or a folder of such files. Read from
# `benchmarks/data.py` of MinishLab/semble, version 0.7.
# Gains of the two kinds of answers; upstream counts both as relevant.
RELEVANT, SECONDARY = 2.0, 1.0


class _Answer(ForeignRecord):
    path: str
    start_line: int | None = None
    """From 1; the last line is included. Without lines the whole file is the answer."""
    end_line: int | None = None


class _Annotation(ForeignRecord):
    query: str
    relevant: tuple[str | _Answer, ...] = ()
    secondary: tuple[str | _Answer, ...] = ()
    category: str | None = None
    repo: str | None = None


class _Annotations(RootModel[list[_Annotation]]):
    """The content of a file."""


def read_semble(path: Path) -> Iterator[ForeignQuestion]:
    """Read the questions of a file, or of the files of a folder; a question's id is `REPOSITORY/NUMBER`, from 1.

    Several files may be of one repository, and a file of several. A ResultError names a file of another form.
    """
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    if not files:
        raise ResultError(f"{path} has no .json file; name a file of annotations, or their folder")
    seen: Counter[str] = Counter()
    for file in files:
        with json_reader.faults_as(ResultError, file, "give annotations as Semble has them"):
            rows = json_reader.parse(json_reader.read_document(file), _Annotations).root
        for position, row in enumerate(rows, start=1):
            name = row.repo or file.stem
            seen[name] += 1
            question = ForeignQuestion(
                where=f"{file}: question {position}",
                query_id=f"{name}/{seen[name]}",
                query=row.query,
                repository=name,
                category=row.category,
            )
            for answers, gain in ((row.relevant, RELEVANT), (row.secondary, SECONDARY)):
                for answer in answers:
                    place = _Answer(path=answer) if isinstance(answer, str) else answer
                    question.add(place.path, place.start_line, place.end_line, gain)
            yield question


# SWE-Explore: the regions read by every agent that resolved an issue, as JSONL. Read from the README of
# SWE-Explore-Bench. Its budget is lines; here it is characters. Regions that only some agents read are no gold.
class _Region(ForeignRecord):
    path: str
    start: int = 1
    """From 1; the last line is included, and -1 stands for the file's."""
    end: int = -1


class _Truth(ForeignRecord):
    read_core_regions: tuple[_Region, ...] = ()


class _Issue(ForeignRecord):
    instance_id: str
    ground_truth: _Truth
    problem_statement: str = ""
    repo_dir: str = ""


def read_swe_explore(path: Path) -> Iterator[ForeignQuestion]:
    """Read the issues of a benchmark file, each with its core regions; a ResultError names a row of another form."""
    for where, row in _rows(path, _Issue):
        question = ForeignQuestion(
            where=where,
            query_id=row.instance_id,
            query=row.problem_statement,
            repository=PurePosixPath(row.repo_dir).name or row.instance_id,
        )
        for region in row.ground_truth.read_core_regions:
            first = max(1, region.start)
            if region.end == -1:  # the file's, whose length is not known here, so the answer is the whole file
                question.add(region.path)
            elif first <= region.end:  # upstream too skips a region that ends before it starts
                question.add(region.path, first, region.end)
        yield question


def _rows(path: Path, model: type[Any]) -> Iterator[tuple[str, Any]]:
    """Return (`path:line`, record) of a JSONL file; a ResultError names what does not fit the model."""
    return ((f"{path}:{number}", row) for number, row in read_rows(path, model))


FORMATS = {
    "agent-retrieval-bench": read_agent_retrieval_bench,
    "contextbench": read_contextbench,
    "semble": read_semble,
    "swe-explore": read_swe_explore,
}
"""Name of a benchmark -> the function that reads its questions."""

WRITTEN = {
    QUESTIONS: "for --queries",
    GOLD: "with lines as gold for `logs import`",
    FILE_GOLD: "with whole files as gold for `logs import`, which says nothing about chunking",
}
"""File -> what is in it."""


@click.command("questions")
@click.argument("benchmark", type=click.Choice(sorted(FORMATS)))
@click.argument("file", type=click.Path(path_type=Path, exists=True))
@click.option("-o", "--output", type=OUTPUT_FOLDER, required=True, metavar="FOLDER", help="Where to write.")
@click.option("--strict", is_flag=True, help="Let --queries refuse answers that the source lacks, not count them.")
def questions_command(*, benchmark: str, file: Path, output: Path, strict: bool) -> None:
    """Write the questions and answers of FILE as gold for `logs import`, and as questions for `--queries`.

    A run of --queries uses the questions whose answers its source has, and counts the others. Gold of questions with a
    whole file as an answer goes to a separate file: every chunk of it is relevant, so it says nothing about chunkers.
    """
    counts = write_questions(FORMATS[benchmark](file), output, strict=strict)
    for name, what in WRITTEN.items():
        if number := counts.written[name]:
            echo(f"{count(number, 'question')} {what}: {output / name}")
    for number, what in (
        (counts.no_answer, "known to have no answer, ranked and not scored"),
        (counts.without_text, "without a text, not written for --queries"),
        (counts.unanswered, "without an answer, left out"),
    ):
        if number:
            echo(f"note: {count(number, 'question')} {what}")
