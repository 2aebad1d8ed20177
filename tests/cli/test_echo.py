"""Whatever a text from elsewhere holds: a terminal is given nothing that it obeys."""

import json
import re
import shlex
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoeval_bench.cli.console import print_json, print_table, print_tables
from repoeval_bench.cli.echo import echo
from repoeval_bench.core.visible import visible
from repoeval_bench.report.table import Column, make_table
from support.command import at_terminal, bench, one_sentence, succeed

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
    """Lines, JSON, and tables with titles, headings, cells of several lines and notes."""
    echo(NASTY)
    echo(NASTY, err=True, colour="cyan")
    print_json({NASTY: NASTY})
    table = make_table([NASTY, Column(name="prose", prose=True)], [(NASTY, (NASTY, NASTY))], title=NASTY, notes=[NASTY])
    print_table(table)
    print_tables([table])
    out, err = capsys.readouterr()
    assert not OBEYED.search(out + err)
    assert out.count("\\u001b]0;title\\u0007") == 1 + 2 + 2 * 6  # standard output, an object, two tables


def test_source_code_and_names_of_files_are_shown(tmp_path):
    """`chunk` prints what it cut, and an error the path it is about."""
    file = tmp_path / "a\x1b]0;x\x07.py"
    file.write_text(f"x = {NASTY!r}\n# {NASTY}\n")
    shown = succeed("chunker", "show", file, "--chunker", "file")
    assert not OBEYED.search(shown.out)
    assert "\\u202egnp.exe" in shown.out
    sentence = one_sentence(bench("chunker", "show", tmp_path / "no\x1b[2Jne"), 2)
    assert "no\\u001b[2Jne" in sentence


def test_the_last_words_of_a_program_are_shown(tmp_path):
    """Print visibly what an `exec:` program writes to standard error before it fails, and an answer that is none."""
    (tmp_path / "a.py").write_text("x = 1\n")
    for says in (f"sys.stderr.write({NASTY!r}); sys.exit(3)", f"print({NASTY!r})"):
        (tmp_path / "program").write_text(f"import sys\nsys.stdin.readline()\n{says}\n")
        command = f"exec:{shlex.quote(sys.executable)} {shlex.quote(str(tmp_path / 'program'))}"
        shown = bench("chunker", "show", tmp_path / "a.py", "--chunker", command)
        assert "title" in one_sentence(shown, 1)
        assert not OBEYED.search(shown.out + shown.err)


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_names_in_a_log_are_shown(tmp_path, form):
    """The system that a log names is printed by every command that reads the run."""
    row = {
        "query_id": NASTY,
        "system": NASTY,
        "k_raw": 10,
        "topk": [{"rank": 1, "chunk_id": NASTY, "score": 1.0, "file": NASTY, "start_line": 0, "end_line": 9}],
        "index_version": NASTY,
        "chunker": {"algo": NASTY, "parameters": {NASTY: NASTY}},
    }
    (tmp_path / "log.jsonl").write_text(json.dumps(row) + "\n")
    (tmp_path / "gold.jsonl").write_text(json.dumps({"query_id": NASTY, "chunk_id": NASTY}) + "\n")
    built = succeed(
        "logs", "import", tmp_path / "log.jsonl", "--gold", tmp_path / "gold.jsonl", "--out", tmp_path / "out"
    )
    (run,) = (path for path in (tmp_path / "out").iterdir() if path.is_dir())
    for shown in (built, bench("logs", "pipeline", run, *form), bench("logs", "diagnose", run, *form)):
        assert shown.code == 0, shown.err
        assert not OBEYED.search(shown.out + shown.err)


def test_a_real_terminal_gets_our_colours_and_no_other_escape(tmp_path):
    """On a terminal only the header's own colour is an escape."""
    (tmp_path / "a.py").write_text(f"# {NASTY}\n")
    text = at_terminal("chunker", "show", tmp_path / "a.py", "--chunker", "file")
    assert "\\u001b]0;title\\u0007" in text
    assert not OBEYED.search(re.sub(r"\x1b\[(?:36|0)?m", "", text))
