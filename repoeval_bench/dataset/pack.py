"""A pack: a benchmark in RepoEval's layout that was built from any code, and what its `pack.yaml` says of it.

    pack.yaml                                        sources, rules, seed, counts
    tasks/function_level_completion_2k_context_code.test.jsonl
    tasks/function_level_completion_2k_context_code.test.uses.tsv   which definitions its tasks use, where resolved
    tasks/commits.jsonl                              instead of both: the questions of a history
    repositories/REPOSITORY/...                      the files, byte for byte
    repositories/.sha256                             their hashes

It is read where it is, and never copied.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from repoeval_bench.core.errors import DatasetError, UsageError, os_errors_as
from repoeval_bench.core.files import folder_beside
from repoeval_bench.core.languages import ENDINGS
from repoeval_bench.core.strict_yaml import parse_yaml, read_bytes
from repoeval_bench.core.validation import mistakes
from repoeval_bench.dataset import commits
from repoeval_bench.dataset.install import InstalledSet
from repoeval_bench.dataset.repoeval import DEFAULT, TaskSet
from repoeval_bench.dataset.sources import SetFacts

MANIFEST = "pack.yaml"
_AGAIN = "build the pack again"
TREE = "repositories"

# Fewer have too few files for a test.
FEWEST_TASKS = 20
"""Fewest tasks or questions that can show anything about chunkers."""


class PackSource(BaseModel):
    """One source: its origin (`kind`, and further fields of that kind), its files, and counts of skipped files.

    `unread` has a kind of code that is not read, such as `notebook`, and the number of its files. Shipped packs state a
    licence.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    repository: str
    kind: str
    licence: str = ""
    files: dict[str, int]
    lines: dict[str, int]
    left_out: dict[str, int]
    unread: dict[str, int] = {}


class PackUses(BaseModel):
    """Numbers of the tasks of a level that use a definition, and of those in a file that cannot be read."""

    # Packs of earlier versions also count names.
    model_config = ConfigDict(extra="ignore", frozen=True)

    tasks: int
    unread: int


class PackLevel(BaseModel):
    """One level: its numbers of candidates and tasks, how many each rule left out, and how many use definitions."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tasks: int
    candidates: int
    left_out: dict[str, int]
    uses: PackUses | None = None


class PackFile(BaseModel):
    """The content of a `pack.yaml`. `languages`: each with the grammar that read it; `rules`: their version.

    `extensions`: the endings that are read beside those of the ten languages.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    schema_: Literal[1] = Field(alias="schema")
    name: str
    tool: str
    seed: int
    context: str
    tokenizer: str
    languages: dict[str, str]
    levels: dict[str, PackLevel]
    sources: list[PackSource]
    rules: str
    extensions: list[str] = []


# Parsed again only where its bytes changed: a command asks for it several times, and YAML is slow.
@lru_cache(maxsize=8)
def _parsed(path: Path, raw: bytes) -> PackFile:
    content = parse_yaml(path, raw, _AGAIN, DatasetError).content
    try:
        return PackFile.model_validate(content)
    except ValidationError as error:
        problems = "; ".join(mistakes(error, "file"))
        raise DatasetError(f"{path} does not have this version's format ({problems}); {_AGAIN}") from error


@dataclass(frozen=True, slots=True)
class Pack:
    """A pack on disk."""

    root: Path
    content: PackFile

    @classmethod
    def find(cls, source: str) -> Self | None:
        """The pack in a folder; None where it is not one; a DatasetError where its `pack.yaml` cannot be read."""
        root = Path(source).expanduser()
        path = root / MANIFEST
        if not path.is_file():
            return None
        return cls(root, _parsed(path, read_bytes(path, _AGAIN, DatasetError)))

    @property
    def unread(self) -> Mapping[str, int]:
        """A kind of code that is not read, such as `notebook` -> its number of files; of a history, those of today."""
        sources: Sequence[PackSource] = self.content.sources
        if commits.LEVEL in self.content.levels:  # each period is a source
            sources = [max(sources, key=lambda source: source.repository)]
        return sum((Counter(source.unread) for source in sources), Counter())

    def installed(self, task_set: TaskSet) -> InstalledSet:
        """The pack as a set that is read like any other."""
        licences = {source.repository: source.licence for source in self.content.sources}
        facts = SetFacts(name=f"pack-{self.content.name}", source="pack", licences=licences)
        endings = (*ENDINGS, *self.content.extensions)
        return InstalledSet(self.root, facts, task_set, tree_name=TREE, endings=endings)

    def task_set(self, level: str, context: str, tokenizer: str) -> TaskSet:
        """The task file of a level. Context and tokenizer are the pack's own; any but these or the usual is refused.

        In a pack of one level, the usual level is that one.
        """
        own = self.content
        if level == DEFAULT.level and level not in own.levels and len(own.levels) == 1:
            (level,) = own.levels
        for name, requested, usual, mine in (
            ("context", context, DEFAULT.context, own.context),
            ("tokenizer", tokenizer, DEFAULT.tokenizer, own.tokenizer),
        ):
            if requested not in {usual, mine}:
                raise UsageError(
                    f"the pack {self.root} has prompts of {name} {mine} only, not {requested}; leave it out"
                )
        if level not in own.levels or not own.levels[level].tasks:
            levels = ", ".join(f"{name} ({counts.tasks})" for name, counts in own.levels.items() if counts.tasks)
            raise UsageError(f"the pack {self.root} has no task of level {level}; it has {levels or 'none at all'}")
        return TaskSet(level, own.context, own.tokenizer)


def new_target(out: Path | str, kind: str) -> Path:
    """Return the absolute path of a new folder; a UsageError where something is there."""
    target = Path(out).expanduser().absolute()
    if target.is_file() or (target.is_dir() and any(target.iterdir())):
        raise UsageError(f"{out} exists already; name a new folder for the {kind}, or delete that one")
    return target


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Give a folder that becomes `target` if all goes well, and is deleted otherwise."""
    with (
        os_errors_as(DatasetError, f"the pack cannot be written to {target}", "name another folder"),
        folder_beside(target) as temporary,
    ):
        yield temporary
        temporary.replace(target)


def write_plain(path: Path, raw: bytes) -> None:
    """Write a file of a folder that is in the making."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(raw)


def dump_manifest(content: PackFile) -> bytes:
    """The bytes of a `pack.yaml`, without what is as by default."""
    fields = content.model_dump(by_alias=True, exclude_defaults=True)
    text: str = yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=100)
    return text.encode()
