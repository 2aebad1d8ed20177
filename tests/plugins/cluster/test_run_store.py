"""Finished runs in a store at a URL: whole or not there, found by whoever shares it, whatever the store does."""

import io
import json
import shutil
import zipfile

import pytest

pytest.importorskip("fsspec")

from repoeval_bench.core.errors import ResultError, UsageError
from repoeval_bench.plugins.cluster.object_store import ObjectStore, StoreError
from repoeval_bench.plugins.cluster.run_store import StoredResults, fetch_run, results_of_store, run_states
from repoeval_bench.plugins.cluster.shared_cache import block_names
from repoeval_bench.runs.executors import IN_PROCESS, ProcessPool
from repoeval_bench.runs.jobs import Workers
from repoeval_bench.runs.request import RunRequest
from repoeval_bench.runs.results import results_at
from repoeval_bench.runs.runner import Runner
from repoeval_bench.runs.view import RunView
from support.cases import cases
from support.command import bench, one_sentence, succeed
from support.folders import content
from support.runs import write_run
from support.stores import WEATHER

CASES = cases(__file__)

CHUNKERS = ("fixed:max_nws=400", "ast:max_nws=400")


def make(places, out, store=None, executor=IN_PROCESS):
    """The runs of two chunkers under two retrievers."""
    requests = [
        RunRequest(chunker=chunker, source=places["source"], retriever=retriever)
        for retriever in ("bm25", "jaccard")
        for chunker in CHUNKERS
    ]
    out = results_of_store(store, out).out if store else out
    jobs = Runner(requests, executor=Workers(executor), out=out, home=places["home"])
    runs = [run for setting in jobs.settings for run in jobs.run(setting)]
    jobs.check()
    return runs


def times(folder):
    return {path: path.stat().st_mtime_ns for path in folder.glob("*/*")}


def test_a_run_that_was_put_is_the_run_that_is_fetched(tmp_path):
    """Every file to the byte, times too; what a folder had before is replaced."""
    store = ObjectStore(f"memory://{tmp_path}")
    run = write_run(tmp_path / "a" / "one", {"ndcg@10": [0.5, 1.0]})
    StoredResults(tmp_path, store).put(run.folder)
    assert list(run_states(store)) == ["one"]
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
    assert len(runs) == len(list((tmp_path / "b").glob("[!.]*"))) == 4
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
        except (ResultError, StoreError) as error:
            errors.append(str(error))
        else:
            break
    assert all("after 5 tries (OSError: " in error for error in errors)
    assert min(WEATHER.failures, WEATHER.delays) > 5
    WEATHER.clear()
    results_of_store(store, tmp_path / "b").fetch()
    make(places, tmp_path / "alone")
    assert content(tmp_path / "a") == content(tmp_path / "b") == content(tmp_path / "alone")


def test_a_broken_run_is_made_again_and_named(places, tmp_path, clean, notices):
    """An object that is cut, empty or no archive is not taken for a run; nor does it hide the others."""
    store = f"file://{tmp_path}/store"
    make(places, tmp_path / "a", store)
    first, second, third, _ = paths = sorted((tmp_path / "store" / "runs").iterdir())
    first.write_bytes(first.read_bytes()[:-1000])
    second.write_bytes(b"")
    third.write_bytes(b"x" * 5000)
    results_of_store(store, tmp_path / "fetched").fetch()
    assert f"holds broken runs: {', '.join(path.stem for path in paths[:3])};" in notices[-1]
    make(places, tmp_path / "b", store)
    assert content(tmp_path / "b") == content(tmp_path / "a")


def test_a_run_is_put_once(places, tmp_path, clean):
    """Archives of two machines differ in their times; whoever has a run leaves whole objects as they are."""
    for machine in "ab":
        make(places, tmp_path / machine)
    store = f"file://{tmp_path}/store"
    make(places, tmp_path / "a", store)
    stamps = times(tmp_path / "store")
    assert len(stamps) == 4
    for machine in "ba":
        make(places, tmp_path / machine, store)
    assert times(tmp_path / "store") == stamps


