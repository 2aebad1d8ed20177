"""Runs on a Ray cluster of two nodes on this machine: the bytes of one process, whatever is killed meanwhile."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from itertools import product
from pathlib import Path

import pytest

pytest.importorskip("ray")

from repoeval_bench.core.errors import BenchError, ResultError, UsageError
from repoeval_bench.runs.experiment import Experiment
from repoeval_bench.runs.jobs import JobLog, RunJobs
from repoeval_bench.runs.provenance import code_state
from repoeval_bench.runs.ray_executor import RayCluster
from repoeval_bench.runs.request import RunRequest
from support.folders import content
from support.minirepo import build_mirror

pytestmark = pytest.mark.slow

CHUNKERS = (
    "fixed:max_nws=400",
    "ast:max_nws=400",
    "window:lines=8,step=4",
    "recursive:max_nws=300",
    "fixed:max_nws=250",
)
PROTOCOLS = ("context", "body", "linemap")
HALF = ("bm25", "hash")
"""The retrievers of half of the runs."""
KILLS = 5


def stored(out):
    """The finished runs of a folder."""
    return list(out.glob("[!.]*/manifest.json"))


def wait_for_runs(out, number):
    """Until so many runs are finished."""
    deadline = time.monotonic() + 120
    while len(stored(out)) < number:
        assert time.monotonic() < deadline, f"{len(stored(out))} of {number} runs are there"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def cluster():
    """A head and a second node, with a core each."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "object_store_memory": 80 * 2**20, "include_dashboard": False}
    made = Cluster(initialize_head=True, head_node_args=node)
    made.add_node(num_cpus=1, object_store_memory=80 * 2**20)
    yield made
    made.shutdown()


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ray")
    return {"source": str(build_mirror(folder / "mirror")), "home": folder / "home"}


def requests(places, retrievers=("bm25", "hash", "jaccard", "random")):
    """A request for each chunker, protocol and retriever; `hash` and `minilm` are embedders of dense search."""
    dense = {name: {"retriever": "dense", "embedder": name} for name in ("hash", "minilm")}
    return [
        RunRequest(chunker=chunker, protocol=protocol, source=places["source"], **dense.get(name, {"retriever": name}))
        for protocol, name, chunker in product(PROTOCOLS, retrievers, CHUNKERS)
    ]


@pytest.fixture(scope="module")
def alone(places, tmp_path_factory):
    """What one process writes."""
    out = tmp_path_factory.mktemp("alone")
    made = requests(places)
    experiment = Experiment(made, out=out, home=places["home"])
    for setting in experiment.settings:
        experiment.run(setting)
    assert len(list(out.iterdir())) == len(made) == 60
    return content(out)


@pytest.fixture(scope="module")
def half(alone):
    """What one process writes of the runs by the retrievers of `HALF`."""
    run_ids = {name: name.partition("/")[0] for name in alone}
    chosen = {name: alone[name] for name, run in run_ids.items() if run.split("_")[-1].startswith(("bm25", "dense"))}
    assert len({run_ids[name] for name in chosen}) == 30
    return chosen


def make(asked, address, out, home):
    """The runs, all of them there, made on the cluster."""
    with RayCluster(address, home=home) as chosen:
        jobs = RunJobs(asked, JobLog(chosen), out=out, home=home)
        runs = [run for setting in jobs.settings for run in jobs.run(setting)]
    jobs.check()
    return runs


def of_cluster(cluster, title):
    """The processes with such a title that the cluster's nodes have started; nobody else's."""
    nodes = {each.process.pid for node in cluster.list_all_nodes() for each in node.all_processes.get("raylet", ())}
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            named = (folder / "cmdline").read_bytes().startswith(title.encode())
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:  # it has ended meanwhile
            continue
        if named and parent in nodes:
            found.append(int(folder.name))
    return found


class Killer(threading.Thread):
    """Kills a process with such a title, again and again at random moments, until it is told to stop."""

    def __init__(self, cluster, title, times=KILLS, seed=0):
        super().__init__(daemon=True)
        self.cluster, self.title, self.times, self.rng = cluster, title, times, random.Random(seed)
        self.killed = 0
        self.stop = threading.Event()

    def run(self):
        while self.killed < self.times and not self.stop.is_set():
            self.stop.wait(self.rng.uniform(0.02, 0.6))
            if victims := of_cluster(self.cluster, self.title):
                with suppress(ProcessLookupError):
                    os.kill(self.rng.choice(victims), signal.SIGKILL)
                    self.killed += 1


def test_sixty_runs_have_the_bytes_of_one_process(cluster, places, alone, tmp_path):
    """Two nodes, any order of completion; each run once, nothing else in the folder."""
    runs = make(requests(places), cluster.address, tmp_path, places["home"])
    assert [run.run_id for run in runs] == list(dict.fromkeys(run.run_id for run in runs))
    assert content(tmp_path) == alone
    assert len(list(tmp_path.iterdir())) == 60


