"""Packs that ship with the project, as facts: which packages, which hashes, where their tasks are. No code of them.

    data/packs/NAME@EDITION/pack.yaml       as of any pack, with each source's domain, dates and fingerprint
    data/packs/NAME@EDITION/files.tsv.gz    file: `repository/path` of every file that is taken
    data/packs/NAME@EDITION/tasks.tsv.gz    task_id, path, context_start, body_start, body_end, function_name
    data/packs/NAME@EDITION/uses.tsv.gz     what the tasks use, as beside the tasks of any pack

Lines are counted from 0, ends are exclusive. `build.edition` makes the pack of them, with nothing drawn or resolved.
"""

from __future__ import annotations

import gzip
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from repoeval_bench.core.spans import LineSpan
from repoeval_bench.dataset.home import shipped
from repoeval_bench.dataset.pack import MANIFEST, Pack, PackFile
from repoeval_bench.dataset.repoeval import FUNCTION
from repoeval_bench.dataset.uses_table import table_lines

FILES, TASKS, USES = "files.tsv.gz", "tasks.tsv.gz", "uses.tsv.gz"

PROTOCOLS = ("uses", "docstring", "body", "context")
"""Protocols of a shipped pack, the deciding one first."""

HEADER = "task_id\tpath\tcontext_start\tbody_start\tbody_end\tfunction_name"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPlace:
    """A task's location: its file in its repository, the first line of its prompt, and the lines of its target."""

    task_id: str
    path: str
    context_start: int
    body: LineSpan
    function_name: str


@cache
def editions() -> dict[str, Path]:
    """Name with edition -> folder, the oldest of a pack first."""
    packs = shipped("packs")
    return {path.parent.name: path.parent for path in sorted(packs.glob(f"*/{MANIFEST}"))} if packs else {}


def edition_of(name: str) -> str | None:
    """The shipped edition of a name, `pypi-40` (its newest) or `pypi-40@2026-11`; None where there is none."""
    known = editions()
    return next((shipped for shipped in reversed(known) if name in {shipped, shipped.partition("@")[0]}), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A shipped pack in a line: name with edition, repositories, function tasks, languages; of each domain its sources.

    A source is known by its name and version as its registry writes them. `registry` is where they are fetched.
    """

    name: str
    repositories: int
    tasks: int
    languages: tuple[str, ...]
    domains: dict[str, list[str]]
    registry: str


def summaries() -> list[Summary]:
    """Every shipped pack, the oldest edition first."""
    return [summary_of(pack.content) for pack in map(shipped_pack, editions()) if pack]


def summary_of(content: PackFile) -> Summary:
    """The line of one."""
    domains: dict[str, list[str]] = defaultdict(list)
    npm = registry_of(content) == "npm"
    for source in content.sources:
        facts = source.model_extra or {}
        domains[facts["domain"]].append(f"{facts['package']}{'@' if npm else '=='}{facts['version']}")
    tasks = content.levels[FUNCTION.name].tasks
    registry = "registry of npm's settings" if npm else "index of pip's settings"
    return Summary(
        name=content.name,
        repositories=len(content.sources),
        tasks=tasks,
        languages=tuple(content.languages),
        domains=dict(domains),
        registry=registry,
    )


def registry_of(content: PackFile) -> str:
    """The kind of registry that the packages are from: `pypi` or `npm`."""
    return "npm" if any(source.kind == "npm" for source in content.sources) else "pypi"


def shipped_pack(name: str) -> Pack | None:
    """The facts of a shipped pack by its name, or by the folder of an edition of your own; None where there is none.

    They have no sources.
    """
    if versioned := edition_of(name):
        return Pack.find(str(editions()[versioned]))
    return Pack.find(name) if (Path(name).expanduser() / FILES).is_file() else None


def read_table(path: Path) -> str:
    """The text of a compressed table."""
    return gzip.decompress(path.read_bytes()).decode()


def parse_places(text: str) -> Iterator[TaskPlace]:
    """The rows of the table of tasks."""
    for line in table_lines(text)[1:]:
        task_id, path, context_start, start, end, name = line.split("\t")
        yield TaskPlace(
            task_id=task_id,
            path=path,
            context_start=int(context_start),
            body=LineSpan(int(start), int(end)),
            function_name=name,
        )