def test_a_made_run_replaces_that_of_other_code(tmp_path):
    """Under the same id."""
    store = ObjectStore(f"memory://{tmp_path}")
    StoredResults(tmp_path, store).put(write_run(tmp_path / "other" / "one", {"ndcg@10": [0.5, 0.5]}).folder)
    before = store.read("runs/one.zip")
    stored = write_run(tmp_path / "made" / "one", {"ndcg@10": [0.5, 1.0]}).folder
    (tmp_path / "out").mkdir()
    StoredResults(tmp_path / "out", store).keep(stored)
    assert store.read("runs/one.zip") != before


def packed(name, *, encrypted=False):
    stored = io.BytesIO()
    with zipfile.ZipFile(stored, "w") as archive:
        archive.writestr(name, b"x")
    raw = bytearray(stored.getvalue())
    if encrypted:  # Python says so by a RuntimeError
        raw[6] |= 1  # the flag in the member's header
        raw[raw.index(b"PK\x01\x02") + 8] |= 1  # and in the directory's
    return bytes(raw)


BROKEN = (
    *map(packed, ("..", "../x", "a/b", "/x")),
    packed("x").replace(b"\x00\x00\x00\x00", b"\x01\x00\x00\x00", 1),
    packed("x")[:6] + b"\x01" + packed("x")[7:],
    packed("x", encrypted=True),
)


@pytest.mark.parametrize("content", BROKEN)
def test_what_is_not_a_run_is_not_unpacked(tmp_path, content, notices):
    """Names that lead elsewhere, broken archives: nothing is written, and a notice names what is broken."""
    url = f"file://{tmp_path}/store"
    (tmp_path / "store" / "runs").mkdir(parents=True)
    (tmp_path / "store" / "runs" / "one.zip").write_bytes(content)
    if fetch_run("one", ObjectStore(url), tmp_path / "out"):
        assert [path.name for path in (tmp_path / "out" / "one").iterdir()] == ["x"]
    else:
        results_of_store(url, tmp_path / "out").fetch()
        assert "holds broken runs: one;" in notices[-1]
        assert not (tmp_path / "out" / "one").exists()


def test_a_store_without_a_run_is_named(tmp_path):
    """By its URL, not by the folder in which runs were to be fetched; a folder is not a store."""
    with pytest.raises(UsageError, match=rf"^file://{tmp_path}/none holds no runs"):
        results_of_store(f"file://{tmp_path}/none", tmp_path / "out").read()
    with pytest.raises(UsageError, match=r"nope is not the address of a store.*file:///"):
        ObjectStore("nope")


@pytest.fixture(scope="module")
def shared(places, tmp_path_factory):
    """(the URL of a store in which two chunkers' runs are, the options that name them)."""
    words = ["-c", "fixed:max_nws=400", "-c", "ast:max_nws=400", "--source", places["source"], "--retriever", "bm25"]
    url = f"file://{tmp_path_factory.mktemp('shared')}/store"
    succeed("compare", *words, "--executor", "local:2", "--out", url, home=places["home"])
    return url, words


def test_a_store_is_where_runs_are(places, shared, tmp_path):
    """Any machine reads the runs by the same --out."""
    url, _ = shared
    listed = bench("runs", "--json", "--out", url, home=tmp_path / "home")
    run_ids = {row["run_id"] for row in json.loads(listed.out)}
    assert set(run_states(ObjectStore(url))) == run_ids
    for command in ("diff", "compare"):
        succeed(command, "fixed:max_nws=400", "ast:max_nws=400", "--out", url, home=tmp_path / "home")
    several = one_sentence(bench("export", "runs", "400", "--out", url, home=tmp_path / "home"), 2)
    assert several.startswith("error: '400' fits 2 runs in file://"), several
    succeed("verify", "ast", "--source", places["source"], "--out", url, home=tmp_path / "home")


