"""Printing tables on standard output."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from repoeval_bench.report.document import Part

MINIMUM_WIDTH = 120


def print_table(table: Table, *, prose: bool = False) -> None:
    """Print a table: figures at the table's own width, so that none is ever cut off; prose is folded to fit."""
    from rich.measure import Measurement
    from rich.text import Text

    console = _console()
    needed = Measurement.get(console, console.options.update(width=1000), table).maximum
    console.width = max(console.width, MINIMUM_WIDTH, 0 if prose else needed)
    # A title within the table would be folded at the table's width.
    title, table.title = table.title, None
    with console.capture() as captured:
        if title:
            console.print(Text(str(title), style="bold"), soft_wrap=True)
        console.print(table)
    # rich pads every line to the table's width; in a file or a diff that is noise.
    click.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))


def print_part(part: Part) -> None:
    """Print its tables, then its notes."""
    for table in part.tables:
        print_table(table)
    for note in part.notes:
        click.echo(note)


def at_terminal() -> bool:
    """Whether standard output is a terminal that shows lines; a file or a pipe is none."""
    # Colour can be forced upon a pipe; it stays a pipe.
    return sys.stdout.isatty() and not (console := _console()).is_dumb_terminal and console.encoding.startswith("utf")


def _console() -> Console:
    from rich.console import Console

    return Console(highlight=False, markup=False)  # a cell may hold brackets
