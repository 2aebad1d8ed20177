"""Tables on standard output: no word broken, no figure cut off, whatever it is and however wide."""

import re
import sys

import pytest

from repoeval_bench.cli.console import print_lines, print_table
from repoeval_bench.cli.listing import LISTS, list_table
from repoeval_bench.report.formats import as_csv, latex, markdown
from repoeval_bench.report.html.tables import page_table
from repoeval_bench.report.table import (
    Column,
    Estimate,
    figures,
    make_table,
    number,
    record_of,
    record_table,
    spec_column,
    table_of,
)

AST = "ast:max_nws=1500,min_nws=50,overlap=0,language=auto"
MEASURES = [f"measure {i}" for i in range(9)]


def scores():
    """Two rows of nine figures, each another, under a spec that its column folds."""
    return make_table(
        [spec_column("chunker"), "mean over", *figures(*MEASURES)],
        [
            (AST, "micro, 60 queries", *(0.1023 + i / 100 for i in range(9))),
            ("", "  micro ceiling", *(0.2023 + i / 100 for i in range(9))),
        ],
        title="A title\nof two lines",
    )


@pytest.fixture
def printed(capsys, monkeypatch):
    """What is printed to a pipe, or to a terminal of some columns; its lines."""

    def call(shown, columns=None):
        if columns:
            monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
            monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", str(columns or 40))
        (print_lines if isinstance(shown, list) else print_table)(shown)
        return re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out).splitlines()

    return call


def test_a_pipe_gets_every_row_whole(printed):
    """However narrow the terminal is said to be: a row is a line that grep finds, and a spec is as it is written."""
    lines = printed(scores())
    (row,) = [line for line in lines if AST in line]
    assert row.split()[-9:] == [f"0.1{i}23" for i in range(9)]
    assert "A title" in lines
    assert not any(line.endswith(" ") for line in lines)


@pytest.mark.parametrize("kind", LISTS)
def test_a_pipe_gets_prose_no_wider_than_a_page(printed, kind):
    assert max(map(len, printed(list_table(kind)))) <= 120


@pytest.mark.parametrize("columns", [None, 60, 100])
def test_a_title_is_folded_between_words(printed, columns):
    """At the terminal's width; in a pipe at that of the rows, or at 80 columns below narrower ones."""
    title = " ".join(f"word{i}" for i in range(40))
    for figures_beside in (1, 9):
        rows = [(AST, *range(figures_beside))]
        table = make_table([spec_column("chunker"), *figures(*MEASURES[:figures_beside])], rows, title=title)
        lines = printed(table, columns)
        above = lines[: next(i for i, line in enumerate(lines) if not line)]
        assert " ".join(above).split() == title.split()
        widest = columns or max(80, *map(len, lines[len(above) :]))
        assert max(map(len, above)) <= widest
        assert len(above[0]) + len(" " + above[1].split()[0]) > widest


def test_a_wide_terminal_folds_specs_between_options(printed):
    """The column keeps its width, and no option is cut in two."""
    lines = printed(scores(), 160)
    assert any(line.split()[0] == "ast:max_nws=1500,min_nws=50," for line in lines if line.split())
    assert sum("0.1" in line for line in lines) == 1


@pytest.mark.parametrize("columns", [80, 120, 200])
def test_a_long_name_is_whole(printed, columns):
    """A name without a place to fold at is longer than its column, and than the terminal if need be."""
    name = "py:a_module_of_mine:" + "AClassWithAName" * 6
    for table in (make_table(["", Column(name="", prose=True)], [(name, name)]), make_table([name, name], [(1, name)])):
        assert name in " ".join(printed(table, columns)).split()


def test_a_heading_keeps_a_number_with_its_percent_sign(printed):
    table = make_table(["run", *figures(*[f"mean{i}, 95 % CI" for i in range(6)])], [("ast", *[0.5] * 6)])
    assert not any("mean0, 95 % CI" in line for line in printed(table, 60))
    assert sum(line.count("95 %") for line in printed(table, 60)) == 6


@pytest.mark.parametrize("what", LISTS)
@pytest.mark.parametrize("columns", [80, 120])
def test_lists_fit_a_terminal(printed, what, columns):
    """Prose is folded between words, and no word is broken; two lists have longer words than 80 columns hold."""
    table = list_table(what)
    words = {piece for row in table.texts() for text in row for piece in re.split(r"[\s,/]", text)}
    lines = printed(table, columns)
    assert max(map(len, lines)) <= max(columns, {"measures": 84, "protocols": 107}.get(what, 0))
    assert {word for word in words if len(word) < 20} <= {
        piece for line in lines for piece in re.split(r"[\s,/]", line)
    }


def test_text_is_folded_between_words(printed):
    """On a terminal alone."""
    text = [
        "name: what it means in many words that need two lines",
        "  key=1       its meaning, said at some length here",
    ]
    assert printed(text) == text
    assert printed(text, 34) == [
        *("name: what it means in many words", "that need two lines", "  key=1       its meaning, said at"),
        "some length here",
    ]


def test_a_column_is_one_entry_for_every_form(printed):
    """Terminal, Markdown, LaTeX, page, CSV: each writes it as it shows a number, the last two in full precision."""
    columns = [
        Column(name="run", value=lambda row: row[0]),
        number("score, 95 % CI", lambda row: Estimate(row[1], (0.25, 0.75)), ".2f", key="score", interval=True),
    ]
    table = table_of(columns, [("ast", 1 / 3)])
    shown = "0.33 [0.25, 0.75]"
    for text in ("\n".join(printed(table)), markdown([table]), latex([table])):
        assert "score, 95" in text
        assert shown in text
    page = page_table(table)
    assert [head["name"] for head in page["heads"]] == ["run", "score, 95 % CI"]
    assert (page["rows"][0][1].value, page["rows"][0][1].below) == (1 / 3, "[0.25, 0.75]")
    assert as_csv(record_table([record_of(columns, ("ast", 1 / 3))])).split() == [
        "run,score,score.low,score.high",
        f"ast,{1 / 3},0.25,0.75",
    ]
