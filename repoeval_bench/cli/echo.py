"""The one place where text leaves for a terminal."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

import click

from repoeval_bench.core.visible import visible

spelling: ContextVar[Callable[[str], str]] = ContextVar("spelling", default=str)
"""Spelling of options in what goes to standard error: as they are, or under make as variables."""


def echo(text: object = "", *, err: bool = False, nl: bool = True, colour: str | None = None) -> None:
    """Print a text on standard output, or on standard error, with what a terminal would obey made visible.

    JSON stays the same JSON: the escapes are its own. `colour` is used on a terminal only.
    """
    text = spelling.get()(str(text)) if err else str(text)
    click.secho(visible(text), err=err, nl=nl, fg=colour)  # noqa: TID251 - the one place
