"""Tables on standard output: no word broken, no figure cut off, whatever it is and however wide."""

import re
import sys

import pytest

from repoeval_bench.cli.console import print_lines, print_table
from repoeval_bench.cli.listing import LISTS
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


@pytest.mark.parametrize("columns", [30, 60, 80, 100])
def test_a_narrow_terminal_gets_each_row_as_a_list(printed, columns):
    """Every figure is there once beside its heading, and no option of a spec is cut in two."""
    lines = printed(scores(), columns)
    for i, name in enumerate(MEASURES):
        assert [line.split("  ")[-2:] for line in lines if f"0.1{i}23" in line] == [[name, f"0.1{i}23"]]
    assert all(option in "".join(lines) for option in AST.split(","))
    assert "…" not in "".join(lines)


@pytest.mark.parametrize("what", LISTS)
def test_lists_fit_a_terminal(printed, what):
    """Prose is folded between words, or the cells are below each other; no word is broken."""
    table = LISTS[what]()
    words = {piece for row in table.texts() for text in row for piece in re.split(r"[\s,/]", text)}
    lines = printed(table, 80)
    assert max(map(len, lines)) <= 80
    assert {word for word in words if len(word) < 20} <= {
        piece for line in lines for piece in re.split(r"[\s,/]", line)
    }


def test_a_list_of_records_within_a_record_is_columns_by_their_names():
    """A comparison over several repositories holds one: each is named by its first value."""
    differences = [{"repository": "a", "difference": 0.5, "ci": (0.4, 0.6)}, {"repository": "b", "difference": 0.1}]
    table = record_table([{"measure": "ndcg@10", "new": {"repositories": differences}}])
    assert dict(zip([column.name for column in table.columns], next(iter(table.texts())), strict=True)) == {
        "measure": "ndcg@10",
        "new.repositories.a.difference": "0.5",
        "new.repositories.a.ci.low": "0.4",
        "new.repositories.a.ci.high": "0.6",
        "new.repositories.b.difference": "0.1",
    }


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
