"""`lab add`: a run from elsewhere is computed again, refused where it is not what it claims, and marked."""

import json
import shutil

import pytest

from repoeval_bench.plugins.cluster.object_store import ObjectStore
from repoeval_bench.plugins.cluster.run_store import put_run
from repoeval_bench.runs.config import id_of
from repoeval_bench.runs.records import RunConfig
from support.command import bench, json_of, one_sentence, succeed
from support.runs import change, config, edit, read_text, write_run, write_text

VERIFIED = ("verified", "recomputed", "")


def state(entry):
    """What is known of a ranked run from elsewhere."""
    return entry["verification"], entry["ranking"], entry["reason"]


@pytest.fixture
def add(two_runs, mirror, tmp_path):
    """Call `lab add` on the mini benchmark; runs go to `ours`."""

    def call(*runs, out=tmp_path / "ours", home=two_runs.home):
        return bench("lab", "add", *runs, "--source", mirror, "--out", out, home=home)

    return call


@pytest.fixture
def theirs(two_runs):
    """Two runs of the mini benchmark that somebody else made."""
    return [two_runs.ast, two_runs.fixed]


def test_a_run_that_holds_is_added_and_shown_as_verified(theirs, add, tmp_path):
    """Twice is once; what is changed later is no longer verified."""
    out = tmp_path / "ours"
    for _ in range(2):
        done = add(*theirs)
        assert (done.code, done.out.count(": verified, ranking recomputed")) == (0, 2), done.err
    (leaderboard,) = json_of("lab", "leaderboard", "--out", out)["boards"]
    assert [state(entry) for entry in leaderboard["entries"]] == [VERIFIED, VERIFIED]
    assert all(entry["command"].startswith("repoeval-bench eval -c ") for entry in leaderboard["entries"])
    assert all(
        "# and --source with the place of the mirror that" in entry["command"] for entry in leaderboard["entries"]
    )
    trec = out / theirs[0].name / "qrels.trec.gz"
    write_text(trec, read_text(trec).replace("\n", " \n", 1))
    states = {e["run_id"]: state(e) for e in json_of("lab", "leaderboard", "--out", out)["boards"][0]["entries"]}
    assert states[theirs[0].name] == ("changed", None, "qrels.trec.gz")
    assert f"{theirs[0].name}: not verified" in bench("lab", "leaderboard", "--out", out).out
    succeed("lab", "leaderboard", "--out", out, "--site", tmp_path / "site")
    page = next((tmp_path / "site").glob("*bm25-*.html")).read_text()
    assert "qrels.trec.gz changed since" in page
    assert "verified, ranking recomputed<" in page


def test_a_run_that_is_not_what_it_claims_is_refused_with_the_values(theirs, add, tmp_path):
    claimed = shutil.copytree(theirs[0], tmp_path / theirs[0].name)
    change(claimed / "per_query.jsonl.gz", lambda row: row["measures"].update({"ndcg@10": 0.123}))
    said = one_sentence(add(claimed), 1)
    assert "is not what it claims" in said
    assert "ndcg@10 is 0.123, computed " in said
    assert "nothing was added" in said
    assert not (tmp_path / "ours").exists()


def test_folders_that_hold_no_run_are_refused_before_the_first_is_added(theirs, add, tmp_path):
    """All are named at once; a misspelt command is offered the nearest."""
    out, empty = tmp_path / "ours", tmp_path / "empty"
    empty.mkdir()
    said = one_sentence(add(theirs[0], tmp_path / "nothere", empty, theirs[0].parent), 2)
    assert all(str(folder) in said for folder in (tmp_path / "nothere", empty, theirs[0].parent, theirs[0]))
    assert not out.exists()
    assert "did you mean 'add'?" in one_sentence(bench("lab", "ad", theirs[0]), 2)


def test_another_run_of_one_id_and_a_renamed_folder_are_refused(theirs, add, tmp_path):
    out = tmp_path / "ours"
    shutil.copytree(theirs[0], out / theirs[0].name)
    (out / theirs[0].name / "metrics.json").write_text("{}")
    assert "is another run of that id: metrics.json differ" in one_sentence(add(theirs[0]), 1)
    renamed = shutil.copytree(theirs[0], tmp_path / "renamed")
    assert "give the folder that name" in one_sentence(add(renamed), 1)


def test_what_cannot_be_computed_again_is_added_and_marked(tmp_path, add):
    """An imported run, and one that names code from outside; nothing of it is run."""
    imported = write_run(tmp_path / "imported", {"ndcg@10": [0.5] * 8}, imported=True)
    outside = _names_code(tmp_path, {"ndcg@10": [0.4] * 8})
    first, second = add(imported.folder, outside.folder).out.splitlines()
    assert all("not verified" in line for line in (first, second))
    assert "py:nowhere:Cutter" in second


