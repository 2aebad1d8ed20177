"""Finished runs in a store at a URL: whole or not there, found by whoever shares it, whatever the store does."""

import io
import shutil
import zipfile

import pytest

pytest.importorskip("fsspec")

from repoeval_bench.core.errors import ResultError, UsageError
from repoeval_bench.core.object_store import ObjectStore
from repoeval_bench.runs.executors import IN_PROCESS, ProcessPool
from repoeval_bench.runs.jobs import JobLog, RunJobs
from repoeval_bench.runs.merge import merge_all
from repoeval_bench.runs.request import RunRequest
from repoeval_bench.runs.run_store import Results, fetch_run, put_run, stored_ids
from support.command import bench, one_sentence
from support.folders import content
from support.minirepo import build_mirror
from support.runs import write_run
from support.stores import WEATHER

CHUNKERS = ("fixed:max_nws=400", "ast:max_nws=400", "window:lines=8,step=4")


@pytest.fixture(autouse=True)
def fair_weather(monkeypatch):
    """The store does as it is told unless a test says otherwise."""
    WEATHER.clear()
    monkeypatch.setattr("repoeval_bench.core.object_store._LONGEST_PAUSE", 0.001)


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stores")
    return {"source": str(build_mirror(folder / "mirror")), "home": folder / "home"}


def make(places, out, store=None, executor=IN_PROCESS):
    """The runs of three chunkers under two retrievers."""
    asked = [
        RunRequest(chunker=chunker, source=places["source"], retriever=retriever)
        for retriever in ("bm25", "jaccard")
        for chunker in CHUNKERS
    ]
    jobs = RunJobs(asked, JobLog(executor), out=out, home=places["home"], store=store)
    runs = [run for setting in jobs.settings for run in jobs.run(setting)]
    jobs.check()
    return runs


def times(folder):
    return {path: path.stat().st_mtime_ns for path in folder.glob("*/*")}


def test_a_run_that_was_put_is_the_run_that_is_fetched(tmp_path):
    """Every file to the byte, times too; what a folder had before is replaced."""
    store = ObjectStore(f"memory://{tmp_path}")
    run = write_run(tmp_path / "a" / "one", {"ndcg@10": [0.5, 1.0]})
    put_run(run.folder, store)
    assert stored_ids(store) == ["one"]
    write_run(tmp_path / "b" / "one", {"ndcg@10": [0.1, 0.1]})
    assert fetch_run("one", store, tmp_path / "b")
    for path in run.folder.iterdir():
        assert (tmp_path / "b" / "one" / path.name).read_bytes() == path.read_bytes()
    assert not fetch_run("two", store, tmp_path / "b")


@pytest.mark.parametrize("executor", [IN_PROCESS, ProcessPool(2)], ids=["here", "pool"])
def test_two_machines_share_a_store(places, tmp_path, executor, request):
    """What one made the other has, to the byte; a part of the same answer is made by neither twice."""
    if executor is IN_PROCESS:
        request.getfixturevalue("clean")
    store = f"file://{tmp_path}/store"
    make(places, tmp_path / "a", store, executor)
    make(places, tmp_path / "alone")
    assert content(tmp_path / "a") == content(tmp_path / "alone")
    stamps = times(tmp_path / "store")
    runs = make(places, tmp_path / "b", store, executor)
    assert content(tmp_path / "b") == content(tmp_path / "alone")
    assert len(runs) == len(list((tmp_path / "b").iterdir())) == 6
    if executor is IN_PROCESS:  # with clean code nothing was made again: the times came with the runs
        assert times(tmp_path / "store") == stamps
        for run in runs:
            other = tmp_path / "a" / run.run_id / "timings.jsonl"
            assert (run.folder / "timings.jsonl").read_bytes() == other.read_bytes()


@pytest.mark.parametrize("protocol", ["unsteady-memory", "unsteady-local"])
def test_a_store_that_fails_delays_and_truncates_loses_nothing(places, tmp_path, clean, protocol):
    """The same command again and again until no run is missing: the store then holds what one machine makes."""
    store = f"{protocol}://{tmp_path}/{protocol}"
    WEATHER.failing, WEATHER.delaying, WEATHER.truncating = 0.3, 0.3, 0.5
    errors = []
    for _ in range(50):
        try:
            make(places, tmp_path / "a", store)
        except ResultError as error:
            errors.append(str(error))
        else:
            break
    assert all("after 5 tries (OSError: " in error for error in errors)
    assert min(WEATHER.failures, WEATHER.delays) > 5
    WEATHER.clear()
    merge_all([store], tmp_path / "b")
    make(places, tmp_path / "alone")
    assert content(tmp_path / "a") == content(tmp_path / "b") == content(tmp_path / "alone")


