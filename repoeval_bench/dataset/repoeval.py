"""RepoEval as upstream publishes it: levels, names, parts that others score, and the format of its task files.

No other file knows these. A row of a task file is JSON: `prompt` and `metadata` with `task_id`, `ground_truth`,
`fpath_tuple`, `context_start_lineno` and `lineno` (or `line_no`), both 0-based, and at function level `function_name`.
"""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Self, TypeVar

from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, Field, model_validator

from repoeval_bench.core.benchmark import Task
from repoeval_bench.core.errors import DatasetError, UsageError, all_mistakes, nearest
from repoeval_bench.core.files import path_problem
from repoeval_bench.core.json_reader import JsonFaultError, parse_rows
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.validation import Line
from repoeval_bench.core.words import count

NAME = "repoeval"
"""Name of the published benchmark; a user's own set has another."""

EXTENSIONS = (".py",)
"""Endings of the files that are searched."""

TASK_ARCHIVE = "datasets.zip"
"""The archive of all task files; each tree is in an archive of its own."""

TASK_FILE_END = ".test.jsonl"
"""Ending of the name of each task file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """A published level: its size, its tree of repositories, and the context lengths of each tokenizer."""

    name: str
    tasks: int
    repositories: int
    tree: str
    contexts: Mapping[str, tuple[str, ...]]


_BOTH = {"codegen": ("1k", "2k"), "codex": ("2k", "4k")}

FUNCTION = Level(name="function", tasks=455, repositories=8, tree="function_level", contexts={"codex": ("2k", "4k")})
"""The only level whose coordinates and hashes ship with this project."""

LEVELS = {
    level.name: level
    for level in (
        FUNCTION,
        Level(name="line", tasks=1600, repositories=8, tree="line_and_api_level", contexts=_BOTH),
        Level(name="api", tasks=1600, repositories=8, tree="line_and_api_level", contexts=_BOTH),
    )
}
"""The published levels by name."""


@dataclass(frozen=True, slots=True)
class TaskSet:
    """The tasks of one task file: a level, a context length, and the tokenizer that cut the context."""

    level: str
    context: str
    tokenizer: str

    def __str__(self) -> str:
        return f"{self.level}-{self.context}-{self.tokenizer}"

    @property
    def task_file(self) -> str:
        """Upstream's name of its task file."""
        return f"{self.level}_level_completion_{self.context}_context_{self.tokenizer}{TASK_FILE_END}"

    @property
    def published(self) -> Level:
        """Size and tree of its level."""
        return LEVELS[self.level]


DEFAULT = TaskSet("function", "2k", "codex")
"""The task file that is loaded by default."""


def published_task_set(level: str, context: str, tokenizer: str) -> TaskSet:
    """Return a published task set; a UsageError that lists them for any other."""
    task_set = TaskSet(level, context, tokenizer)
    if task_set not in task_sets():
        known = "; ".join(
            f"{row.name}: "
            + " and ".join(f"{tokenizer} {', '.join(contexts)}" for tokenizer, contexts in row.contexts.items())
            for row in LEVELS.values()
        )
        raise UsageError(
            f"there is no RepoEval task file for level {level}, context {context}, tokenizer {tokenizer}; "
            f"choose from {known}"
        )
    return task_set


def task_sets(*levels: Level) -> list[TaskSet]:
    """The published task sets of these levels; of all levels where none is given."""
    return [
        TaskSet(level.name, context, tokenizer)
        for level in levels or LEVELS.values()
        for tokenizer, contexts in level.contexts.items()
        for context in contexts
    ]


def task_set_of(benchmark: str) -> TaskSet | None:
    """Return the task set in a benchmark's name (`repoeval-function-2k-codex`); None where there is none."""
    pieces = benchmark.split("-")
    return TaskSet(*pieces[-3:]) if len(pieces) > 3 else None


OUTSIDE_THE_SIX = frozenset({"CarperAI_trlx", "leopard-ai_betty"})
"""Repositories of the function level that code-chunk and CodeRAG-Bench leave out."""


