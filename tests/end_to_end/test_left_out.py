"""A chunker that does not know a language of the data: alone it is a mistake, among others it is left out and told."""

import json

import pytest

from support.codebase import write_code
from support.command import bench, one_sentence, succeed

pytest.importorskip("astchunk")

REASON = "code/cache/cache.go: astchunk does not know go, only python, java, csharp, typescript, tsx"
NOTE = "left out, not knowing a language of the data: astchunk"


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    folder = tmp_path_factory.mktemp("left-out")
    code = write_code(folder / "code", aside=False)
    succeed("data", "build", code, "-o", folder / "pack", home=folder / "home")
    return {"pack": folder / "pack", "home": folder / "home", "out": folder / "results"}


def ask(places, *arguments, out=None):
    shared = ("--source", places["pack"], "--retriever", "bm25", "--out", out or places["out"])
    return bench(*arguments, *shared, home=places["home"])


def chunkers(*names):
    return [word for name in names for word in ("-c", name)]


def said_once(done):
    """The sentence that leaves astchunk out, of a command that did its work."""
    assert done.code == 0, done.err
    (line,) = [line for line in done.err.splitlines() if REASON in line]
    assert line.startswith("left out: astchunk: ")


@pytest.mark.parametrize(
    ("command", "further"),
    [("eval", ["--match-size", "fixed:max_nws=200"]), ("compare", ["--details"])],
)
def test_among_others_it_is_left_out_and_noted(places, command, further):
    """Once before the work and once below the table."""
    done = ask(places, command, *chunkers("astchunk", "ast", "fixed"), "--protocol", "body", *further)
    said_once(done)
    assert done.out.count(NOTE) == 1


def test_the_summary_of_jobs_names_it(places, tmp_path):
    """The Markdown of a step summary, as the table that is printed."""
    summary = tmp_path / "summary.md"
    further = ("--github-summary", summary, "--executor", "local:1")
    done = ask(places, "compare", *chunkers("astchunk", "ast", "fixed"), "--protocol", "body", *further)
    said_once(done)
    assert NOTE in done.out
    assert summary.read_text().count(NOTE) == 1


def test_json_names_it_with_the_reason(places):
    """As a row behind those of runs, or under `left_out`."""
    asked = [*chunkers("astchunk", "ast", "fixed"), "--protocol", "body", "--json"]
    for command in (["eval"], ["sweep", "--sizes", "300"]):
        *rows, last = json.loads(ask(places, *command, *asked).out)
        assert [row["chunker"].partition(":")[0] for row in rows] == ["ast", "fixed"]
        assert REASON in last["left_out"]
        assert last["chunker"].startswith("astchunk")
    compared = json.loads(ask(places, "compare", *asked).out)
    assert list(compared["left_out"]) == ["astchunk"]
    assert len(compared["comparisons"]) > 0
    alone = json.loads(ask(places, "compare", *chunkers("ast", "fixed"), "--protocol", "body", "--json").out)
    assert alone["left_out"] == {}


def test_a_file_of_runs_goes_on_without_it(places, tmp_path):
    """Every combination; where nothing is compared, what was not made is counted."""
    bench_file = tmp_path / "bench.yaml"
    bench_file.write_text("chunkers: [ast, astchunk, fixed]\nprotocol: [body, context]\nretrievers: bm25\n")
    asked = ("run", bench_file, "--source", places["pack"])
    done = bench(*asked, "--out", tmp_path / "out", home=places["home"])
    said_once(done)
    assert done.out.count(NOTE) == 2
    assert len([path for path in (tmp_path / "out").iterdir() if path.is_dir()]) == 4
    bench_file.write_text(bench_file.read_text() + "compare: false\n")
    done = bench(*asked, "--out", tmp_path / "out", home=places["home"])
    assert done.out.startswith("6 runs (2 left out), in ")


def test_a_grid_and_a_recommendation_are_of_the_others(places):
    """`recommend` notes it with all else that it left out."""
    grid = ("--protocol", "body", "--query", "full", "--relevance", "overlap", "--no-match", "--json")
    done = succeed(
        *("lab", "sensitivity", *chunkers("ast", "fixed", "astchunk"), *grid),
        *("--source", places["pack"], "--retriever", "bm25"),
        home=places["home"],
    )
    assert done.err.count(REASON) == 1
    assert {(row["a"], row["b"].partition(":")[0]) for row in json.loads(done.out)} == {
        ("ast:max_nws=1500,min_nws=50,overlap=0,language=auto", "fixed")
    }
    done = succeed(
        *("recommend", places["pack"], *chunkers("ast", "fixed", "astchunk"), "--retriever", "bm25", "--json"),
        *("--sizes", "200,400", "--protocol", "body", "--out", places["out"]),
        home=places["home"],
    )
    (line,) = [line for line in json.loads(done.out)["skipped"] if REASON in line]
    assert line.endswith("; use another chunker")


@pytest.mark.parametrize(
    ("names", "executor"),
    [(["astchunk"], []), (["astchunk", "astchunk:max_chunk_size=200"], ["--executor", "local:1"])],
)
def test_where_nothing_is_left_it_is_a_mistake(places, tmp_path, names, executor):
    """Nothing is computed, and the way out is named."""
    command = "compare" if executor else "eval"
    done = ask(places, command, *chunkers(*names), "--protocol", "body", *executor, out=tmp_path / "out")
    assert (
        f"{REASON}; use another chunker, or leave such files out (--skip-errors; of a run --set skip_errors)"
        in one_sentence(done, 2)
    )
    assert not list((tmp_path / "out").rglob("manifest.json"))


def test_where_its_files_are_left_out_already_that_is_not_a_way_out(places, tmp_path):
    """`skip_errors` was asked for, and no file is left."""
    code = tmp_path / "code"
    code.mkdir()
    (code / "a.go").write_text(
        "package a\n\n// Sum adds the two numbers that it is given.\nfunc Sum(a, b int) int {\n\treturn a + b\n}\n"
    )
    asked = ("eval", "-c", "astchunk", "--retriever", "bm25", "--protocol", "docstring", "--source", code)
    asked += ("--set", "skip_errors")
    said = one_sentence(bench(*asked, "--out", tmp_path / "out", home=places["home"]), 1)
    assert "gave no chunk for any of 1 file" in said
    assert said.endswith("; use another chunker")


def test_a_recommendation_that_is_left_one_chunker_says_so(places):
    asked = ("-c", "blocks", "-c", "astchunk", "--sizes", "200", "--retriever", "bm25", "--protocol", "body")
    done = bench("recommend", places["pack"], *asked, "--out", places["out"], home=places["home"])
    last = done.err.splitlines()[-1]
    assert "nothing to choose from: blocks alone is left; name another chunker; astchunk: " in last
    assert last.endswith(f"{REASON}; use another chunker")  # it has no skip_errors
    assert done.code == 2


def test_files_that_it_fails_on_are_skipped_where_that_is_asked_for(places, tmp_path):
    """Also where its size is matched: the mean is over the files that it cuts."""
    asked = ("--match-size", "fixed:max_nws=200", "--set", "skip_errors", "--protocol", "body", "--json")
    done = ask(places, "eval", *chunkers("astchunk"), *asked, out=tmp_path / "out")
    assert done.code == 0, done.err
    assert json.loads(done.out)["counts"]["files_skipped"] == 1
    assert "chunks average 156 characters (target 162)" in done.err
