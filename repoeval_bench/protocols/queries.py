"""The prompt policy, which part of a prompt is sent to the retriever, and the share of the gold that is in it."""

import re
from collections.abc import Callable, Iterable, Mapping

from repoeval_bench.core.benchmark import Task
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.run import Query
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import Gold, join


def query_policy(policy: str) -> Callable[[str], str]:
    """`full` keeps the whole prompt, `tail:LINES` its last lines; anything else is a UsageError."""
    if policy == "full":
        return lambda prompt: prompt
    kind, _, count = policy.partition(":")
    if kind == "tail" and re.fullmatch("[1-9][0-9]{0,8}", count):
        return lambda prompt: "".join(prompt.splitlines(keepends=True)[-int(count) :])
    raise UsageError(f"unknown query policy {policy!r}; choose full or tail:LINES, such as tail:20")


def make_queries(tasks: Iterable[Task], policy: str) -> tuple[Query, ...]:
    """Return one query per task, in the tasks' order; `query_id` is the task's id."""
    cut = query_policy(policy)
    return tuple(Query(task.task_id, task.repo, cut(task.prompt)) for task in tasks)


LARGE = 0.5
"""From this share of target lines in the query on, a note warns of it."""


def copy_note(share: float) -> str:
    """Return a sentence on a share from `gold_in_query`; empty if it is below `LARGE`."""
    if share < LARGE:
        return ""
    return (
        f"query and target overlap by {100 * share:.1f} % of the target lines, which favours larger chunks; "
        "--protocol docstring, uses or body avoids it (`list protocols`)"
    )


def gold_in_query(
    queries: Iterable[Query], files: Mapping[str, SourceFile], gold: Mapping[str, Gold]
) -> dict[str, float]:
    """Return query_id -> share of its gold's non-blank lines that are lines of the query, without blanks at line ends.

    `files` are by name, as the gold names them. 0 where the gold has no non-blank line.
    """
    shares = {}
    for query in queries:
        texts = (files[location.file].line_text(location.lines) for location in join(gold[query.query_id]))
        gold_lines = [line for text in texts for text_line in text.splitlines() if (line := text_line.strip())]
        query_lines = {line.strip() for line in query.text.splitlines()}
        shares[query.query_id] = (
            sum(line in query_lines for line in gold_lines) / len(gold_lines) if gold_lines else 0.0
        )
    return shares
