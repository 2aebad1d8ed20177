"""Printing tables on standard output."""

from __future__ import annotations

import re
import sys
import textwrap
from copy import copy
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rich.console import Console
    from rich.table import Column, Table

    from repoeval_bench.report.document import Part

_NARROW = 24
"""Characters of a folded column where the terminal has no room for more: a spec's longest options are as long."""


def print_table(table: Table, *, prose: bool = False) -> None:
    """Print a table without breaking a word or cutting a figure off.

    A file or a pipe gets every row on a line of its own, but for prose in columns that have a width. On a terminal
    that is too narrow, specs are folded between their options; the columns of figures that have no room are printed
    below, in further tables with the same rows. `prose` is folded between words, or becomes a list of its cells.
    """
    console = _console()
    # A title within the table would be folded at the table's width.
    title, table.title = table.title, None
    if not sys.stdout.isatty():
        parts, width = [_rebuilt(table)], None
    elif prose:
        parts, width = [_rebuilt(table, _folded)], console.width
        if _width(_narrowed(table), console) > width:
            parts = [_records(table)]
    else:
        parts, width = _fitted(table, console), None
    with console.capture() as captured:
        if title:
            from rich.text import Text

            console.print(Text(str(title), style="bold"), soft_wrap=True)
        for part in parts:
            console.width = width or _width(part, console)
            console.print(part)
    # rich pads every line to the table's width; in a file or a diff that is noise.
    click.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))


def print_part(part: Part) -> None:
    """Print its tables, then its notes."""
    for table in part.tables:
        print_table(table)
    print_lines(part.notes)


def print_lines(lines: Iterable[str]) -> None:
    """Print lines of text, such as `  key   meaning`; a terminal's are folded between words, a meaning below itself."""
    for line in "\n".join(lines).splitlines():
        if not sys.stdout.isatty():
            click.echo(line)
            continue
        key = re.match(r"\s*(?:\S+(?: \S+)*\s{2,})?", line)
        indent = " " * min(key.end() if key else 0, _NARROW)
        folded = textwrap.wrap(
            line, _console().width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
        click.echo("\n".join(folded))


def at_terminal() -> bool:
    """Whether standard output is a terminal that shows lines; a file or a pipe is none."""
    # Colour can be forced upon a pipe; it stays a pipe.
    return sys.stdout.isatty() and not (console := _console()).is_dumb_terminal and console.encoding.startswith("utf")


def _console() -> Console:
    from rich.console import Console

    return Console(highlight=False, markup=False)  # a cell may hold brackets


def _width(table: Table, console: Console) -> int:
    """Characters of the table's lines where nothing in it is folded but what its columns fold."""
    from rich.measure import Measurement

    return Measurement.get(console, console.options.update(width=10_000), table).maximum


def _narrowed(table: Table) -> Table:
    """The table with no column wider than needs be for its longest word, or for prose."""
    made = _rebuilt(table, _folded)
    for column in made.columns:
        if not column.no_wrap:
            words = [word for cell in (column.header, *column.cells) for word in str(cell).split()]
            column.max_width = max(_NARROW, *map(len, words), 0)
    return made


def _records(table: Table) -> Table:
    """Every row as its first cell and, below, the headings of the others with what stands under them."""
    from rich.table import Table

    made = Table(box=None, pad_edge=False, show_header=False)
    made.add_column(no_wrap=True)
    made.add_column()
    for row in zip(*(column.cells for column in table.columns), strict=True):
        made.add_row(row[0], style="bold")
        for column, cell in zip(table.columns[1:], row[1:], strict=True):
            if cell:
                made.add_row(f"  {column.header}", cell)
    return made


def _fitted(table: Table, console: Console) -> list[Table]:
    """The table as one that fits the terminal, or as several side by side, below each other."""
    wide = _rebuilt(table, _folded)
    if _width(wide, console) <= console.width:
        return [wide]
    narrow = _rebuilt(table, lambda text, width: _folded(text, min(width, _NARROW)))
    if _width(narrow, console) <= console.width:
        return [narrow]
    columns = range(len(table.columns))
    figures = next((i for i in columns if i and table.columns[i].justify != "left"), 2)
    labels = list(columns[:figures])
    parts, shown = [], labels
    for column in columns[figures:]:
        if shown != labels and _width(_rebuilt(narrow, keep=[*shown, column]), console) > console.width:
            parts.append(shown)
            shown = labels
        shown = [*shown, column]
    return [_rebuilt(narrow, keep=each) for each in (*parts, shown)]


def _rebuilt(
    table: Table, fold: Callable[[str, int], str] = lambda text, _: text, *, keep: Sequence[int] | None = None
) -> Table:
    """The same rows in the columns to `keep`, texts in columns that fold passed through `fold`, no word broken."""
    made = copy(table)
    made.columns, made.rows = [], []
    chosen = table.columns if keep is None else [table.columns[i] for i in keep]
    contents = [_cells(column, fold) for column in chosen]
    for column, cells in zip(chosen, contents, strict=True):
        width = column.max_width
        if width is not None:
            words = (word for cell in cells if isinstance(cell, str) for word in cell.split())
            width = max(width, *map(len, words), 0)
        made.add_column(
            column.header, justify=column.justify, no_wrap=column.no_wrap, overflow=column.overflow,
            min_width=column.min_width, max_width=width,
        )  # fmt: skip
    for row, shown in zip(table.rows, zip(*contents, strict=True), strict=True):
        made.add_row(*shown, style=row.style)
    return made


def _cells(column: Column, fold: Callable[[str, int], str]) -> list[Any]:
    width = column.max_width
    if width is None:
        return list(column.cells)
    return [fold(cell, width) if isinstance(cell, str) else cell for cell in column.cells]


def _folded(text: str, width: int) -> str:
    r"""The text with line ends after commas and slashes, so that a spec or a path is folded between its pieces.

    >>> _folded("ast:max_nws=1500,min_nws=50,overlap=0", 20)
    'ast:max_nws=1500,\nmin_nws=50,overlap=0'
    """
    words = []
    for word in text.split(" "):
        lines = [""]
        for piece in re.findall(r"[^,/]*[,/]?", word):
            if lines[-1] and len(lines[-1]) + len(piece) > width:
                lines.append("")
            lines[-1] += piece
        words.append("\n".join(lines))
    return " ".join(words)
