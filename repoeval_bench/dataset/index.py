"""The index that ships with the project: facts about RepoEval (coordinates, hashes, licences), no code of it.

`sources.json` is written by hand: what exists upstream, where, and what its bytes must hash to. The rest is
written by `scripts/build_index.py` from the full data.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repoeval_bench.core.errors import DatasetError, UsageError, all_mistakes
from repoeval_bench.core.spans import CharSpan, LineSpan
from repoeval_bench.core.spec import nearest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from importlib.resources.abc import Traversable


@dataclass(frozen=True, slots=True)
class Level:
    """A level of the published benchmark: its size, the tree it is answered from, its task files."""

    name: str
    tasks: int
    repositories: int
    tree: str
    contexts: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Archive:
    """An archive upstream: its pinned address and the git blob id of the whole file."""

    name: str
    url: str
    blob: str


@dataclass(frozen=True, slots=True)
class Edit:
    """The one word by which a published file differs from the repository's, on a 0-based line."""

    line: int
    published: str
    upstream: str

    def apply(self, text: str) -> str:
        """The repository's text from the published one; the caller checks it by hash."""
        lines = text.splitlines(keepends=True)
        if self.line < len(lines):
            lines[self.line] = lines[self.line].replace(self.published, self.upstream, 1)
        return "".join(lines)


@dataclass(frozen=True, slots=True)
class Wheel:
    """A published wheel that carries one repository's package folder file for file, but for `edits`."""

    requirement: str
    sha256: str
    repository: str
    edits: Mapping[str, Edit]


@cache
def _folder() -> Traversable:
    """The index in an installed wheel, else in the checkout (an editable install has no copy of it)."""
    for folder in (
        resources.files("repoeval_bench") / "_data",
        Path(__file__).resolve().parents[2] / "data" / "index",
    ):
        if (folder / "sources.json").is_file():
            return folder
    raise DatasetError("the shipped index (sources.json) is missing; install repoeval-bench again")


def read_text(name: str) -> str:
    """The text of one file of the index."""
    return (_folder() / name).read_text(encoding="utf-8")


@cache
def _sources() -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(read_text("sources.json"))
    return facts


@cache
def levels() -> dict[str, Level]:
    """The published levels by name."""
    return {
        name: Level(
            name,
            fact["tasks"],
            fact["repositories"],
            fact["tree"],
            {tokenizer: tuple(contexts) for tokenizer, contexts in fact["contexts"].items()},
        )
        for name, fact in _sources()["levels"].items()
    }


def archive(name: str) -> Archive:
    """An upstream archive by its file name."""
    fact = _sources()["archives"][name]
    return Archive(name, fact["url"], fact["blob"])


def task_file_blobs() -> dict[str, str]:
    """Git blob id of every published task file, by file name."""
    return dict(_sources()["task_files"])


def wheels() -> list[Wheel]:
    """The wheels that carry repositories of the function level."""
    return [
        Wheel(
            fact["requirement"],
            fact["sha256"],
            fact["repository"],
            {path: Edit(**edit) for path, edit in fact.get("edits", {}).items()},
        )
        for fact in _sources()["wheels"]
    ]


@dataclass(frozen=True, slots=True)
class Combination:
    """One published task file: a level, a context length, and the tokenizer that cut the context."""

    level: str
    context: str
    tokenizer: str

    def __str__(self) -> str:
        return f"{self.level}-{self.context}-{self.tokenizer}"

    @property
    def task_file(self) -> str:
        """Upstream's name of its task file."""
        return f"{self.level}_level_completion_{self.context}_context_{self.tokenizer}.test.jsonl"

    @property
    def table(self) -> str:
        """Name of the index's table of its coordinates."""
        return f"tasks-{self}.tsv"

    @property
    def published(self) -> Level:
        """Size and tree of its level."""
        return levels()[self.level]


def combination(level: str, context: str, tokenizer: str) -> Combination:
    """The combination, if upstream published it; else a UsageError with those that exist."""
    known = levels().get(level)
    if known is None or context not in known.contexts.get(tokenizer, ()):
        raise UsageError(
            f"there is no RepoEval task file for level {level}, context {context}, tokenizer {tokenizer}; "
            f"those that exist are {combinations()}"
        )
    return Combination(level, context, tokenizer)


def combinations() -> str:
    """All published combinations in one line: `function: codex 2k, 4k; line: …`."""
    return "; ".join(
        f"{level.name}: "
        + " and ".join(f"{tokenizer} {', '.join(contexts)}" for tokenizer, contexts in level.contexts.items())
        for level in levels().values()
    )


@cache
def file_hashes(tree: str) -> dict[str, str]:
    """SHA-256 of the LF-normalised text of every `.py` of a tree, by `repository/path`; {} where unknown."""
    if tree != "function_level":
        return {}
    rows = (line.partition("\t") for line in read_text("files.tsv").splitlines()[1:])
    return {path: digest for path, _, digest in rows}


TASK_COLUMNS = (
    "task_id",
    "path",
    "prompt_start",
    "prompt_end",
    "context_start",
    "body_start",
    "body_end",
    "function_name",
    "prompt_sha256",
    "ground_truth_sha256",
)


@dataclass(frozen=True, slots=True)
class Coordinates:
    """Where a task stands in its repository, and the hashes of its texts; `prompt` None: no exact range.

    `prompt` is in characters of the file's text (LF, no BOM), `body` in lines.
    """

    task_id: str
    path: str
    prompt: CharSpan | None
    context_start: int
    body: LineSpan
    function_name: str
    prompt_sha256: str
    ground_truth_sha256: str

    @property
    def repo(self) -> str:
        """The repository of the task."""
        return self.task_id.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository of the function level: how many tasks and `.py` files, under which licence (SPDX)."""

    tasks: int
    files: int
    licence: str


def coordinates(combination: Combination) -> list[Coordinates]:
    """The coordinates of one task file, in its order; only the function level ships them."""
    found = []
    for line in read_text(combination.table).splitlines()[1:]:
        task_id, path, start, end, context_start, first, last, function, prompt, truth = line.split("\t")
        span = None if start == "-" else CharSpan(int(start), int(end))
        body = LineSpan(int(first), int(last))
        found.append(Coordinates(task_id, path, span, int(context_start), body, function, prompt, truth))
    return found


def repository_name(text: str) -> str:
    """A repository's name here, written as on its host (`owner/name`), as in a task's id (`owner--name`), or so."""
    return text.replace("--", "_").replace("/", "_")


def check_repositories(names: Iterable[str], known: Collection[str]) -> None:
    """A UsageError that names every one that is unknown."""
    unknown = sorted({repository_name(name) for name in names}.difference(known))
    if unknown:
        raise UsageError(all_mistakes(nearest("repository", name, known) for name in unknown))


@cache
def repositories() -> dict[str, Repository]:
    """The repositories of the function level by name."""
    return {name: Repository(**fact) for name, fact in json.loads(read_text("repositories.json")).items()}
