"""The index that ships with the project: facts about RepoEval (positions, hashes, licences), and none of its code.

`sources.json` is written by hand: where upstream's files are, and what their bytes must hash to. The rest is written by
`scripts/build_index.py` from the full data, for the function level.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from pydantic import TypeAdapter

from repoeval_bench.core.benchmark import Task
from repoeval_bench.core.errors import DatasetError
from repoeval_bench.core.spans import CharSpan, LineSpan
from repoeval_bench.dataset.home import shipped
from repoeval_bench.dataset.repoeval import FUNCTION, TaskSet
from repoeval_bench.dataset.uses_table import Uses, read_uses, table_lines


@dataclass(frozen=True, slots=True)
class Archive:
    """An archive upstream: its pinned address and the git blob id of the whole file."""

    url: str
    blob: str


@dataclass(frozen=True, slots=True)
class Edit:
    """The one word by which a published file differs from the repository's, on a 0-based line."""

    line: int
    published: str
    upstream: str

    def apply(self, text: str) -> str:
        """The repository's text from the published one, not checked."""
        lines = text.splitlines(keepends=True)
        if self.line < len(lines):
            lines[self.line] = lines[self.line].replace(self.published, self.upstream, 1)
        return "".join(lines)


@dataclass(frozen=True, slots=True)
class Wheel:
    """A published wheel that carries one repository's package folder file for file, except for `edits`."""

    requirement: str
    sha256: str
    repository: str
    edits: dict[str, Edit] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sources:
    """The content of `sources.json`.

    `archives` and `task_files` (git blob ids) are by file name; `wheels` carry repositories of the function level.
    """

    archives: dict[str, Archive]
    task_files: dict[str, str]
    wheels: list[Wheel]


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository of the function level: how many tasks and `.py` files, under which licence (SPDX)."""

    tasks: int
    files: int
    licence: str


@dataclass(frozen=True, slots=True)
class Coordinates:
    """A task's location in its repository, and the hashes of its texts."""

    task: Task
    """The task without its texts."""
    prompt: CharSpan | None
    """The prompt's range in characters of the file's text (LF, no BOM); None where it is no exact range of it."""
    hashes: tuple[str, str]
    """SHA-256 of the prompt and of the ground truth."""


def table_name(task_set: TaskSet) -> str:
    """Name of the table of a task set's coordinates."""
    return f"tasks-{task_set}.tsv"


def uses_name(level: str) -> str:
    """Name of the table of what a level's tasks use."""
    return f"uses-{level}.tsv"


def read_text(name: str) -> str:
    """The text of one file of the index."""
    path = shipped(name)
    if path is None:
        raise DatasetError(f"the shipped index ({name}) is missing; install repoeval-bench again")
    return path.read_text(encoding="utf-8")


@cache
def sources() -> Sources:
    """Return what is published, where, and with which hashes."""
    return TypeAdapter(Sources).validate_json(read_text("sources.json"))


@cache
def file_hashes(tree: str) -> dict[str, str]:
    """SHA-256 of the LF-normalised text of every `.py` of a tree, by `repository/path`; {} where unknown."""
    if tree != FUNCTION.tree:
        return {}
    rows = (line.partition("\t") for line in table_lines(read_text("files.tsv"))[1:])
    return {path: digest for path, _, digest in rows}


@cache
def repositories() -> dict[str, Repository]:
    """The repositories of the function level by name."""
    return TypeAdapter(dict[str, Repository]).validate_json(read_text("repositories.json"))


def used_definitions(level: str, tasks: Sequence[Task]) -> Uses | None:
    """Return what these tasks of a published level use; None if the level's table is missing."""
    name = uses_name(level)
    return read_uses(read_text(name), tasks, name) if shipped(name) else None


def coordinates(task_set: TaskSet) -> list[Coordinates]:
    """The coordinates of one task file of the function level, in its order."""
    return [_parse(line, task_set.level) for line in table_lines(read_text(table_name(task_set)))[1:]]


def _parse(line: str, level: str) -> Coordinates:
    task_id, path, start, end, context_start, first, last, function, prompt_hash, ground_truth_hash = line.split("\t")
    task = Task(
        task_id=task_id,
        repo=task_id.rpartition("/")[0],
        path=path,
        prompt="",
        ground_truth="",
        body=LineSpan(int(first), int(last)),
        context_start=int(context_start),
        level=level,
        function_name=function,
    )
    prompt = None if start == "-" else CharSpan(int(start), int(end))
    return Coordinates(task, prompt, (prompt_hash, ground_truth_hash))
