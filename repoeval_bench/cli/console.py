"""Printing tables on standard output."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.table import Table

MINIMUM_WIDTH = 120


def print_table(table: Table, *, prose: bool = False) -> None:
    """Print a table: figures at the table's own width, so that none is ever cut off; prose is folded to fit."""
    from rich.console import Console
    from rich.measure import Measurement
    from rich.text import Text

    console = Console(highlight=False, markup=False)  # a cell may hold brackets
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
