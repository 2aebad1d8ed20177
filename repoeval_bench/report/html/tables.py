"""Tables of a page from any list of columns: what is below a cell, and intervals as bars on one scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, compress
from typing import Any

from repoeval_bench.report.table import Cell, Column, Estimate, Table
from repoeval_bench.report.text import interval, printable

BAR = 58.0
"""Width of a cell's bar in user units."""


@dataclass(frozen=True, slots=True)
class PageCell:
    """A text with a line below it; `value` is what the column is sorted by, `bar` are (dot, from, to) within `BAR`."""

    text: str
    below: str = ""
    value: float | None = None
    bar: tuple[float, float, float] | None = None


def page_table(table: Table, runs: Sequence[int] = (), *, one_scale: bool = False) -> dict[str, Any]:
    """Return a table's heads and cells as the template shows them; a column without any value is left out.

    The first column of texts names the rows. `runs` are the positions of the rows' runs, in whose colours they are.
    Bars of a column share one scale, those of all columns where it is `one_scale`.
    """
    by_column = [[row.cells[i] for row in table.rows] for i in range(len(table.columns))]
    filled = [any(cell not in (None, "", ("",)) for cell in cells) for cells in by_column]
    columns, shown = list(compress(table.columns, filled)), list(compress(by_column, filled))
    names = next((i for i, column in enumerate(columns) if column.align == "left"), None)
    scales = [_ends(cells) if column.bar else None for column, cells in zip(columns, shown, strict=True)]
    if one_scale and (ends := [*chain(*filter(None, scales))]):
        scales = [scale and (min(ends), max(ends)) for scale in scales]
    cells = [
        [_cell(column, cell, scale) for cell in of_column]
        for column, of_column, scale in zip(columns, shown, scales, strict=True)
    ]
    return {
        "heads": [
            {
                "name": printable(column.name or column.key),
                "key": column.key,
                "meaning": column.meaning,
                "right": column.align == "right",
                "names": i == names,
                "lowest_first": column.lowest_first,
            }
            for i, column in enumerate(columns)
        ],
        "rows": list(zip(*cells, strict=True)),
        "runs": list(runs),
        "bar_width": int(BAR),
    }


def _ends(cells: Sequence[Cell]) -> tuple[float, float] | None:
    """The lowest and the highest end of the intervals; None where nothing is to be drawn."""
    estimates = [cell for cell in cells if isinstance(cell, Estimate)]
    ends = [end for cell in estimates for end in (cell.value, *(cell.ci or ())) if end is not None]
    return (min(ends), max(ends)) if ends else None


def _cell(column: Column, cell: Cell, scale: tuple[float, float] | None) -> PageCell:
    if isinstance(cell, Estimate):
        text, below = format(cell.value, column.number), interval(cell.ci, column.number)
        if scale is None or cell.ci is None or None in cell.ci:
            return PageCell(text, below, cell.value)
        low, high = scale
        unit = BAR / (high - low) if high > low else 0.0
        dot, start, end = (round(((value or 0.0) - low) * unit, 1) for value in (cell.value, *cell.ci))
        return PageCell(text, below, cell.value, (dot, start, end))
    if isinstance(cell, tuple):
        first, *rest = map(printable, cell)
        return PageCell(first, "; ".join(rest))
    value = cell if isinstance(cell, int | float) else None
    return PageCell(printable(column.written(cell)), value=value)
