"""Tables and notes as Markdown (GitHub's) and as LaTeX (booktabs); names come from anywhere and are escaped."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from repoeval_bench.report.names import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.table import Table

    from repoeval_bench.report.document import Part

_MARKDOWN = re.compile(r"([\\`*_<>|&~$#]|\](?=[\[(:]))")

_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': "''", "`": r"\textasciigrave{}", "·": r"\textperiodcentered{}", "…": r"\ldots{}",
    "\N{MINUS SIGN}": "$-$", "\N{EN DASH}": "--", "\N{EM DASH}": "---", "\N{MULTIPLICATION SIGN}": r"$\times$",
}  # fmt: skip


def markdown(parts: Sequence[Part]) -> str:
    """Every table under its title in bold, then the notes as a list."""
    blocks = []
    for part in parts:
        for table in part.tables:
            title = _title(table)
            blocks += [f"**{markdown_text(title[0])}**" + "".join(f"<br>\n{markdown_text(line)}" for line in title[1:])]
            blocks.append(_markdown_table(table))
        blocks.append("\n".join(f"{'  ' * note.startswith(' ')}- {markdown_text(note.strip())}" for note in part.notes))
    return "\n\n".join(filter(None, blocks)) + "\n"


def latex(parts: Sequence[Part]) -> str:
    r"""A `table` with caption for every table, then the notes in small print; to be `\input` into a document."""
    blocks = [r"% needs \usepackage{booktabs,graphicx}"]
    for part in parts:
        head: list[str] = []
        for table in part.tables:
            # On the page every table stands alone: the first one's title goes with the others of its part.
            title = _title(table)
            head = title[:-1] if len(title) > 1 else head
            blocks.append(_latex_table(table, "; ".join([*head, title[-1]])))
        if part.notes:
            lines = [f"{latex_text(note.strip())}\\par" for note in part.notes]
            blocks.append("\n".join([r"{\footnotesize\raggedright\noindent", *lines, "}"]))
    return "\n\n".join(blocks) + "\n"


def markdown_text(text: str) -> str:
    """The text so that Markdown shows it letter for letter."""
    return _MARKDOWN.sub(r"\\\1", printable(text))


def latex_text(text: str) -> str:
    r"""The text so that LaTeX prints it letter for letter; what pdflatex's fonts lack is printed as `?`."""
    escaped = "".join(_LATEX.get(char) or (char if _in_fonts(char) else "?") for char in printable(text))
    # Two of these in a row would melt into another sign; before a number stands a minus, not a hyphen.
    return re.sub(r"(?<![\w.-])-(?=\d)", "$-$", re.sub(r"([-',])(?=\1)", r"\1{}", escaped))


def _in_fonts(char: str) -> bool:
    return char.isascii() or (char.isalpha() and "À" <= char <= "ÿ" and char not in "ÐÞðþ")


def _markdown_table(table: Table) -> str:
    columns, rows = _cells(table, markdown_text, "**{}**")
    rule = ["---:" if column.justify == "right" else "---" for column in table.columns]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (columns, rule, *rows))


def _latex_table(table: Table, caption: str) -> str:
    columns, rows = _cells(table, latex_text, r"\textbf{{{}}}")
    lines = []
    for cells in (columns, *rows):
        line = " & ".join(cells)
        # A line break looks for a star or a bracket behind it.
        lines.append(f"{'{}' if line.startswith(('[', '*')) else ''}{line} \\\\")
    places = "".join("r" if column.justify == "right" else "l" for column in table.columns)
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{latex_text(caption)}}}",
            r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
            rf"\begin{{tabular}}{{{places}}}",
            r"\toprule",
            lines[0],
            r"\midrule",
            *lines[1:],
            r"\bottomrule",
            r"\end{tabular}}",
            r"\end{table}",
        ]
    )


def _title(table: Table) -> list[str]:
    return str(table.title or "").splitlines() or [""]


def _cells(table: Table, escape: Callable[[str], str], bold: str) -> tuple[list[str], list[list[str]]]:
    """Escaped headings, and the escaped rows; what the terminal shows in bold is bold."""
    rows = []
    for row, cells in zip(table.rows, zip(*(column.cells for column in table.columns), strict=True), strict=True):
        texts = [escape(str(cell).strip()) for cell in cells]
        rows.append([bold.format(text) if text and row.style == "bold" else text for text in texts])
    return [escape(str(column.header)) for column in table.columns], rows
