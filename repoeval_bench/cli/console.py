"""Printing: tables on standard output, notes on standard error."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.table import Table

MINIMUM_WIDTH = 120


def note(sentence: str) -> None:
    """One line on standard error, so that standard output stays a table or JSON."""
    click.echo(sentence, err=True)


def print_table(table: Table) -> None:
    """Print a table at its own width: a narrow terminal wraps it, but no figure is ever cut off."""
    from rich.console import Console
    from rich.measure import Measurement

    console = Console(highlight=False)
    needed = Measurement.get(console, console.options.update(width=1000), table).maximum
    console.width = max(console.width, MINIMUM_WIDTH, needed)
    console.print(table)
