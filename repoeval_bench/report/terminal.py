"""Tables as text for a terminal or a pipe: no word broken, no figure cut off, however narrow it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from textwrap import wrap
from typing import TYPE_CHECKING

from repoeval_bench.core.visible import one_line, visible
from repoeval_bench.report.table import Cell, Table, TableRow

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as Drawing


PAGE = 80
"""Columns of prose in a file or a pipe."""

NARROW = 24
"""Width of a folded column in a narrow terminal: the longest options of a spec fit."""

NARROWEST = 16
"""The same if not even one column of figures fits beside the columns that name the rows."""

_STYLES = {"": "", "strong": "bold", "faint": "dim", "better": "green", "worse": "red"}


def table_lines(table: Table, console: Console, width: int | None) -> list[str]:
    """The title and the rows, without the notes; `width` is the terminal's, None for a file or a pipe.

    Without a width every row is one line, except for prose in columns that have a width. The title is folded where it
    is wider than the rows and than a page.

    In a narrow terminal, headings are folded between words and specs between their options. Figures that still have no
    room are printed below in further tables with the same rows. Prose becomes a list of each row's cells.
    """
    from rich.text import Text

    table = _visible(table)
    title, drawings = _drawings(table, console, width) if table.columns else (table.title, [])
    with console.capture() as captured:
        if title:
            # A title within the table would be folded at the table's width.
            widest = width or max([PAGE, *(_width(drawing, console) for drawing in drawings)])
            console.print(Text("\n".join(_wrapped(title, widest)), style="bold"), soft_wrap=True)
        for drawing in drawings:
            console.width = width if width and _is_prose(table) else _width(drawing, console)
            console.print(drawing)
    # rich pads every line to the table's width; in a file or a diff that is noise.
    return [line.rstrip() for line in captured.get().splitlines()]


def _wrapped(lines: Iterable[str], width: int) -> Iterator[str]:
    for line in lines:
        yield from wrap(line, width, break_long_words=False, break_on_hyphens=False)


def _visible(table: Table) -> Table:
    """Return the table without control characters, which a terminal would obey."""
    return replace(
        table,
        title=tuple(map(visible, table.title)),
        columns=tuple(replace(column, name=visible(column.name)) for column in table.columns),
        rows=tuple(replace(row, cells=tuple(map(_visible_cell, row.cells))) for row in table.rows),
    )


def _visible_cell(cell: Cell) -> Cell:
    if isinstance(cell, tuple):
        return tuple(map(one_line, cell))
    return one_line(cell) if isinstance(cell, str) else cell


def _drawings(table: Table, console: Console, width: int | None) -> tuple[tuple[str, ...], list[Drawing]]:
    """Return the lines above the table, and the tables that are drawn below each other."""
    if width is None:
        return table.title, [_drawn(table)]
    if _is_prose(table):
        # It fits if no column of prose is wider than its longest word needs.
        narrowed = tuple(replace(column, width=NARROW) if column.prose else column for column in table.columns)
        fits = _width(_drawn(replace(table, columns=narrowed)), console) <= width
        return table.title, [_drawn(_folded(table)) if fits else _records(table)]
    for narrow in (_folded, _with_short_heads, lambda shown: _folded(shown, NARROW)):
        table = narrow(table)
        drawing = _drawn(table)
        if _width(drawing, console) <= width:
            return table.title, [drawing]
    drawings = []
    for part in _split(table, console, width):
        drawing = _drawn(part)
        drawings.append(drawing if _width(drawing, console) <= width else _drawn(_folded(part, NARROWEST)))
    return table.title, drawings


def _is_prose(table: Table) -> bool:
    return any(column.prose for column in table.columns)


def _width(drawing: Drawing, console: Console) -> int:
    """Characters of its lines where nothing is folded except what its columns fold."""
    from rich.measure import Measurement

    return Measurement.get(console, console.options.update(width=10_000), drawing).maximum


def _drawn(table: Table) -> Drawing:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as Drawing
    from rich.text import Text

    texts = table.texts()
    # Rows of several lines run into each other without a blank line between them.
    apart = _is_prose(table) and any("\n" in text for row in texts for text in row)
    drawing = Drawing(box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True, leading=int(apart))
    for i, column in enumerate(table.columns):
        width = column.width if column.prose else None
        if width is not None:
            width = max([width, *(len(word) for row in texts for word in row[i].split())])
        drawing.add_column(Text(column.name), justify=column.align, no_wrap=not column.prose, max_width=width)
    for row, shown in zip(table.rows, texts, strict=True):
        # A cell may hold what rich takes for markup.
        drawing.add_row(*map(Text, shown), style=_STYLES[row.emphasis])
    return drawing


def _with_short_heads(table: Table) -> Table:
    """The table with headings folded between words where they are wider than the cells below them."""
    if not table.rows:
        return table
    columns = []
    for column, cells in zip(table.columns, zip(*table.texts(), strict=True), strict=True):
        widest = max(len(line) for cell in cells for line in (cell.split("\n") or [""]))
        # "95 % CI" stays together: a line of its own that begins with a sign says nothing.
        words = column.name.replace("95 % CI", "95\xa0%\xa0CI")
        lines = wrap(words, max(1, widest, *map(len, words.split(" "))), break_long_words=False, break_on_hyphens=False)
        columns.append(replace(column, name="\n".join(lines).replace("\xa0", " ")))
    return replace(table, columns=tuple(columns))


def _records(table: Table) -> Drawing:
    """Every row as its first cell, with the headings of the others and their cells below."""
    from rich.table import Table as Drawing
    from rich.text import Text

    drawing = Drawing(box=None, pad_edge=False, show_header=False)
    drawing.add_column(no_wrap=True)
    drawing.add_column()
    for first, *rest in table.texts():
        drawing.add_row(Text(first), style="bold")
        for column, text in zip(table.columns[1:], rest, strict=True):
            if text:
                drawing.add_row(f"  {column.name}", Text(text))
    return drawing


def _folded(table: Table, most: int | None = None) -> Table:
    """The table with long texts folded to their column's width, or to `most` where that is less."""
    rows = []
    for row in table.rows:
        cells = list(row.cells)
        for i, column in enumerate(table.columns):
            if column.width is not None:
                cells[i] = folded(column.written(cells[i], row.number), min(column.width, most or column.width))
        rows.append(replace(row, cells=tuple(cells)))
    return replace(table, rows=tuple(rows))


