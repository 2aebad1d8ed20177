"""Whatever a text from elsewhere holds: a terminal is given nothing that it obeys."""

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from repoeval_bench.cli.console import echo, print_json, print_paragraph, print_table, print_tables
from repoeval_bench.core.words import visible
from repoeval_bench.report.table import Column, make_table
from repoeval_bench.report.terminal import folded
from support.command import at_terminal, bench, one_sentence

NASTY = "a\x1b]0;title\x07b\x9b31mc\u202egnp.exe\u2066\x00\x08\x7f\x85\rend"
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@given(st.text(st.characters(codec=None)))
def test_nothing_is_left_that_a_terminal_obeys(text):
    """Tab, line end and every other character stay what they are; what is made visible names its character."""
    text = text.replace("\r\n", "\n")
    shown = visible(text)
    assert shown == "".join(f"\\u{ord(char):04x}" if OBEYED.match(char) else char for char in text)
    assert visible(f"{shown}\r\n") == f"{shown}\r\n"


@given(st.dictionaries(st.text(st.characters(codec=None), max_size=9), st.text(st.characters(codec=None)), max_size=2))
def test_json_that_is_printed_is_the_same_json(content):
    """An escape that is seen is JSON's own."""
    assert json.loads(visible(json.dumps(content, indent=2, ensure_ascii=False))) == content


def test_every_way_to_print_is_harmless(capsys):
    """Lines, JSON, and tables with titles, headings, cells of several lines and notes; ruff refuses all other ways."""
    echo(NASTY)
    echo(NASTY, err=True, colour="cyan")
    print_json({NASTY: NASTY})
    table = make_table([NASTY, Column(name="prose", prose=True)], [(NASTY, (NASTY, NASTY))], title=NASTY, notes=[NASTY])
    print_table(table)
    print_tables([table])
    out, err = capsys.readouterr()
    assert not OBEYED.search(out + err)
    assert out.count("\\u001b]0;title\\u0007") == 1 + 2 + 2 * 6  # standard output, an object, two tables


def test_no_line_ends_between_a_number_and_its_per_cent(capsys):
    """In prose and below a table alike."""
    for before in range(60, 80):
        print_paragraph(f"{'x' * before} 95 % interval")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 20
    assert not any(line.startswith("%") for line in lines)
    assert folded("aaaa bbb 95 % of it", 11) == "aaaa bbb\n95 % of it"


def test_a_real_terminal_gets_our_colours_and_no_other_escape(tmp_path):
    """On a terminal only the header's own colour is an escape; an error shows the path it is about."""
    (tmp_path / "a.py").write_text(f"# {NASTY}\n")
    text = at_terminal("chunker", "show", tmp_path / "a.py", "--chunker", "file")
    assert "\\u001b]0;title\\u0007" in text
    assert not OBEYED.search(re.sub(r"\x1b\[(?:36|0)?m", "", text))
    assert "no\\u001b[2Jne" in one_sentence(bench("chunker", "show", tmp_path / "no\x1b[2Jne"), 2)
