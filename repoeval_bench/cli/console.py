"""Everything that is printed: `echo`, and tables, JSON and lines by it."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from repoeval_bench.core.words import unbroken, visible
from repoeval_bench.report.terminal import PAGE, table_lines

if TYPE_CHECKING:
    from rich.console import Console

    from repoeval_bench.report.table import Table  # `--help` needs none


def echo(text: object = "", *, err: bool = False, nl: bool = True, colour: str | None = None) -> None:
    r"""Print a text on standard output, or on standard error, with its control characters made visible.

    They become escapes such as `\u001b`, which JSON reads as the same character. `colour` is used on a terminal only.
    """
    click.secho(visible(str(text)), err=err, nl=nl, fg=colour)  # noqa: TID251 - the one function


def print_table(table: Table) -> None:
    """Print a table with its notes, folded for a terminal, whole for a file or a pipe."""
    console = _console()
    lines = table_lines(table, console, console.width if sys.stdout.isatty() else None)
    if lines:
        # `echo` would show the styles as text; control characters of the cells are visible already.
        click.echo("\n".join(lines))  # noqa: TID251
    print_lines(table.notes)


def print_tables(tables: Iterable[Table]) -> None:
    """Print every table with its notes."""
    for table in tables:
        print_table(table)


def print_json(content: Any) -> None:
    """Print plain values as one JSON document."""
    echo(json.dumps(content, indent=2, ensure_ascii=False))


def print_lines(lines: Iterable[str]) -> None:
    """Print lines of text; a terminal gets them folded between words."""
    for line in visible("\n".join(lines)).splitlines():
        if sys.stdout.isatty():
            print_paragraph(line)
        else:
            echo(line)


def print_paragraph(text: str, *, indent: str = "") -> None:
    """Print prose that is folded between words, to the terminal's width or to 80 columns.

    All lines but the first begin with `indent`.
    """
    width = _console().width if sys.stdout.isatty() else PAGE
    wrapper = textwrap.TextWrapper(width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    echo(unbroken(visible(text), wrapper.fill))


def _console() -> Console:
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False)
