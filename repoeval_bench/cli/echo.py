"""The one place where text leaves for a terminal."""

from __future__ import annotations

import click

from repoeval_bench.core.visible import visible


def echo(text: object = "", *, err: bool = False, nl: bool = True, colour: str | None = None) -> None:
    """Print a text on standard output, or on standard error, with what a terminal would obey made visible.

    JSON stays the same JSON: the escapes are its own. `colour` is used on a terminal only.
    """
    click.secho(visible(str(text)), err=err, nl=nl, fg=colour)  # noqa: TID251 - the one place
