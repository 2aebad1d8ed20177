"""Tables as Markdown (GitHub's), LaTeX (booktabs) and CSV; names come from anywhere and are escaped."""

import csv
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from repoeval_bench.core.words import one_line
from repoeval_bench.report.table import Cell, Column, ScoreCell, Table

_MARKDOWN = re.compile(r"([\\`*_<>|&~$#]|\](?=[\[(:]))")

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "`": r"\textasciigrave{}",
    "·": r"\textperiodcentered{}",
    "…": r"\ldots{}",
}


def markdown(tables: Sequence[Table]) -> str:
    """Every table under its title in bold, followed by its notes as a list."""
    blocks = []
    for table in tables:
        if title := [markdown_text(line) for line in table.title if line.strip()]:
            blocks.append("<br>\n".join([f"**{title[0]}**", *title[1:]]))
        blocks.append(markdown_table(table) if table.columns else "")
        blocks.append(
            "\n".join(f"{'  ' * note.startswith(' ')}- {markdown_text(note.strip())}" for note in table.notes)
        )
    return "\n\n".join(filter(None, blocks)) + "\n"


def markdown_table(table: Table) -> str:
    """The rows under their headings, without title and notes."""
    rows = _escaped(table, _MARKDOWN_STYLE)
    heads = [markdown_text(column.name) for column in table.columns]
    rule = ["---:" if column.align == "right" else "---" for column in table.columns]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, rule, *rows))


def markdown_text(text: str) -> str:
    """The text so that Markdown shows it letter for letter."""
    return _MARKDOWN.sub(r"\\\1", one_line(text))


def latex(tables: Sequence[Table]) -> str:
    r"""A `table` for every table, its notes in small print below the rows; to be `\input` into a document."""
    blocks = [r"% needs \usepackage{booktabs,graphicx}"]
    for table in tables:
        notes = [f"\\noindent {latex_line(note.strip())}\\par" for note in table.notes]
        small = [r"{\footnotesize\raggedright", *notes, "}"] if notes else []
        if table.columns:
            blocks.append(_latex_table(table, "; ".join(table.title), small))
        elif small:
            blocks.append("\n".join(small))
    return "\n\n".join(blocks) + "\n"


def latex_text(text: str) -> str:
    """The text so that LaTeX prints it letter for letter."""
    escaped = "".join(_LATEX.get(char, char) for char in one_line(text))
    return re.sub(r"(?<![\w.-])-(?=\d)", "$-$", escaped)  # a number has a minus before it, not a hyphen


def latex_line(text: str) -> str:
    """`latex_text` that may be broken within a spec or a list of options, which has no blank to break at."""
    return re.sub(r"(?:[,=:](?!\d\d\d\b)|\\_)(?=[^\s{])", r"\g<0>\\allowbreak{}", latex_text(text))


def _latex_table(table: Table, caption: str, notes: Sequence[str]) -> str:
    cells = [[latex_text(column.name) for column in table.columns], *_escaped(table, _LATEX_STYLE)]
    heads, *rows = [f"{' & '.join(row)} \\\\" for row in cells]
    alignment = "".join("r" if column.align == "right" else "l" for column in table.columns)
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{latex_line(caption)}}}",
            r"\medskip",
            r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
            rf"\begin{{tabular}}{{{alignment}}}",
            r"\toprule",
            heads,
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}}",
            *([r"\par\medskip", *notes] if notes else []),
            r"\end{table}",
        ]
    )


@dataclass(frozen=True, slots=True)
class _Style:
    """The way a format escapes text and sets bold and raised text; `between` separates the lines of a cell."""

    escape: Callable[[str], str]
    bold: str
    raised: str
    between: str


_MARKDOWN_STYLE = _Style(markdown_text, "**{}**", "<sup>{}</sup>", "<br>")
_LATEX_STYLE = _Style(latex_text, r"\textbf{{{}}}", r"\textsuperscript{{{}}}", "; ")


def _escaped(table: Table, style: _Style) -> list[list[str]]:
    """The escaped texts of the rows, emphasized ones bold."""
    rows = []
    for row in table.rows:
        cells = [_cell(column, cell, style) for column, cell in zip(table.columns, row.cells, strict=True)]
        rows.append([style.bold.format(cell) if cell and row.emphasis == "strong" else cell for cell in cells])
    return rows


def _cell(column: Column, cell: Cell, style: _Style) -> str:
    if isinstance(cell, ScoreCell):
        text = style.escape(column.written(cell.value))
        raised = style.raised.format(style.escape(cell.beats)) if cell.beats else ""
        return (style.bold.format(text) if cell.best else text) + raised
    lines = cell if isinstance(cell, tuple) else (column.written(cell),)
    return style.between.join(style.escape(line.strip()) for line in lines)


def as_csv(table: Table) -> str:
    """The rows under their headings, numbers in full precision, without title and notes."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(column.name for column in table.columns)
    for row in table.rows:
        writer.writerow(_inert(column, cell) for column, cell in zip(table.columns, row.cells, strict=True))
    return stream.getvalue()


def _inert(column: Column, cell: Cell) -> str | float | None:
    """Text that a spreadsheet would take for a formula gets an apostrophe before it; numbers stay numbers."""
    # A name may come from a log of others, and a spreadsheet runs `=cmd|…` when the file is opened.
    if cell is None or isinstance(cell, int | float):
        return cell
    text = column.written(cell)
    return "'" + text if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
