"""A chunker that does not know a language of the data: alone it is a mistake, among others it is left out and told."""

import json

import pytest

from support.command import bench, one_sentence
from support.leaves import needs

pytest.importorskip("astchunk")
pytestmark = needs("astchunk")

REASON = "code/cache/cache.go: astchunk does not know go, only python, java, csharp, typescript, tsx"
NOTE = "left out, not knowing a language of the data: astchunk"


MANY = ("astchunk", "ast", "fixed")


def said_once(done):
    """The sentence that leaves astchunk out, of a command that did its work."""
    assert done.code == 0, done.err
    (line,) = [line for line in done.err.splitlines() if REASON in line]
    assert line.startswith("left out: astchunk: ")


def test_among_others_it_is_left_out_and_noted(ask, tmp_path):
    """Once before the work and once below the table, of jobs too, and in the Markdown of a step summary."""
    summary = ("--github-summary", tmp_path / "summary.md")
    for command, further in (
        ("eval --match-size fixed:max_nws=200", ()),
        ("compare --details", ()),
        ("compare --executor local:1", summary),
    ):
        done = ask(command, *MANY, further=further)
        said_once(done)
        assert done.out.count(NOTE) == 1
    assert summary[1].read_text().count(NOTE) == 1


def test_json_names_it_with_the_reason(ask):
    """As a row behind those of runs, or under `left_out`."""
    for command in ("eval --json", "sweep --sizes 300 --json"):
        *rows, last = json.loads(ask(command, *MANY).out)
        assert [row["chunker"].partition(":")[0] for row in rows] == ["ast", "fixed"]
        assert REASON in last["left_out"]
        assert last["chunker"].startswith("astchunk")
    compared = json.loads(ask("compare --json", *MANY).out)
    assert list(compared["left_out"]) == ["astchunk"]
    assert len(compared["comparisons"]) > 0
    assert json.loads(ask("compare --json", *MANY[1:]).out)["left_out"] == {}


def test_a_file_of_runs_goes_on_without_it(ask, tmp_path):
    """Every combination; where nothing is compared, what was not made is counted."""
    bench_file = tmp_path / "bench.yaml"
    bench_file.write_text("chunkers: [ast, astchunk, fixed]\nprotocol: [body, context]\nretrievers: bm25\n")
    done = ask("run", further=[bench_file], out=tmp_path / "out")
    said_once(done)
    assert done.out.count(NOTE) == 2
    assert len([path for path in (tmp_path / "out").iterdir() if path.is_dir()]) == 4
    bench_file.write_text(bench_file.read_text() + "compare: false\n")
    assert ask("run", further=[bench_file], out=tmp_path / "out").out.startswith("6 runs (2 left out), in ")


def test_a_recommendation_is_of_the_others(ask):
    """`recommend` notes it with all else that it left out."""
    done = ask("recommend --sizes 200,400 --json", "ast", "fixed", "astchunk")
    assert done.code == 0, done.err
    (line,) = [line for line in json.loads(done.out)["skipped"] if REASON in line]
    assert line.endswith("; use another chunker")


@pytest.mark.parametrize(
    ("command", "names"),
    [("eval", ["astchunk"]), ("compare --executor local:1", ["astchunk", "astchunk:max_chunk_size=200"])],
)
def test_where_nothing_is_left_it_is_a_mistake(ask, tmp_path, command, names):
    """Nothing is computed, and the way out is named."""
    said = one_sentence(ask(command, *names, out=tmp_path / "out"), 2)
    assert f"{REASON}; use another chunker, or leave such files out (option skip_errors)" in said
    assert not list((tmp_path / "out").rglob("manifest.json"))


def test_where_its_files_are_left_out_already_that_is_not_a_way_out(tmp_path):
    """`skip_errors` was asked for, and no file is left."""
    code = tmp_path / "code"
    code.mkdir()
    (code / "a.go").write_text(
        "package a\n\n// Sum adds the two numbers that it is given.\nfunc Sum(a, b int) int {\n\treturn a + b\n}\n"
    )
    words = ("eval", "-c", "astchunk", "--retriever", "bm25", "--protocol", "docstring", "--source", code)
    words += ("--set", "skip_errors", "--out", tmp_path / "out")
    said = one_sentence(bench(*words, home=tmp_path / "home"), 1)
    assert "gave no chunk for any of 1 file" in said
    assert said.endswith("; use another chunker")


def test_a_recommendation_that_is_left_one_chunker_says_so(ask):
    done = ask("recommend --sizes 200", "ast", "astchunk")
    last = done.err.splitlines()[-1]
    assert "nothing to choose from: ast alone is left; name another chunker; astchunk: " in last
    assert last.endswith(f"{REASON}; use another chunker")  # it has no skip_errors
    assert done.code == 2


def test_files_that_it_fails_on_are_skipped_where_that_is_asked_for(ask, tmp_path):
    """Also where its size is matched: the mean is over the files that it cuts."""
    done = ask("eval --match-size fixed:max_nws=200 --set skip_errors --json", "astchunk", out=tmp_path / "out")
    assert done.code == 0, done.err
    assert json.loads(done.out)["counts"]["files_skipped"] == 1
    assert "chunks average 156 characters (target 162)" in done.err
