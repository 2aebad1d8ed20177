"""Printing tables on standard output."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

MINIMUM_WIDTH = 120


def print_table(table: Table, *, prose: bool = False) -> None:
    """Print a table: figures at the table's own width, so that none is ever cut off; prose is folded to fit."""
    from rich.console import Console
    from rich.measure import Measurement

    console = Console(highlight=False, markup=False)  # a cell may hold brackets
    if prose:
        console.width = max(console.width, MINIMUM_WIDTH)
        console.print(table)
        return
    needed = Measurement.get(console, console.options.update(width=1000), table).maximum
    console.width = max(console.width, MINIMUM_WIDTH, needed)
    console.print(table)
