"""The one table: records that the terminal, Markdown, LaTeX and CSV are written from.

A cell holds a value, not its text; the column says how the value is written. A column with `value` is the one entry
behind every form: `table_of` gives what people read (terminal, Markdown, LaTeX, pages), `record_of` what programs
compute with (CSV, JSON). Nothing here knows where it is shown: `terminal`, `formats` and `html/` do.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from repoeval_bench.analysis.records import Interval, PairVerdict
from repoeval_bench.report.text import interval, outcome_name, probability

P_VALUE = "p"
"""The `number` of a column of p-values."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its 95 % interval."""

    value: float
    ci: Interval


@dataclass(frozen=True, slots=True)
class ScoreCell:
    """A mean, whether it is the best of its column, and the letters of the rows that it is better than."""

    value: float
    best: bool
    beats: str


Cell = str | tuple[str, ...] | int | float | None | Estimate | ScoreCell | PairVerdict
"""A tuple is a cell of several lines."""

Form = Literal["table", "page", "record"]
"""Outputs that show a column: terminal, Markdown and LaTeX; HTML; CSV and JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A heading and how the cells below it are written.

    `number` is the format of numbers (`.4f`, `+.4f`, `.1%`, `,`) or `P_VALUE`; `missing` is written for None. On a
    terminal texts longer than `width` are folded, specs and paths between their pieces; `prose` is folded between
    words, to `width` in files too.

    `value` gives a record's cell, and `key` is what CSV and JSON call it (by default `name`). `forms` are where the
    column is. `interval`: its cells are an `Estimate` or None, and records have `key.low` and `key.high` too.
    `lowest_first` is how a page sorts by it, `meaning` what it says of it.
    """

    name: str
    align: Literal["left", "right"] = "left"
    number: str = ""
    missing: str = ""
    width: int | None = None
    prose: bool = False
    key: str = ""
    value: Callable[[Any], Cell] | None = None
    forms: tuple[Form, ...] = ("table", "page", "record")
    interval: bool = False
    lowest_first: bool = False
    meaning: str = ""

    def written(self, cell: Cell) -> str:
        """The cell's text."""
        form = self.number
        match cell:
            case None | str():
                return self.missing if cell is None else cell
            case tuple():
                return "\n".join(cell)
            case ScoreCell(value=value, beats=beats):
                return f"{value:{form}} {beats}".rstrip()
            case Estimate(value=value, ci=ci):
                return f"{value:{form}} {interval(ci, form)}"
            case PairVerdict():
                return outcome_name(cell)
            case _ if form == P_VALUE:
                return probability(cell)
            case _:
                return format(cell, form)


Emphasis = Literal["", "strong", "better", "worse"]
"""Emphasis of a row on a terminal; files show none but `strong`."""


@dataclass(frozen=True, slots=True)
class TableRow:
    """Cells in the order of the columns."""

    cells: tuple[Cell, ...]
    emphasis: Emphasis = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows under columns, a title of one or more lines above, notes below.

    A note that begins with blanks belongs to the one before it. Without columns there are only title and notes.
    """

    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]
    title: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def texts(self) -> list[list[str]]:
        """Every cell as it is written, row by row."""
        return [
            [column.written(cell) for column, cell in zip(self.columns, row.cells, strict=True)] for row in self.rows
        ]


def make_table(
    columns: Iterable[Column | str],
    rows: Iterable[TableRow | Sequence[Any]],
    *,
    title: str = "",
    notes: Iterable[str] = (),
) -> Table:
    """A table from plain values: a string is a column of text, a sequence of cells is a row without emphasis."""
    heads = tuple(Column(name=column) if isinstance(column, str) else column for column in columns)
    table_rows = tuple(row if isinstance(row, TableRow) else TableRow(tuple(row)) for row in rows)
    return Table(columns=heads, rows=table_rows, title=tuple(title.splitlines()), notes=tuple(notes))


def table_of(
    columns: Iterable[Column],
    records: Iterable[Any],
    form: Form = "table",
    *,
    title: str = "",
    notes: Iterable[str] = (),
    emphasis: Callable[[Any], Emphasis] = lambda _: "",
) -> Table:
    """A row for each record, under those of the columns that have a value and are in this form."""
    shown = [column for column in columns if form in column.forms and column.value is not None]
    rows = (
        TableRow(tuple(column.value(record) for column in shown if column.value), emphasis(record))
        for record in records
    )
    return make_table(shown, rows, title=title, notes=notes)


def record_of(columns: Iterable[Column], record: Any) -> dict[str, Any]:
    """The plain values of a record by key: an estimate with its ends, a verdict by its outcome."""
    values: dict[str, Any] = {}
    for column in columns:
        if column.value is None or "record" not in column.forms:
            continue
        cell, key = column.value(record), column.key or column.name
        if column.interval:
            value, ends = (cell.value, cell.ci) if isinstance(cell, Estimate) else (None, None)
            values |= {key: value, **dict(zip((f"{key}.low", f"{key}.high"), ends or (None, None), strict=True))}
        else:
            values[key] = cell.outcome if isinstance(cell, PairVerdict) else cell
    return values


def with_notes(tables: Iterable[Table], notes: Iterable[str]) -> list[Table]:
    """The tables with these notes below the last one; without tables the notes alone."""
    *first, last = list(tables) or [make_table([], [])]
    return [*first, replace(last, notes=(*last.notes, *notes))]


def figures(*names: str, number: str = ".4f", missing: str = "-") -> tuple[Column, ...]:
    """Columns of numbers, aligned right."""
    return tuple(Column(name=name, align="right", number=number, missing=missing) for name in names)


def number(name: str, value: Callable[[Any], Cell], form: str = ".4f", *, missing: str = "-", **more: Any) -> Column:
    """A column of numbers, aligned right, with where they come from; `more` are other fields of the column."""
    return Column(name=name, align="right", number=form, missing=missing, value=value, **more)


def spec_column(name: str, width: int = 36) -> Column:
    """A column of specs, paths or ids, which a terminal folds between their pieces."""
    return Column(name=name, width=width)


def record_table(records: Iterable[Mapping[str, Any]]) -> Table:
    """Records of plain values as a table with a column for every key of any of them.

    A record within a record gives `outer.inner`, a pair of numbers `key.low` and `key.high`.
    """
    flat = [_flat(record) for record in records]
    names = list(dict.fromkeys(key for record in flat for key in record))
    return make_table(names, ([record.get(name) for name in names] for record in flat))


def _flat(record: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in record.items():
        if isinstance(value, dict):
            flat.update(_flat(value, f"{prefix}{key}."))
        elif isinstance(value, list | tuple):
            flat.update({f"{prefix}{key}.{end}": item for end, item in zip(("low", "high"), value, strict=True)})
        else:
            flat[prefix + key] = value
    return flat