def _split(table: Table, console: Console, width: int) -> list[Table]:
    """The columns of figures in as many tables as are needed, each behind the columns that name the rows."""
    labels = _labels(table)
    parts, shown = [], labels
    for column in range(len(labels), len(table.columns)):
        if shown != labels and _width(_drawn(_only(table, [*shown, column])), console) > width:
            parts.append(shown)
            shown = labels
        shown = [*shown, column]
    return [_only(table, part) for part in (*parts, shown)]


def _labels(table: Table) -> list[int]:
    """The columns that name the rows: those before the first figure, a rank included."""
    columns = range(len(table.columns))
    return list(columns[: next((i for i in columns if i and table.columns[i].align != "left"), 2)])


def _only(table: Table, columns: Sequence[int]) -> Table:
    """The table with these columns, under the same title."""
    rows = (TableRow(tuple(row.cells[i] for i in columns), row.emphasis, row.number) for row in table.rows)
    return replace(table, columns=tuple(table.columns[i] for i in columns), rows=tuple(rows))


def folded(text: str, width: int) -> str:
    r"""The text with line ends after blanks, commas and slashes, so that a spec or path breaks between its pieces.

    >>> folded("ast:max_nws=1500,min_nws=50,overlap=0", 20)
    'ast:max_nws=1500,\nmin_nws=50,overlap=0'
    """
    lines = [""]
    for piece in re.findall(r"[^ ,/\n]*[ ,/\n]|[^ ,/\n]+", text):
        if lines[-1].endswith("\n") or (lines[-1] and piece.strip() and len((lines[-1] + piece).rstrip()) > width):
            lines.append("")
        lines[-1] += piece
    return "\n".join(line.rstrip() for line in lines)
