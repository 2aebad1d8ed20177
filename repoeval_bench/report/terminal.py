"""Tables as text for a terminal or a pipe, drawn by rich: no word is broken and no figure is cut off."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from repoeval_bench.core.words import one_line, unbroken, visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as Drawing
    from rich.text import Text

    from repoeval_bench.report.table import Column, Table  # `--help` needs none


PAGE = 80
"""Columns of prose in a file or a pipe."""

_READ = 120
"""Columns of a table with prose there."""

_UNBOUNDED = 100_000

# Stands for a blank at which rich, which folds at each of Unicode's, must not fold.
_KEPT = "\ue000"

# A comma within a number, as in 12,000, ends no piece.
_PIECES = re.compile(r"(?:[^ ,/\n]|,(?=\d))*(?:[ /\n]|,(?!\d))|(?:[^ ,/\n]|,(?=\d))+")

_STYLES = {"": "", "strong": "bold", "better": "green", "worse": "red"}


def table_lines(table: Table, console: Console, width: int | None) -> list[str]:
    """The title and the rows, without the notes; `width` is the terminal's, None for a file or a pipe.

    In a pipe a row of figures is one line, which grep finds, and prose is folded to a page. A terminal gets specs
    folded between their options, then headings folded between words. Where that is still too wide, each row is a list
    of its cells.
    """
    from rich.text import Text

    # rich folds to the console's width.
    console.width = width or (_READ if any(column.prose for column in table.columns) else _UNBOUNDED)
    drawing = _drawing(table, console, width)
    room = width or max(PAGE, _width(drawing, console))
    parts: list[Drawing | Text] = [Text(folded(visible(line), room), style="bold") for line in table.title]
    if table.columns:
        parts.append(drawing)
    with console.capture() as captured:
        for part in parts:
            console.print(part, crop=False, overflow="ignore")
    # rich pads every line to the table's width; in a file or a diff that is noise.
    return [line.replace(_KEPT, " ").rstrip() for line in captured.get().splitlines()]


def _drawing(table: Table, console: Console, width: int | None) -> Drawing | Text:
    texts = _texts(table)
    if width is None:
        return _rows(table, texts)
    folds = [(column.width if not column.prose else None) for column in table.columns]
    texts = [[folded(text, fold) if fold else text for text, fold in zip(row, folds, strict=True)] for row in texts]
    for tight in (False, True):
        drawing = _rows(table, texts, tight=tight)
        if _width(drawing, console) <= width:
            return drawing
    return _records(table, width)


def _texts(table: Table) -> list[list[str]]:
    """The cells without characters that a terminal would obey; only a tuple has several lines."""
    return [
        [
            "\n".join(map(one_line, cell)) if isinstance(cell, tuple) else one_line(column.written(cell))
            for column, cell in zip(table.columns, row.cells, strict=True)
        ]
        for row in table.rows
    ]


def _rows(table: Table, texts: list[list[str]], *, tight: bool = False) -> Drawing:
    """The rows under their headings; in a tight table only prose is wider than its longest word."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as Drawing
    from rich.text import Text

    # Rows of several lines run into each other without a blank line between them.
    apart = any(column.prose for column in table.columns) and any("\n" in text for row in texts for text in row)
    drawing = Drawing(box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True, leading=int(apart))
    for column, cells in zip(
        table.columns, zip(*texts, strict=True) if texts else [()] * len(table.columns), strict=True
    ):
        least = _least_width(column, cells)
        drawing.add_column(
            Text(_head(column)),
            justify=column.align,
            min_width=least,
            max_width=max(least, column.width or _UNBOUNDED) if column.prose else least if tight else None,
        )
    for row, shown in zip(table.rows, texts, strict=True):
        # A cell may hold what rich takes for markup.
        drawing.add_row(*map(Text, shown), style=_STYLES[row.emphasis])
    return drawing


def _least_width(column: Column, cells: tuple[str, ...]) -> int:
    """Columns of a terminal for the longest word of the heading and of prose, and for the longest line of the rest."""
    from rich.cells import cell_len

    pieces = [piece for cell in cells for piece in (cell.split() if column.prose else cell.split("\n"))]
    return max(map(cell_len, [*_head(column).split(), *pieces, " "]))


def _head(column: Column) -> str:
    """Return a heading in which rich does not fold between a number and its `%`."""
    return re.sub(r"(?<=\d) (?=%)", _KEPT, visible(column.name))


def _records(table: Table, width: int) -> Text:
    """Every row as its first cell, with the headings of the others and their cells below."""
    from rich.cells import cell_len, set_cell_size
    from rich.text import Text

    heads = [visible(column.name) for column in table.columns[1:]]
    widest = max(map(cell_len, [*heads, ""]))
    lines = Text()
    for first, *rest in _texts(table):
        lines.append(f"\n{first}", style="bold")
        for head, text in zip(heads, rest, strict=True):
            if text:
                indented = folded(text.strip(), width - widest - 4).replace("\n", "\n" + " " * (widest + 4))
                lines.append(f"\n  {set_cell_size(head, widest)}  {indented}")
    return lines


def _width(drawing: Drawing | Text, console: Console) -> int:
    """The columns of a terminal that it takes where rich folds what can be folded."""
    from rich.segment import Segment

    return max((Segment.get_line_length(line) for line in Segment.split_lines(console.render(drawing))), default=0)


def folded(text: str, width: int) -> str:
    r"""The text with line ends after blanks, commas and slashes, so that a spec or path breaks between its pieces.

    >>> folded("ast:max_nws=1500,min_nws=50,overlap=0", 20)
    'ast:max_nws=1500,\nmin_nws=50,overlap=0'
    >>> folded("budgets up to 12,000 characters", 17)
    'budgets up to\n12,000 characters'
    """

    def fold(text: str) -> str:
        lines = [""]
        for piece in _PIECES.findall(text):
            if lines[-1].endswith("\n") or (lines[-1] and piece.strip() and len((lines[-1] + piece).rstrip()) > width):
                lines.append("")
            lines[-1] += piece
        return "\n".join(line.rstrip() for line in lines)

    return unbroken(text, fold)
