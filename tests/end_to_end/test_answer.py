"""What `compare` and `eval` say first: the verdict, one table that fits 80 columns, and where the rest is."""

import re

import pytest

from repoeval_bench import compare
from repoeval_bench.report.verdict import verdict
from support.command import at_terminal, bench, succeed
from support.runs import write_run

AST, FIXED = "ast:max_nws=400", "fixed:max_nws=400"
ESCAPE = re.compile(r"\x1b\[[\d;]*m")


@pytest.fixture
def stored(tmp_path):
    """Two runs over 40 files, `better` clearly ahead of `plain` by 0.2."""
    plain = [0.3 + 0.01 * (i * 7 % 13) for i in range(80)]
    better = [value + 0.2 + 0.001 * (i % 5) for i, value in enumerate(plain)]
    files = [f"f{i // 2}" for i in range(80)]
    return [
        write_run(tmp_path / name, {"ndcg@10": values}, files=files)
        for name, values in (("plain", plain), ("better", better))
    ]


def table_of(out):
    """The lines of the one table."""
    (table,) = [part for part in out.split("\n\n") if "───" in part]
    return table.splitlines()


def test_the_verdict_is_the_first_line(stored, tmp_path):
    """At most four lines on who wins, by how much and how sure that is; one table within 80 columns; notes; the folders."""
    done = succeed("compare", "plain", "better", "--out", tmp_path)
    paragraph, *rest = done.out.split("\n\n")
    assert len([line for line in rest[-2].splitlines() if not line.startswith(" ")]) <= 3
    assert paragraph.replace("\n", " ") == verdict(stored).text
    assert len(paragraph.splitlines()) <= 4
    assert max(map(len, "\n".join([paragraph, *rest[:-1]]).splitlines())) <= 80
    assert len(done.out.splitlines()) < 25
    row = next(line for line in table_of(done.out) if " plain " in line)
    difference = compare(stored)[0].difference
    assert row.split()[2] == f"{-difference:+.3f}"
    assert row.endswith("worse")
    assert str(tmp_path / "better") in rest[-1]
    assert f"repoeval-bench report --out {tmp_path}" in rest[-1]


def test_colours_are_for_terminals(stored, tmp_path):
    """A worse run is red at a terminal of 80 columns; in a pipe no colour is printed."""
    words = ("compare", "plain", "better", "--out", tmp_path)
    coloured = at_terminal(*words, columns=80)
    assert re.search(r"\x1b\[31m[^\n]*plain", coloured)
    piped = bench(*words).out
    assert "\x1b" not in piped
    assert ESCAPE.sub("", coloured).split("\n\n")[0] == piped.split("\n\n")[0]
