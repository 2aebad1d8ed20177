"""A chunker that does not know a language of the data: alone it is a mistake, among others it is left out and told."""

import json

import pytest

from support.command import one_sentence
from support.leaves import needs

pytest.importorskip("astchunk")
pytestmark = needs("astchunk")

REASON = "code/cache/cache.go: astchunk does not know go, only python, java, csharp, typescript, tsx"
NOTE = "left out, because they do not support a language of the data: astchunk"
MANY = ("astchunk", "ast", "fixed")


@pytest.mark.parametrize("command", ["eval --match-size fixed:max_nws=200", "compare --executor local:1"])
def test_among_others_it_is_left_out_and_noted(ask, tmp_path, command):
    """Once before the work and once below the table, of jobs too, and in the Markdown of a step summary."""
    summary = tmp_path / "summary.md"
    done = ask(command, *MANY, further=("--github-summary", summary) if command.startswith("compare") else ())
    assert done.code == 0, done.err
    (line,) = [line for line in done.err.splitlines() if REASON in line]
    assert line.startswith("left out: astchunk: ")
    assert done.out.count(NOTE) == 1
    written = [path.read_text().count(NOTE) for path in tmp_path.glob(summary.name)]
    assert written == [1] * command.startswith("compare")


def test_json_names_it_with_the_reason(ask):
    """As a row behind those of runs, or under `left_out`."""
    *rows, last = json.loads(ask("eval --json", *MANY).out)
    assert [row["chunker"].partition(":")[0] for row in rows] == ["ast", "fixed"]
    assert REASON in last["left_out"]
    compared = json.loads(ask("compare --json", *MANY).out)
    assert list(compared["left_out"]) == ["astchunk"]
    result = json.loads(ask("recommend --sizes 200,400 --json", *MANY).out)
    assert any(REASON in line for line in result["skipped"])


def test_where_nothing_is_left_it_is_a_mistake(ask, tmp_path):
    """Nothing is computed, and the way out is named."""
    said = one_sentence(
        ask("compare --executor local:1", "astchunk", "astchunk:max_chunk_size=200", out=tmp_path / "out"), 2
    )
    assert (
        f"{REASON}; use another chunker, or leave such files out (--set skip_errors=true, in a YAML file skip_errors: true)"
        in said
    )
    assert not list((tmp_path / "out").rglob("manifest.json"))


def test_files_that_it_fails_on_are_skipped_where_that_is_asked_for(ask, tmp_path):
    done = ask("eval --set skip_errors --json", "astchunk", out=tmp_path / "out")
    assert done.code == 0, done.err
    assert json.loads(done.out)["counts"]["files_skipped"] == 1
