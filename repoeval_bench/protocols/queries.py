"""The prompt policy: which part of a task's prompt is sent to the retriever."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from repoeval_bench.core.benchmark import Query, Task
from repoeval_bench.core.errors import UsageError

NAMED = "named"
"""The policy of tests that leaves the names of the gold in the question."""


def query_policy(policy: str) -> Callable[[str], str]:
    """`full` and `named` keep the whole prompt, `tail:LINES` its last lines; anything else is a UsageError."""
    if policy in ("full", NAMED):
        return lambda prompt: prompt
    kind, _, count = policy.partition(":")
    if kind == "tail" and re.fullmatch("[1-9][0-9]{0,8}", count):
        return lambda prompt: "".join(prompt.splitlines(keepends=True)[-int(count) :])
    raise UsageError(f"unknown query policy {policy!r}; choose full, tail:LINES, such as tail:20, or for tests {NAMED}")


def make_queries(tasks: Iterable[Task], policy: str) -> tuple[Query, ...]:
    """Return one query per task, in the tasks' order; `query_id` is the task's id."""
    cut = query_policy(policy)
    return tuple(Query(task.task_id, task.repo, cut(task.prompt)) for task in tasks)
