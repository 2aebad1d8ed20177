"""Whatever a run is called, an export prints it letter for letter and nothing else happens."""

import csv
import io
import re
import shutil
from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from repoeval_bench.core.words import one_line
from repoeval_bench.report.formats import latex, latex_text, markdown
from repoeval_bench.report.scores import scores_csv
from repoeval_bench.report.table import figures, make_table, with_notes
from support.command import pdflatex
from support.runs import write_run

NAMES = st.text(min_size=1, max_size=40) | st.text("\\{}&%$#_~^<>|\"'`*[]()!-,;:.@=+/ \nabc0", min_size=1, max_size=40)

NASTY = (
    *("\\input{/etc/passwd}", "a & b % c $x_1$ #2 ~ ^ {}", "--- '' ,, ?` !` << >>", "[1] * \\\\", '"q" |x|'),
    *("é·…ß", "\\end{tabular}", "-1 [-0.5, +0.5]", "=cmd|' /C calc'!A0", "x\x00y\ud800"),
)


def tables(name):
    """One table with the name as title, cell and note."""
    return with_notes([make_table(["chunker", *figures("R@5")], [(name, -0.5)], title=name)], [name])


class Cells(HTMLParser):
    """The text of every cell of the tables, and every tag."""

    def __init__(self):
        super().__init__()
        self.cells, self.tags, self.inside = [], set(), False

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag in {"td", "th"}:
            self.inside = True
            self.cells.append("")

    def handle_endtag(self, tag):
        self.inside = self.inside and tag not in {"td", "th"}

    def handle_data(self, data):
        if self.inside:
            self.cells[-1] += data


def shown(text):
    """What is left of a text on one line of a page: trimmed, what a terminal obeys as escapes."""
    return one_line(text.strip())


@given(NAMES)
@example("\r\r")
def test_markdown_shows_the_name_and_no_markup_of_it(name):
    """Another library's rendering of the exported table has the name as the cell's text, and no tag of the name's."""
    (table,) = [block for block in markdown(tables(name)).split("\n\n") if block.startswith("| chunker")]
    page = Cells()
    page.feed(MarkdownIt("commonmark", {"html": True}).enable("table").render(table))
    # A renderer trims a cell's ends; what is blank but not a space it may keep.
    assert page.cells[2].strip() == shown(name).strip()
    assert page.cells == ["chunker", "R@5", page.cells[2], "-0.5000"]
    assert page.tags <= {"table", "thead", "tbody", "tr", "th", "td"}


@given(NAMES)
def test_latex_has_no_sign_of_the_names_left_alone(name):
    """Braces balance, and no character with a meaning in TeX is left unescaped; one line stays one line."""
    text = latex_text(name)
    assert "\n" not in text
    bare = re.sub(r"\\[a-z]+\{\}|\\[{}&%$#_]|\$-\$", "", text)
    assert not set(bare.replace("{}", "")) & set('\\{}&%$#_~^<>|"`')
    whole = re.sub(r"\\[{}]", "", latex(tables(name)))
    assert whole.count("{") == whole.count("}")
    assert len(re.findall(r"\\\\$", whole, flags=re.MULTILINE)) == 2


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="needs pdflatex")
def test_pdflatex_prints_nasty_names(tmp_path):
    pdflatex(tmp_path, latex([table for name in NASTY for table in tables(name)]) + "\n")


@pytest.mark.parametrize("name", NASTY[:-1])  # a lone surrogate cannot be in a file
def test_csv_gives_the_name_back_and_no_formula(tmp_path, name):
    """A reader gets the name as it is, but for the apostrophe that keeps a spreadsheet from computing it."""
    run = write_run(tmp_path / "run", {"mrr": [0.25, 0.5]}, chunker=name)
    rows = list(csv.DictReader(io.StringIO(scores_csv([run]))))
    assert {row["chunker"].removeprefix("'" if name[0] in "=+-@" else "") for row in rows} == {name}
    assert not any(value.startswith(("=", "+", "@")) for row in rows for value in row.values())
    # The last two rows are of ceilings, which made runs do not have.
    assert [row["MRR"] and float(row["MRR"]) for row in rows] == [0.375] * 3 + [""] * 2