def _names_code(folder, values, **changed):
    """A run whose chunker is code from outside, under the id of what it asks."""
    run_config = config(chunker="py:nowhere:Cutter")
    name = id_of(RunConfig.model_validate_json(json.dumps(run_config)))
    run = write_run(folder / name, values, **{"chunker": "py:nowhere:Cutter", **changed})
    edit(run, "manifest.json", config=run_config)
    return run


@pytest.mark.parametrize(
    ("values", "changed", "said"),
    [
        ([0.4] * 8, {"chunker": "ast"}, "chunker is py:nowhere:Cutter in manifest.json and ast"),
        ([0.4] * 8, {"k": 10}, "k is 100 in manifest.json and 10 in metrics.json"),
        ([7.5] * 8, {"headline_measure": "ndcg@10"}, "ndcg@10 is not between 0 and 1"),
    ],
)
def test_what_cannot_be_computed_again_and_contradicts_itself_is_refused(tmp_path, add, values, changed, said):
    message = one_sentence(add(_names_code(tmp_path, {"ndcg@10": values}, **changed).folder), 1)
    assert "contradicts itself" in message
    assert said in message
    assert not (tmp_path / "ours").exists()


def test_an_id_of_another_request_and_means_of_other_queries_are_refused(tmp_path, add):
    run = _names_code(tmp_path, {"ndcg@10": [0.4] * 8})
    edit(run, "manifest.json", config=run.manifest.config.as_json() | {"skip_errors": True})
    message = one_sentence(add(run.folder), 1)
    assert "what manifest.json asks has the id" in message
    other = _names_code(tmp_path / "other", {"ndcg@10": [0.4] * 8})
    edit(other, "metrics.json", micro={"ndcg@10": 0.9})
    message = one_sentence(add(other.folder), 1)
    assert all(part in message for part in ("metrics.json", "per_query.jsonl.gz", "ndcg@10"))
    assert not (tmp_path / "ours").exists()


def test_nothing_is_copied_but_a_runs_own_files(tmp_path, add):
    """A link in the folder of a stranger could name any file of whoever adds it."""
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    run = write_run(tmp_path / "imported", {"ndcg@10": [0.5] * 8}, imported=True)
    (run.folder / "notes.txt").symlink_to(secret)
    (run.folder / "timings.jsonl").unlink()
    (run.folder / "timings.jsonl").symlink_to(secret)
    said = one_sentence(add(run.folder), 1)
    assert all(name in said for name in ("notes.txt", "timings.jsonl"))
    assert not (tmp_path / "ours").exists()


def test_a_source_of_other_data_is_a_mistake_of_the_command(theirs, add, tmp_path):
    run = shutil.copytree(theirs[0], tmp_path / theirs[0].name)
    change(run / "manifest.json", lambda manifest: manifest["dataset"].update(name="other-function-2k-codex"))
    change(run / "manifest.json", lambda manifest: manifest["config"].update(fingerprint="0" * 12))
    said = one_sentence(add(run), 2)
    assert all(part in said for part in ("other-function-2k-codex", "--source"))


def test_a_run_is_added_to_a_store_with_its_mark(theirs, add, two_runs, tmp_path):
    """Whoever shares the store sees the mark, and another run of that id, which is there alone, is not replaced."""
    pytest.importorskip("fsspec")
    url, there = f"file://{tmp_path}/store", tmp_path / "store" / "runs" / f"{theirs[0].name}.zip"
    for _ in range(2):
        done = add(theirs[0], out=url)
        assert done.out.endswith(": verified, ranking recomputed\n"), done.err
    for other in (two_runs.home, tmp_path / "other"):
        (leaderboard,) = json_of("lab", "leaderboard", "--out", url, home=other)["boards"]
        assert [state(entry) for entry in leaderboard["entries"]] == [VERIFIED]
    run = shutil.copytree(theirs[0], tmp_path / theirs[0].name)
    (run / "timings.jsonl").unlink()
    write_text(run / "qrels.trec.gz", read_text(run / "qrels.trec.gz").replace(" 0 ", " 7 ", 1))
    put_run(run, ObjectStore(url))
    before = there.read_bytes()
    assert "is another run of that id: qrels.trec.gz differ" in one_sentence(
        add(theirs[0], out=url, home=tmp_path / "third"), 1
    )
    assert there.read_bytes() == before