@pytest.mark.parametrize("damage", ["cut", "empty", "not a zip"])
def test_a_broken_run_is_made_again_and_refused_by_merge(places, tmp_path, clean, damage):
    """Half an object is not taken for a run; nor does it hide the others."""
    store = f"file://{tmp_path}/store"
    make(places, tmp_path / "a", store)
    path = sorted((tmp_path / "store" / "runs").iterdir())[3]
    whole = path.read_bytes()
    path.write_bytes({"cut": whole[: len(whole) // 2], "empty": b"", "not a zip": b"x" * len(whole)}[damage])
    with pytest.raises(ResultError, match=rf"holds broken runs: {path.stem};"):
        merge_all([store], tmp_path / "merged")
    make(places, tmp_path / "b", store)
    assert content(tmp_path / "b") == content(tmp_path / "a")
    assert len(merge_all([store, str(tmp_path / "b")], tmp_path / "merged").copied) == 6


def test_a_run_that_two_machines_made_is_put_once(places, tmp_path, clean):
    """Their archives differ in their times; whoever finds the run in the store leaves the object as it is."""
    for machine in "ab":
        make(places, tmp_path / machine)
    store = f"file://{tmp_path}/store"
    make(places, tmp_path / "a", store)
    stamps = times(tmp_path / "store")
    assert len(stamps) == 6
    for machine in "bab":
        make(places, tmp_path / machine, store)
    assert times(tmp_path / "store") == stamps


@pytest.mark.parametrize("share", [0, 0.5, 0.99])
def test_who_has_a_run_puts_it_again_where_the_object_is_cut_off(places, tmp_path, clean, share):
    """That one alone; the others stay."""
    store = f"file://{tmp_path}/store"
    make(places, tmp_path / "a", store)
    stamps = times(tmp_path / "store")
    path = sorted((tmp_path / "store" / "runs").iterdir())[3]
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    make(places, tmp_path / "a", store)
    assert path.read_bytes() == whole
    assert {each for each, stamp in times(tmp_path / "store").items() if stamp != stamps[each]} == {path}


@pytest.mark.parametrize(("scores", "stays"), [([0.5, 1.0], True), ([0.5, 0.5], False)])
def test_a_made_run_replaces_another_run_alone(tmp_path, scores, stays):
    """One that was put meanwhile stays, with its times; what other code made under the same id does not."""
    store = ObjectStore(f"memory://{tmp_path}")
    put_run(write_run(tmp_path / "other" / "one", {"ndcg@10": scores}).folder, store)
    before = store.read("runs/one.zip")
    made = write_run(tmp_path / "made" / "one", {"ndcg@10": [0.5, 1.0]}).folder
    (made / "timings.jsonl").write_text("{}\n")
    (tmp_path / "out").mkdir()
    Results(tmp_path / "out", store).keep(made)
    assert (store.read("runs/one.zip") == before) is stays


def packed(name, content=b"x"):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(name, content)
    return made.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        packed(".."),
        packed("../x"),
        packed("a/b"),
        packed("/x"),
        packed("x").replace(b"\x00\x00\x00\x00", b"\x01\x00\x00\x00", 1),
        bytearray(packed("x")[:6] + b"\x01" + packed("x")[7:]),
    ],
)
def test_what_is_no_run_is_not_unpacked(tmp_path, content):
    """Names that lead elsewhere, broken archives: nothing is written, and no error but that of `merge` is made of it."""
    url = f"file://{tmp_path}/store"
    (tmp_path / "store" / "runs").mkdir(parents=True)
    (tmp_path / "store" / "runs" / "one.zip").write_bytes(content)
    if fetch_run("one", ObjectStore(url), tmp_path / "out"):
        assert [path.name for path in (tmp_path / "out" / "one").iterdir()] == ["x"]
    else:
        with pytest.raises(ResultError, match="holds broken runs: one;"):
            merge_all([url], tmp_path / "out")
        assert not (tmp_path / "out" / "one").exists()


def test_an_encrypted_member_is_no_run(tmp_path):
    """Python says so by a RuntimeError."""
    content = bytearray(packed("x"))
    content[6] |= 1  # the flag in the member's header
    content[content.index(b"PK\x01\x02") + 8] |= 1  # and in the directory's
    store = ObjectStore(f"memory://{tmp_path}")
    store.write("runs/one.zip", bytes(content))
    assert not fetch_run("one", store, tmp_path / "out")


def test_a_store_without_a_run_is_named(tmp_path):
    """By its URL, not by the folder in which runs were to be fetched; a folder is no store."""
    with pytest.raises(UsageError, match=rf"^file://{tmp_path}/none holds no runs"):
        merge_all([f"file://{tmp_path}/none"], tmp_path / "out")
    with pytest.raises(UsageError, match=r"nope is not the address of a store.*file:///"):
        ObjectStore("nope")


def test_the_commands(places, tmp_path):
    """--store shares the runs of two folders, merge brings them together; what would put nothing there is refused."""
    words = ["-c", "fixed:max_nws=400", "-c", "ast:max_nws=400", "--source", places["source"], "--retriever", "bm25"]
    url = f"file://{tmp_path}/store"
    done = bench(
        "compare", *words, "--executor", "local:2", "--store", url, "--out", tmp_path / "a", home=places["home"]
    )
    assert done.code == 0, done.err
    shutil.rmtree(tmp_path / "a")
    done = bench("merge", url, "--out", tmp_path / "b")
    assert done.out == f"{tmp_path / 'b'}: 2 runs copied, 0 were there already\n"
    refused = bench("compare", *words, "--store", url, "--out", tmp_path / "a", home=places["home"])
    assert "needs jobs that are put there; add --executor" in one_sentence(refused, 2)
    refused = bench("eval", *words, "--out", url, home=places["home"])
    assert "is a URL, and runs are in a folder" in one_sentence(refused, 2)


@pytest.mark.parametrize("words", [("sensitivity", "-c", "ast"), ("runs",), ("report",)])
def test_a_url_is_no_folder_of_runs(words):
    """Whoever spells the store as --out is told the one way."""
    told = one_sentence(bench(*words, "--out", "s3://bucket/runs"), 2)
    assert "share them with --executor and --store URL, and bring them here with merge URL --out FOLDER" in told
