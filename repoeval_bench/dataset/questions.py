"""Your own questions: a JSONL file of queries, each with the places that answer it.

A row is `{"query": …, "file": …, "start_line": …, "end_line": …}`, or has `places`, a list of such places. Lines are
counted from 1 and the last one is included, as editors show them; in `places`, a file without lines is the whole file.
`quote` is text that is in these lines, and `id` the query's id. A file is `path` or `repository/path`, or a path in the
`repository` that the row names; all places of a query are in one repository. `facts` are names and values for segments.
A row with `no_answer` has a repository and no place: it is ranked, and not scored.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, Field, model_validator

from repoeval_bench.core.benchmark import Benchmark, Task
from repoeval_bench.core.errors import UsageError, all_mistakes, nearest, os_errors_as
from repoeval_bench.core.json_reader import JsonFaultError, parse_rows
from repoeval_bench.core.notices import NOTICES
from repoeval_bench.core.run import Fact, Query
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan, Place
from repoeval_bench.core.validation import STRICT, Line
from repoeval_bench.core.words import count, few
from repoeval_bench.dataset.assembly import with_fingerprint
from repoeval_bench.dataset.reading.origin import repository_name

QUESTION = "question"
"""The level of tasks that are questions of a file."""

_Line = Annotated[Line, Field(ge=1)]
_ONE_OF = "either file, start_line and end_line were expected, or places"


class _Place(BaseModel):
    """A place as it is written: lines of a file, or without them the whole file."""

    model_config = STRICT

    file: Annotated[str, Field(min_length=1)]
    start_line: _Line | None = None
    end_line: _Line | None = None
    quote: str | None = None

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if (self.start_line is None) != (self.end_line is None):
            raise ValueError("start_line and end_line were expected together")
        if self.start_line is not None and self.end_line is not None and self.start_line > self.end_line:
            raise ValueError(f"end_line of at least start_line ({self.start_line}) was expected")
        return self

    def lines(self, file: SourceFile) -> LineSpan:
        """Its lines in the file."""
        if self.start_line is None or self.end_line is None:
            return LineSpan(0, file.n_lines)
        return LineSpan(self.start_line - 1, self.end_line)

    def problem(self, file: SourceFile) -> str:
        """Return why it is not a place of the file; "" where it is."""
        lines = self.lines(file)
        if not lines or lines.end > file.n_lines:
            return f"{self.file} ends at line {file.n_lines}, before line {max(1, lines.end)}"
        quote = (self.quote or "").replace("\r\n", "\n").strip()
        if quote in file.line_text(lines):
            return ""
        return f"the quote is not in lines {lines.start + 1} to {lines.end} of {self.file}"


class Question(BaseModel):
    """A row: a query with one place, with several, or known to have none."""

    model_config = STRICT

    query: Annotated[str, Field(min_length=1, pattern=r"\S")]
    id: Annotated[str, Field(min_length=1, pattern=r"^\S+$")] | None = None
    places: tuple[_Place, ...] = Field((), strict=False)
    repository: Annotated[str, Field(min_length=1)] | None = None
    facts: dict[str, Fact] = Field(default_factory=dict)
    no_answer: bool = False
    strict: bool = True
    """Whether a place that the source lacks is a mistake; otherwise it is counted and left out."""

    @model_validator(mode="before")
    @classmethod
    def _with_places(cls, row: Any) -> Any:
        """Take the fields of a single place for a list of it."""
        if not isinstance(row, dict):
            return row
        own = {name: row[name] for name in _Place.model_fields if name in row}
        if own and row.get("places"):
            raise ValueError(_ONE_OF)
        others = {name: row[name] for name in row if name not in own}
        return others | {"places": [own]} if own else others

    @model_validator(mode="after")
    def _has_places(self) -> Self:
        if self.no_answer and (self.places or not self.repository):
            raise ValueError("a row with no_answer has a repository, and no place")
        if not self.places and not self.no_answer:
            raise ValueError(_ONE_OF)
        return self

    @property
    def is_of_files(self) -> bool:
        """Return whether all of its places are whole files."""
        return all(place.start_line is None for place in self.places)


def asked_repositories(path: Path) -> frozenset[str]:
    """The repositories that the rows of a file name."""
    return frozenset(row.repository for row in _valid(path) if row.repository)


def asks_for_files(path: Path) -> bool:
    """Return whether whole files answer at least half of a file's questions."""
    whole = [row.is_of_files for row in _valid(path) if row.places]
    return bool(whole) and 2 * sum(whole) >= len(whole)


def _valid(path: Path) -> Iterator[Question]:
    """Yield the rows that can be used; `with_questions` names what is wrong with the others, or with the file."""
    raw = path.read_bytes() if path.is_file() else b""
    return (row for _, row in parse_rows(raw, Question) if isinstance(row, Question))