def skipped_repositories(subset: str, level: str) -> frozenset[str]:
    """Repositories that a subset (`all` or `six`) leaves out; the six are named at function level only."""
    return OUTSIDE_THE_SIX if (subset, level) == ("six", FUNCTION.name) else frozenset()


def repository_name(text: str) -> str:
    """A repository's name here, from its name on the host (`owner/name`) or in a task's id (`owner--name`)."""
    return text.replace("--", "_").replace("/", "_")


def check_repositories(names: Iterable[str], known: Collection[str]) -> None:
    """A UsageError that lists all names that are unknown."""
    unknown = sorted({repository_name(name) for name in names}.difference(known))
    if unknown:
        raise UsageError(all_mistakes(nearest("repository", name, known) for name in unknown))


def _path_parts(value: list[str]) -> list[str]:
    if len(value) < 2:
        raise ValueError("the repository and at least one path part were expected")
    # A part may hold several.
    parts = [step for part in value for step in part.replace("\\", "/").split("/")]
    if any(not step.strip() or step in {".", ".."} for step in parts):
        raise ValueError("path parts that are not blank, '.' or '..' were expected")
    if problem := path_problem("/".join(parts)):
        raise ValueError(f"it {problem}")
    return parts


class _Metadata(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, defer_build=True)

    task_id: str
    ground_truth: Annotated[str, Field(min_length=1)]
    fpath_tuple: Annotated[list[str], AfterValidator(_path_parts)]
    context_start_lineno: Line
    lineno: Annotated[Line, Field(validation_alias=AliasChoices("lineno", "line_no"))]
    function_name: str | None = None

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.context_start_lineno > self.lineno:
            raise ValueError(f"context_start_lineno of at most lineno ({self.lineno}) was expected")
        return self


class _Row(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, defer_build=True)

    prompt: str
    metadata: _Metadata

    @property
    def repo(self) -> str:
        return self.metadata.fpath_tuple[0].replace("--", "_")

    @property
    def number(self) -> int | None:
        """The number at the end of upstream's id; None where it is the word `idx`, or longer than a number of rows."""
        tail = self.metadata.task_id.rpartition("/")[2]
        return int(tail) if re.fullmatch("[0-9]{1,15}", tail) else None

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


_Schema = TypeVar("_Schema", bound=BaseModel)


def read_rows(raw: bytes, name: str, schema: type[_Schema]) -> list[_Schema]:
    """The rows of a file's bytes in order; a DatasetError lists every bad row, or says that there is none."""
    rows: list[_Schema] = []
    problems: list[str] = []
    bad_rows = 0
    for number, row in parse_rows(raw, schema):
        if isinstance(row, JsonFaultError):
            bad_rows += 1
            problems += (f"{name}:{number}: {fault}" for fault in row.faults)
        else:
            rows.append(row)
    if problems:
        raise DatasetError("\n  ".join([f"{name} has {count(bad_rows, 'bad row')}:", *problems]))
    if not rows:
        raise DatasetError(f"{name} has no tasks; delete it and run `repoeval-bench data fetch` or `data build` again")
    return rows


def parse_tasks(raw: bytes, *, name: str, level: str) -> tuple[Task, ...]:
    """The tasks of a file's bytes in its order; a DatasetError lists each bad row as `name:line: field: problem`.

    `task_id` becomes `owner_repo/number`, with upstream's number or the position among the repository's rows.
    """
    rows = read_rows(raw, name, _Row)
    return tuple(row.task(number, level) for row, number in zip(rows, _numbers(rows), strict=True))


def _numbers(rows: Sequence[_Row]) -> list[int]:
    """Return upstream's own numbers if every row has one and no two rows of a repository share it, else positions."""
    # Upstream's ids need not identify a task: at function level all end in the word `idx`.
    own = [(row.repo, row.number) for row in rows if row.number is not None]
    if len(set(own)) == len(rows):
        return [number for _, number in own]
    seen: Counter[str] = Counter()
    positions = []
    for row in rows:
        positions.append(seen[row.repo])
        seen[row.repo] += 1
    return positions


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