@pytest.mark.parametrize("command", ["eval", "recommend", "logs import"])
def test_what_is_made_with_a_store_is_there(places, tmp_path, command):
    """With vectors, also by a command without jobs; the lines that are printed name the store."""
    url = f"file://{tmp_path}/store"
    (tmp_path / "bare.trec").write_text("q1 Q0 d1 1 0.5 x\n")
    (tmp_path / "qrels.trec").write_text("q1 0 d1 1\n")
    vectors, chunkers = ("--embedder", "hash"), ("-c", "fixed:max_nws=400", "-c", "ast:max_nws=400")
    words = {
        "eval": (*chunkers, "--source", places["source"], *vectors),
        "recommend": (
            places["source"],
            *["-c", "fixed", "-c", "ast", "--sizes", "200,400", "--protocol", "body"],
            *vectors,
        ),
        "logs import": (tmp_path / "bare.trec", "--gold", tmp_path / "qrels.trec"),
    }
    done = succeed(*command.split(), *words[command], "--out", url, home=tmp_path / "home")
    store = ObjectStore(url)
    assert len(run_states(store)) == {"recommend": 8, "logs import": 1}.get(command, 2)
    assert (block_names(store) != []) is (command != "logs import")
    if command != "logs import":
        assert f"--out {url}" in done.out or command == "recommend"
    if command == "eval":
        assert f"stored in {url} as fixed-400_" in done.out, done.out


def test_a_reader_follows_the_store(tmp_path, notices):
    """A run that was replaced there is fetched again, one that was deleted is forgotten, a broken one is named."""
    store = ObjectStore(f"memory://{tmp_path}")
    for name in "abc":
        StoredResults(tmp_path, store).put(write_run(tmp_path / "made" / name, {"ndcg@10": [0.5, 1.0]}).folder)
    results = results_at(store.url, tmp_path / "home")
    results.fetch()
    assert notices == []
    StoredResults(tmp_path, store).put(write_run(tmp_path / "again" / "a", {"ndcg@10": [0.0, 0.0]}).folder)
    store._system.rm_file(store._path("runs/b.zip"))
    store.write("runs/c.zip", b"half", replace=True)
    store.write("runs/theirs/e.zip", store.read("runs/a.zip"))
    shutil.copytree(tmp_path / "made" / "a", results.out / "d")
    results.fetch()
    assert sorted(path.name for path in results.out.glob("[!.]*")) == ["a", "c", "d"]
    assert RunView(results.out / "a").metrics.micro["ndcg@10"] == 0.0
    assert [note.partition(";")[0] for note in notices] == [f"note: {store.url} holds broken runs: c, theirs/e"]


@pytest.mark.parametrize(("url", "code", "message"), CASES["refused"])
def test_what_is_not_a_store_is_told_before_anything_is_made(url, code, message, tmp_path):
    """An address without a whole path, a protocol that nobody knows or whose package is missing, a closed place."""
    stored = bench("eval", "-c", "ast", "--retriever", "bm25", "--out", url, home=tmp_path / "home")
    assert message in one_sentence(stored, code)
    read = bench("runs", "--out", url, home=tmp_path / "home")
    if url == "file:///proc/store":
        code, message = 2, f"{url} holds no runs; make some with --out {url}"
    assert message in one_sentence(read, code)


def test_a_url_is_not_a_file_or_folder_of_this_machine(tmp_path, monkeypatch):
    """Whatever a command writes beside its runs is written here, and no folder `s3:` is made for it."""
    monkeypatch.chdir(tmp_path)
    for words in (("lab", "reproduce", "--out"), ("report", "-o"), ("lab", "leaderboard", "-o")):
        assert "s3://bucket/x is a URL; give a " in one_sentence(bench(*words, "s3://bucket/x"), 2)
    assert list(tmp_path.iterdir()) == []
