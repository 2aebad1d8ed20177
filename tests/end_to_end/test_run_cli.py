"""`run`: a benchmark that a file describes, on the mini benchmark; nothing here embeds."""

import json

import pytest

from repoeval_bench.runs.config import PACK
from support.command import bench, one_sentence

FILE = """\
chunkers: [ast:max_nws=400, fixed:max_nws=400]
protocol: [context, body]
retrievers: [bm25, random]
measures: [ndcg@10, line_rprec]
"""


@pytest.fixture
def run(mirror, warm_home, tmp_path):
    """Call `run` on a file with this text."""

    def call(text, *arguments):
        (tmp_path / "bench.yaml").write_text(text)
        return bench(
            *("run", tmp_path / "bench.yaml", "--source", mirror, "--out", tmp_path / "results"),
            *arguments,
            home=warm_home,
        )

    return call


def test_a_file_gives_the_runs_and_differences_that_the_commands_give(run, evaluate, mirror, warm_home, tmp_path):
    """Every combination, compared within itself; the folders and the numbers are those of eval and compare."""
    done = run(FILE, "--json")
    assert done.code == 0, done.err
    result = json.loads(done.out)
    assert [(each["protocol"], each["retriever"]) for each in result] == [
        ("context", "bm25"),
        ("context", "random"),
        ("body", "bm25"),
        ("body", "random"),
    ]
    # What the file names first is what `report` shows when it is not told runs.
    remembered = json.loads((tmp_path / "results" / "compared.json").read_text())["runs"]
    assert remembered == [run["run_id"] for run in result[0]["runs"]]
    arguments = ("-c", "ast:max_nws=400", "-c", "fixed:max_nws=400", "--protocol", "body", "--retriever", "bm25")
    arguments += ("-m", "ndcg@10", "-m", "line_rprec", "--json")
    again = bench("eval", *arguments, "--source", mirror, "--out", tmp_path / "again", home=warm_home)
    assert json.loads(again.out) == result[2]["runs"]
    compared = bench("compare", *arguments, "--source", mirror, "--out", tmp_path / "results", home=warm_home)
    assert json.loads(compared.out) == {key: result[2][key] for key in ("comparisons", "choice", "left_out")}
    assert len(list((tmp_path / "results").glob("*/manifest.json"))) == 8
    assert {each["embedder"] for each in result} == {"none"}


def test_a_single_run_prints_its_table_and_states_its_pack(run, tmp_path):
    """One chunker under one protocol: the tables of eval; another pack is another run, which is not compared."""
    text = "chunkers: ast:max_nws=400\nretrievers: bm25\n"
    done = run(text)
    assert done.code == 0, done.err
    assert done.out.startswith(f"{PACK} · protocol context · retriever bm25 · embedder none")
    assert "ast reaches lines found" in done.out
    assert "macro, 2 repositories" in run(text, "--details").out
    assert run(text + "pack: mine@2\n").code == 0
    folders = sorted(path.parent for path in (tmp_path / "results").glob("*/manifest.json"))
    stated = {json.loads((folder / "manifest.json").read_text())["config"]["pack"]: folder for folder in folders}
    assert set(stated) == {PACK, "mine@2"}
    for command in ("compare", "diff"):
        done = bench(command, stated[PACK], stated["mine@2"])
        assert f"pack {PACK} against mine@2" in one_sentence(done, 2)


def test_nothing_is_run_where_a_file_has_a_mistake(run, tmp_path):
    """Exit 2 with the lines of all mistakes, before any folder is made; --dry-run lists a good file's runs."""
    assert "bench.yaml:5: unknown key 'basline'; did you mean 'baseline'" in one_sentence(
        run(FILE + "basline: ast\n"), 2
    )
    sentence = one_sentence(run(FILE + "long_text: middle\nexclusion: bdy\n"), 2)
    assert sentence.splitlines()[0].startswith("error: 2 mistakes in ")
    assert "bench.yaml:5: unknown policy for long texts 'middle'" in sentence
    done = run(FILE, "--dry-run")
    assert len(done.out.splitlines()) == 8
    assert not (tmp_path / "results").exists()
