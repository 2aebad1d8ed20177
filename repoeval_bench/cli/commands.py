"""--commands: the shell lines of what a command would run, instead of running it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from repoeval_bench.cli.echo import echo
from repoeval_bench.runs.problems import Problems, check_requests
from repoeval_bench.runs.request import RunRequest, eval_line, shell_line


def commands_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --commands (a bool)."""
    return click.option(
        "--commands", is_flag=True, help="Print the shell lines of the runs and of this command, and run nothing."
    )(command)


def chunker_words(chunkers: Sequence[str]) -> list[str]:
    """`-c SPEC` of each."""
    return [word for chunker in chunkers for word in ("-c", chunker)]


def print_commands(
    requests: Sequence[RunRequest],
    last: Sequence[str],
    *,
    out: Path,
    home: Path | None,
    problems: Problems | None = None,
) -> None:
    """An `eval` line for each run, then the line of the command itself, which finds them stored; mistakes are errors.

    `last` are the command's name, its own words and its chunkers; what the runs share follows.
    """
    found = problems or Problems()
    check_requests(requests, home, found)
    found.check()
    for request in requests:
        echo(eval_line(request, out=out, home=home, short=True))
    shared = requests[0].setting.words() if requests else []
    echo(shell_line([*last, *shared], out=out, home=home))