def test_workers_that_are_killed_lose_nothing(cluster, places, half, tmp_path):
    """kill -9 of a process that makes a run, at random moments: all runs, each once."""
    killer = Killer(cluster, "ray::_run")
    killer.start()
    make(requests(places, HALF), cluster.address, tmp_path, places["home"])
    killer.stop.set()
    killer.join()
    assert killer.killed > 0
    assert content(tmp_path) == half


def test_the_model_is_in_an_actor_that_may_be_killed(cluster, places, tmp_path):
    """The real model, its vectors not cached: killed while it loads and while it embeds, it is started again."""
    asked = requests(places, ("minilm",))[:2]
    experiment = Experiment(asked, out=tmp_path / "alone", home=tmp_path / "home")
    for setting in experiment.settings:
        experiment.run(setting)
    killer = Killer(cluster, "ray::Model", times=2, seed=1)
    killer.start()
    make(asked, cluster.address, tmp_path / "ray", tmp_path / "other")
    killer.stop.set()
    killer.join()
    assert killer.killed > 0
    assert content(tmp_path / "ray") == content(tmp_path / "alone")


def test_a_node_that_is_lost_loses_nothing(cluster, places, half, tmp_path):
    """A third node dies with what it was doing."""
    node = cluster.add_node(num_cpus=1, object_store_memory=80 * 2**20)

    def lose():
        wait_for_runs(tmp_path, 8)
        cluster.remove_node(node, allow_graceful=False)

    loser = threading.Thread(target=lose, daemon=True)
    loser.start()
    make(requests(places, HALF), cluster.address, tmp_path, places["home"])
    loser.join()
    assert node not in cluster.list_all_nodes()
    assert content(tmp_path) == half


def test_a_driver_that_is_killed_loses_unfinished_jobs_only(cluster, places, half, tmp_path):
    """kill -9 of the command at random moments; the same command goes on, and finished runs are not touched."""
    script = f"""
import sys; sys.path.insert(0, {str(Path(__file__).resolve().parents[1])!r})
from pathlib import Path
from runs.test_ray import HALF, make, requests
places = {{"source": {places["source"]!r}, "home": Path({str(places["home"])!r})}}
if __name__ == "__main__":
    make(requests(places, HALF), {cluster.address!r}, Path({str(tmp_path)!r}), places["home"])
"""
    rng = random.Random(2)
    kept = {}
    for _ in range(2):
        driver = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.DEVNULL)
        wait_for_runs(tmp_path, len(kept) + rng.randint(1, 10))
        driver.kill()
        driver.wait()
        if not code_state().dirty:  # runs of changed code are made again
            for path, stamp in kept.items():
                assert path.stat().st_mtime_ns == stamp
        kept = {path: path.stat().st_mtime_ns for path in stored(tmp_path)}
    make(requests(places, HALF), cluster.address, tmp_path, places["home"])
    assert {name: text for name, text in content(tmp_path).items() if not name.startswith(".")} == half


def test_two_drivers_at_once_have_all_their_runs(cluster, places, half, tmp_path):
    """The second is a process of its own, over the same runs in another order, in the same folder."""
    script = f"""
import sys; sys.path.insert(0, {str(Path(__file__).resolve().parents[1])!r})
from pathlib import Path
from runs.test_ray import HALF, make, requests
places = {{"source": {places["source"]!r}, "home": Path({str(places["home"])!r})}}
if __name__ == "__main__":
    make(requests(places, HALF)[::-1], {cluster.address!r}, Path({str(tmp_path)!r}), places["home"])
"""
    other = subprocess.Popen([sys.executable, "-c", script])
    make(requests(places, HALF), cluster.address, tmp_path, places["home"])
    assert other.wait(timeout=120) == 0
    assert content(tmp_path) == half


def test_an_error_ends_its_run_alone(cluster, places, tmp_path):
    """A chunker that fails on a worker is listed with its line; the other run is there."""
    asked = [
        RunRequest(chunker=chunker, retriever="bm25", source=places["source"])
        for chunker in ("exec:false", "fixed:max_nws=400")
    ]
    with RayCluster(cluster.address) as chosen:
        jobs = RunJobs(asked, JobLog(chosen), out=tmp_path, home=places["home"])
        runs = jobs.run(jobs.settings[0])
    assert [run is None for run in runs] == [True, False]
    with pytest.raises(ResultError, match=r"(?s)1 of 2 runs failed.*try it again: repoeval-bench eval"):
        jobs.check()


def test_gpus_that_are_not_there_are_told(cluster, places, tmp_path):
    with RayCluster(cluster.address, gpus_per_embedder=0.5) as chosen, pytest.raises(UsageError, match="has no GPU"):
        list(
            RunJobs(requests(places, ("hash",))[:1], JobLog(chosen), out=tmp_path, home=places["home"]).run(
                requests(places, ("hash",))[0].setting
            )
        )


def test_no_cluster_at_an_address_is_one_sentence():
    with pytest.raises(BenchError, match=r"no Ray cluster answers at '127\.0\.0\.1:1'"), RayCluster("127.0.0.1:1"):
        pass
