"""Printing tables on standard output."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

MINIMUM_WIDTH = 120


def print_table(table: Table) -> None:
    """Print a table at its own width: a narrow terminal wraps it, but no figure is ever cut off."""
    from rich.console import Console
    from rich.measure import Measurement

    console = Console(highlight=False, markup=False)  # a cell may hold brackets
    needed = Measurement.get(console, console.options.update(width=1000), table).maximum
    console.width = max(console.width, MINIMUM_WIDTH, needed)
    console.print(table)
