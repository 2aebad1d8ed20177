"""A run is found by every name that the documentation promises, and an ambiguous one lists what it could be."""

from shutil import copytree

import pytest

from repoeval_bench.core.errors import UsageError
from repoeval_bench.runs.naming import find_run, is_chunker, stored_runs
from repoeval_bench.runs.view import RunView
from support.command import bench, json_of, one_sentence, succeed
from support.runs import edit, write_run

RUNS = [f"20260101-context-{chunker}-{i:02d}" for chunker in ("ast", "fixed") for i in range(20)]


@pytest.fixture
def results(tmp_path):
    run = write_run(tmp_path / "run", {"mrr": [1.0]})
    for run_id in RUNS:
        (tmp_path / "results" / run_id).mkdir(parents=True)
        (tmp_path / "results" / run_id / "manifest.json").write_bytes((run.folder / "manifest.json").read_bytes())
    return tmp_path / "results"


@pytest.fixture(scope="module")
def evaluated(mirror, tmp_path_factory):
    here = tmp_path_factory.mktemp("named")
    specs = ["ast:max_nws=400", "fixed:max_nws=400", "fixed:max_nws=800"]
    words = [word for spec in specs for word in ("-c", spec)]
    succeed("eval", *words, "--retriever", "bm25", "--source", mirror, "--out", here / "r")
    return here / "r"


def test_an_unknown_run_is_reported_with_the_nearest(results):
    with pytest.raises(
        UsageError, match="unknown run '20260101-context-fixd-01'; did you mean '20260101-context-fixed"
    ):
        find_run("20260101-context-fixd-01", results)


def test_of_many_fitting_runs_three_are_named(results):
    """Three of them, and the number of the others."""
    with pytest.raises(UsageError, match=r"(?s)fits 40 runs in .*; give more of the id:\n  .*\n  and 37 more; see"):
        find_run("2026", results)


def test_ids_are_short_and_say_what_ran(evaluated):
    """Chunker and size, protocol, retriever; they begin differently."""
    ids = sorted(run.run_id[:-9] for run in stored_runs(evaluated))
    assert ids == ["ast-400_context_bm25", "fixed-400_context_bm25", "fixed-800_context_bm25"]


def test_a_chunker_or_any_part_of_an_id_names_a_run(evaluated):
    """A chunker as it was typed, and a middle of an id."""
    (ast,) = (run.run_id for run in stored_runs(evaluated) if run.run_id.startswith("ast"))
    assert {find_run(name, evaluated).run_id for name in ("ast", "ast:max_nws=400", "st-400", ast[:6])} == {ast}
    assert find_run("fixed:max_nws=800", evaluated).run_id.startswith("fixed-800")


def test_the_folder_of_runs_may_be_a_text_and_is_results_by_default(evaluated, monkeypatch):
    newest = stored_runs(evaluated)[0]
    assert find_run("latest", str(evaluated)).run_id == newest.run_id
    (evaluated.parent / "results").symlink_to(evaluated)
    monkeypatch.chdir(evaluated.parent)
    assert find_run("latest").run_id == newest.run_id


def test_runs_are_counted_from_the_newest(results):
    """`latest` is `@1`; a broken run is not counted, and a place beyond the last is refused."""
    for run_id, year in zip(RUNS, range(1980, 2020), strict=True):
        edit(RunView(results / run_id), "manifest.json", created=f"{year}-01-01T00:00:00+00:00")
    (results / RUNS[-1] / "manifest.json").write_text("{")
    assert find_run("latest", results).run_id == find_run("@1", results).run_id == RUNS[-2]
    assert find_run("@39", results).run_id == RUNS[0]
    with pytest.raises(UsageError, match="no run '@40': .* holds 39 runs; the oldest is @39"):
        find_run("@40", results)


def test_the_latest_is_the_run_that_was_made_last(evaluated, mirror, tmp_path):
    """Also where the same run was stored before: `gate latest` tests what `eval` has just printed."""
    copytree(evaluated, tmp_path / "r")
    older = stored_runs(tmp_path / "r")[-1]
    edit(older, "manifest.json", created="2020-01-01T00:00:00+00:00")
    chunker = older.manifest.config.chunker
    succeed("eval", "-c", chunker, "--retriever", "bm25", "--source", mirror, "--out", tmp_path / "r")
    assert find_run("latest", tmp_path / "r").run_id == older.run_id


def test_a_spec_fits_the_full_one():
    """Options left out are any; others must be the same."""
    assert is_chunker("fixed", "fixed:max_nws=800,offset=0")
    assert is_chunker("fixed:offset=0", "fixed:max_nws=800,offset=0")
    assert not is_chunker("fixed:offset=1", "fixed:max_nws=800,offset=0")
    assert not is_chunker("/a/folder", "fixed:max_nws=800")


def test_runs_are_listed_newest_first(evaluated):
    """Each with the names by which it is found, and its score."""
    rows = json_of("runs", "--out", evaluated)
    assert [row["run"] for row in rows] == ["@1", "@2", "@3"]
    assert all(find_run(row["run"], evaluated).run_id == row["run_id"] for row in rows)
    assert {row["chunker"].partition(":")[0] for row in rows} == {"ast", "fixed"}
    assert all(0 < row["score"] <= 1 and row["measure"] == "line_recall_auc" for row in rows)
    # The table names the measure as every other table does.
    assert bench("runs", "--out", evaluated).out.count("lines found") == 3


def test_a_folder_without_runs_is_refused(tmp_path):
    """One sentence, and how to get one."""
    done = bench("runs", "--out", tmp_path)
    assert (done.code, done.out) == (2, "")
    assert done.err == f"error: {tmp_path} has no runs; make one with repoeval-bench eval\n"


def test_runs_of_one_name_are_listed_with_what_differs(mirror, tmp_path):
    """A sweep of k scores other measures, and nothing else of its run's id tells it from that of `eval`."""
    words = ("--retriever", "bm25", "--source", mirror, "--out", tmp_path / "r")
    for command in ("eval", "sweep"):
        succeed(command, "-c", "ast", *words, home=tmp_path / "home")
    said = one_sentence(bench("export", "runs", "ast", "--out", tmp_path / "r", home=tmp_path), 2)
    assert "'ast' fits 2 runs in" in said
    assert said.count("ast-1500_context_bm25-") == 2
    assert "measures=recall@1, recall@3, recall@5" in said
