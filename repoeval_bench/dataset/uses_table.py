"""The definitions that tasks use, as a table: one row a task and definition, facts only.

Columns: task_id, path (in the task's repository), start, end (lines, 0-based, half-open), kind, tier, name.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import cast, get_args

from repoeval_bench.core.benchmark import Task
from repoeval_bench.core.errors import DatasetError
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.uses import TIERS, CodeDefinition, Kind, Tier, UsedDefinition

Uses = dict[str, tuple[UsedDefinition, ...]]
"""task_id -> what it uses."""

ReadUses = dict[str, tuple[UsedDefinition, ...] | None]
"""The same, None for a task in a file that cannot be read."""

_KINDS: tuple[str, ...] = get_args(Kind)

# All of them are held in memory for it.
MOST_CODE = 20_000_000
"""Bytes of a repository's files above which its names are not resolved."""

HEADER = "task_id\tpath\tstart\tend\tkind\ttier\tname"


def table_lines(text: str) -> list[str]:
    """The lines of a table."""
    # Newlines alone end them, as the name of a file may hold U+2028.
    return text.removesuffix("\n").split("\n") if text else []


def dump_uses(tasks: Iterable[Task], uses: Mapping[str, Iterable[UsedDefinition] | None]) -> str:
    """The table of these tasks, in their order; a task that uses nothing has no row."""
    rows = [HEADER]
    for task in tasks:
        for used in uses.get(task.task_id) or ():
            known = used.definition
            path, lines = known.file.removeprefix(f"{task.repo}/"), known.lines
            fields = (task.task_id, path, lines.start, lines.end, known.kind, used.tier, known.name)
            rows.append("\t".join(map(str, fields)))
    return "\n".join(rows) + "\n"


def read_uses(text: str, tasks: Iterable[Task], name: str) -> Uses:
    """Return what these tasks use, by a table of them or of more; a DatasetError names the broken file and line."""
    repos = {task.task_id: task.repo for task in tasks}
    by_task: dict[str, list[UsedDefinition]] = defaultdict(list)
    for number, line in enumerate(table_lines(text), start=1):
        if number == 1 and line == HEADER:
            continue
        try:
            task_id, path, start, end, kind, tier, qualified = line.split("\t")
            lines = LineSpan(int(start), int(end))
            _KINDS.index(kind)
            TIERS.index(cast("Tier", tier))
        except ValueError as error:
            raise DatasetError(f"{name}:{number} is not a row of used definitions ({error})") from error
        if task_id in repos:
            definition = CodeDefinition(f"{repos[task_id]}/{path}", lines, qualified, cast("Kind", kind))
            by_task[task_id].append(UsedDefinition(definition, cast("Tier", tier)))
    return {task_id: tuple(by_task.get(task_id, ())) for task_id in repos}
