"""The one function that prints."""

from __future__ import annotations

import click

from repoeval_bench.core.words import visible


def echo(text: object = "", *, err: bool = False, nl: bool = True, colour: str | None = None) -> None:
    r"""Print a text on standard output, or on standard error, with its control characters made visible.

    They become escapes such as `\u001b`, which JSON reads as the same character. `colour` is used on a terminal only.
    """
    click.secho(visible(str(text)), err=err, nl=nl, fg=colour)  # noqa: TID251 - the one function
