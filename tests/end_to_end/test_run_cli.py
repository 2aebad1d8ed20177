"""`run`: a benchmark that a file describes, in one process, as jobs, or line by line; nothing here embeds."""

import json
from itertools import product

import pytest

from repoeval_bench.runs.config import PACK
from support.command import bench, json_of, one_sentence, succeed
from support.folders import content

FILE = """\
chunkers: [ast:max_nws=400, fixed:max_nws=400]
protocol: [context, body]
retrievers: [bm25, random]
measures: [ndcg@10, line_rprec]
"""


@pytest.fixture
def run(mirror, tmp_path):
    """Call `run` on a file with this text, into a folder."""

    def call(text, *arguments, out="results"):
        (tmp_path / "bench.yaml").write_text(text)
        words = ("run", tmp_path / "bench.yaml", "--source", mirror, "--out", tmp_path / out)
        return bench(*words, *arguments, home=tmp_path / "home")

    return call


def test_a_file_gives_the_runs_and_differences_that_the_commands_give(run, mirror, tmp_path):
    """Every combination, compared within itself; the folders and the numbers are those of eval and compare."""
    done = run(FILE, "--json")
    assert done.code == 0, done.err
    result = json.loads(done.out)
    combinations = [(item["protocol"], item["retriever"]) for item in result]
    assert combinations == list(product(("context", "body"), ("bm25", "random")))
    # What the file names first is what `report` shows when it is not told runs.
    remembered = json.loads((tmp_path / "results" / "compared.json").read_text())["runs"]
    assert remembered == [run["run_id"] for run in result[0]["runs"]]
    arguments = ("-c", "ast:max_nws=400", "-c", "fixed:max_nws=400", "--protocol", "body", "--retriever", "bm25")
    arguments += ("-m", "ndcg@10", "-m", "line_rprec", "--source", mirror)
    home = tmp_path / "home"
    assert json_of("eval", *arguments, "--out", tmp_path / "again", home=home) == result[2]["runs"]
    compared = json_of("compare", *arguments, "--out", tmp_path / "results", home=home)
    assert compared == {key: result[2][key] for key in ("comparisons", "choice", "left_out")}
    assert len(list((tmp_path / "results").glob("*/manifest.json"))) == 8
    assert {row["embedder"] for row in result} == {"none"}


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
    """Exit 2 with the lines of all mistakes, before any folder is made; a list that was not asked for is one too."""
    sentence = one_sentence(run(FILE + "basline: ast\n"), 2)
    assert "bench.yaml:5: unknown key 'basline'; did you mean 'baseline'" in sentence
    sentence = one_sentence(run(FILE + "baseline: fixed:max_nws=400\ncompare: false\n"), 2)
    assert "bench.yaml:6: compare: false compares nothing; leave it out, or baseline and equivalence" in sentence
    assert not (tmp_path / "results").exists()


def test_a_file_may_ask_for_no_comparison(run, tmp_path):
    """The runs are made and counted."""
    done = run(FILE + "compare: false\n")
    assert (done.code, done.out) == (0, f"8 runs, in {tmp_path / 'results'}\n"), done.err


def test_a_dry_run_lists_the_runs_and_jobs_have_the_answer_of_one_process(run, tmp_path):
    """Whoever makes them; the list makes none."""
    text = FILE + "baseline: fixed:max_nws=400\n"
    assert len(run(text, "--dry-run", out="listed").out.splitlines()) == 8
    assert not (tmp_path / "listed").exists()
    alone, jobs = run(text, out="alone"), run(text, "--executor", "local:2", out="jobs")
    assert jobs.code == 0, jobs.err
    assert jobs.out.replace("/jobs", "/alone") == alone.out
    assert content(tmp_path / "jobs") == content(tmp_path / "alone")


JOBS = {
    "compare": "compare -c ast:max_nws=400 -c fixed:max_nws=400 --retriever bm25",
    "sweep": "sweep -c ast -c fixed --sizes 300,500 --retriever bm25",
    "recommend": "recommend -c fixed -c ast --sizes 200,400 --embedder hash --tasks 4",
}


@pytest.mark.parametrize("command", JOBS)
def test_other_commands_take_an_executor(command, mirror, tmp_path):
    """The answer, and the bytes of every run, are those of one process; of a sample of the tasks too."""
    source = (mirror,) if command == "recommend" else ("--source", mirror)
    words = (*JOBS[command].split(), *source, "--json", "--out", tmp_path / "out")
    alone = succeed(*words, home=tmp_path / "home")
    (tmp_path / "out").rename(tmp_path / "alone")
    jobs = succeed(*words, "--executor", "local:2", home=tmp_path / "home")
    assert jobs.out == alone.out
    assert content(tmp_path / "out") == content(tmp_path / "alone")