def with_questions(benchmark: Benchmark, path: Path) -> Benchmark:
    """The benchmark with the questions of a file as its tasks, the first `limit` of them.

    One UsageError lists all wrong rows, files and lines that do not exist, and quotes that are not there, each as
    `path:line: …`. Of rows that are not `strict`, notices count places that do not exist, questions with no other, and
    questions without an answer whose repository does not exist. Another counts the questions that whole files answer.
    """
    with os_errors_as(UsageError, f"the file of queries {path} cannot be read", "name another with --queries"):
        raw = path.read_bytes()
    files = _Files(benchmark)
    tasks: list[Task] = []
    unanswerable: list[Query] = []
    ids: dict[str, int] = {}
    problems: list[str] = []
    lacking: list[str] = []
    n_left_out = n_elsewhere = n_whole = 0
    for line, row in parse_rows(raw, Question):
        if isinstance(row, JsonFaultError):
            problems += (f"{path}:{line}: {fault}" for fault in row.faults)
            continue
        places, wrong = files.places(row)
        is_here = not wrong
        if not row.strict:
            lacking += () if row.no_answer else wrong
            n_left_out += bool(row.places) and not places
            n_elsewhere += row.no_answer and not is_here
            wrong = []
        if len(repos := sorted({place.file.partition("/")[0] for place in places})) > 1:
            wrong.append(f"its places are in {' and '.join(repos)}; a query searches one repository")
        query_id = row.id or f"query-{line}"
        if ids.setdefault(query_id, line) != line:
            wrong.append(f"the id {query_id!r} is that of line {ids[query_id]} already")
        problems += (f"{path}:{line}: {problem}" for problem in dict.fromkeys(wrong))
        if row.no_answer and is_here and not wrong:
            unanswerable.append(Query(query_id, repository_name(row.repository or ""), row.query))
        elif places and not wrong:
            tasks.append(Task.asking(query_id, row.query, places, QUESTION, facts=tuple(row.facts.items())))
            n_whole += row.is_of_files
    if not tasks and not problems:
        why = "no query has an answer" if unanswerable or n_elsewhere else "a JSON object is expected on each line"
        if lacking:
            why = f"the source has none of its answers ({lacking[0]})"
        problems = [f"{path} has no query to score; {why}"]
    if problems:
        raise UsageError(all_mistakes(problems, path))
    if lacking:
        others = f"; left out with no other: {count(n_left_out, 'query')}" if n_left_out else ""
        NOTICES.info(f"{path}: the source lacks {count(len(lacking), 'answer')}{others}; the first: {lacking[0]}")
    _note_counts(path, n_elsewhere, n_whole, len(tasks))
    first, whole = tuple(tasks[: benchmark.limit]), len(tasks) + n_left_out
    return with_fingerprint(replace(benchmark, tasks=first, whole_tasks=whole, unanswerable=tuple(unanswerable)))


def _note_counts(path: Path, n_elsewhere: int, n_whole: int, n_tasks: int) -> None:
    if n_elsewhere:
        NOTICES.info(f"{path}: the source lacks the repository of {count(n_elsewhere, 'query')} without an answer")
    if n_whole:
        NOTICES.info(f"{path}: {n_whole:,} of {count(n_tasks, 'query')} have only whole files as targets")


class _Files:
    """The files of a benchmark by name, and by path where only one repository has it."""

    def __init__(self, benchmark: Benchmark) -> None:
        self._repositories = sorted(benchmark.files)
        self._by_name: dict[str, list[SourceFile]] = defaultdict(list)
        for file in benchmark.by_name.values():
            self._by_name[file.name].append(file)
            self._by_name[file.path].append(file)

    def places(self, row: Question) -> tuple[list[Place], list[str]]:
        """The places of a question, and what is wrong with the others."""
        places: list[Place] = []
        repository = row.repository and repository_name(row.repository)
        if repository and repository not in self._repositories:
            here = f"the source has no repository {repository}, only {few(self._repositories, 3)}"
            return [], [here] * max(1, len(row.places))
        wrong: list[str] = []
        for place in row.places:
            file = self._file(f"{repository}/{place.file}" if repository else place.file)
            if problem := file if isinstance(file, str) else place.problem(file):
                wrong.append(problem)
            elif not isinstance(file, str):
                places.append(Place(file.name, place.lines(file)))
        return places, wrong

    def _file(self, name: str) -> SourceFile | str:
        """The file of a name, or why there is none."""
        matches = self._by_name.get(name.removeprefix("./"), [])
        if len(matches) > 1:
            return f"{name} is a file of {' and '.join(file.repo for file in matches)}; write repository/path"
        return matches[0] if matches else nearest("file", name, self._by_name, "the source has no such file of code")
