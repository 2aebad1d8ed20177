"""Runs on a Ray cluster of two nodes on this machine: the bytes of one process, whatever is killed meanwhile."""

import os
import random
import signal
import subprocess
import sys
import time
from functools import partial
from importlib.util import find_spec
from itertools import count, product
from pathlib import Path

import pytest

from repoeval_bench.core.errors import BenchError
from repoeval_bench.plugins.cluster.ray_executor import RayCluster
from repoeval_bench.runs.jobs import Workers
from repoeval_bench.runs.provenance import code_state
from repoeval_bench.runs.request import RunRequest
from repoeval_bench.runs.runner import Runner
from support.folders import content
from support.killer import KILLS, Killer, children, wait_until
from support.planted import compare_in_planted_folder

pytestmark = [pytest.mark.slow, pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed")]

CHUNKERS = ("fixed:max_nws=400", "ast:max_nws=400", "window:lines=8,step=4", "recursive", "fixed:max_nws=250")
PROTOCOLS = ("context", "body", "docstring")
HALF = ("bm25", "hash")
"""The retrievers of half of the runs."""
NODE = {"num_cpus": 1, "object_store_memory": 80 * 2**20}


def stored(out):
    """The finished runs of a folder."""
    return list(out.glob("[!.]*/manifest.json"))


@pytest.fixture(scope="module")
def cluster():
    """A head and a second node, with a core each."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    requested = Cluster(initialize_head=True, head_node_args=NODE | {"include_dashboard": False})
    requested.add_node(**NODE)
    yield requested
    requested.shutdown()


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
    requested = requests(places)
    experiment = Runner(requested, out=out, home=places["home"])
    for setting in experiment.settings:
        experiment.run(setting)
    assert len(list(out.iterdir())) == len(requested) == 60
    return content(out)


@pytest.fixture(scope="module")
def half(alone):
    """What one process writes of the runs by the retrievers of `HALF`."""
    run_ids = {name: name.partition("/")[0] for name in alone}
    chosen = {name: alone[name] for name, run in run_ids.items() if run.split("_")[-1].startswith(("bm25", "dense"))}
    assert len({run_ids[name] for name in chosen}) == 30
    return chosen


def make(requests_, address, out, home):
    """The runs, all of them there, made on the cluster."""
    with RayCluster(address, home=home) as chosen:
        return made_on(chosen, requests_, out, home)


def made_on(chosen, requests_, out, home):
    """The same on a cluster that is open."""
    jobs = Runner(requests_, executor=Workers(chosen), out=out, home=home)
    runs = [run for setting in jobs.settings for run in jobs.run(setting)]
    jobs.check()
    return runs


def workers(cluster, title="ray::_run"):
    """The processes with such a title that the cluster's nodes have started; where no run is made, idle ones."""
    nodes = {
        process.process.pid for node in cluster.list_all_nodes() for process in node.all_processes.get("raylet", ())
    }
    return children(nodes, title) or (children(nodes, "ray::IDLE") if title == "ray::_run" else [])


def gone(process):
    return not Path(f"/proc/{process}").exists()


@pytest.fixture(scope="module")
def drive(cluster, places):
    """Starts a process that makes the runs of `HALF` in a folder, in their order or backwards; its id.

    It is forked from one that has imported all it needs, and leaves a file when it has ended well.
    """
    script = f"""
import os, signal, sys
sys.path.insert(0, {str(Path(__file__).resolve().parents[2])!r})
from pathlib import Path
from plugins.cluster.test_ray import HALF, make, requests
places = {{"source": {places["source"]!r}, "home": Path({str(places["home"])!r})}}
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for line in sys.stdin:
    out, step = line.split()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        make(requests(places, HALF)[:: int(step)], {cluster.address!r}, Path(out), places["home"])
        (Path(out) / f".{{os.getpid()}}.ended").touch()
        os._exit(0)
    print(child, flush=True)
"""
    parent = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def start(out, step=1):
        parent.stdin.write(f"{out} {step}\n")
        parent.stdin.flush()
        return int(parent.stdout.readline())

    yield start
    parent.stdin.close()
    assert parent.wait(timeout=60) == 0


def test_sixty_runs_have_the_bytes_of_one_process(cluster, places, alone, tmp_path):
    """Two nodes, any order of completion; each run once, nothing else in the folder."""
    runs = make(requests(places), cluster.address, tmp_path, places["home"])
    assert [run.run_id for run in runs] == list(dict.fromkeys(run.run_id for run in runs))
    assert content(tmp_path) == alone
    assert len(list(tmp_path.iterdir())) == 60


def test_what_is_killed_loses_unfinished_jobs_only(drive, cluster, places, half, tmp_path):
    """kill -9 of ten workers, ten nodes and ten commands at random moments; what was finished is not touched.

    The same command goes on each time. In the end every run is there once, with the bytes of one process.
    """
    rng, out, passes = random.Random(4), tmp_path / "out", count()
    kept = {}

    def done():
        return len(list(tmp_path.glob("*/[!.]*/manifest.json")))

    with Killer(lambda: workers(cluster), seed=0, done=done) as of_workers:
        for _ in range(KILLS):
            node = cluster.add_node(**NODE)
            (raylet,) = (process.process.pid for process in node.all_processes["raylet"])
            driver = drive(out)
            for victim in rng.sample([driver, raylet], 2):
                time.sleep(rng.uniform(0, 1.2))
                os.kill(victim, signal.SIGKILL)
            wait_until(partial(gone, driver), "the driver is gone")
            cluster.remove_node(node, allow_graceful=False)
            if not code_state().dirty:  # runs of changed code are made again
                assert all(path.stat().st_mtime_ns == stamp for path, stamp in kept.items())
            kept = {path: path.stat().st_mtime_ns for path in stored(out)}
        make(requests(places, HALF), cluster.address, out, places["home"])
        assert content(out) == half
        assert len(stored(out)) == 30
        while of_workers.more:
            again = tmp_path / str(next(passes))
            make(requests(places, HALF), cluster.address, again, places["home"])
            assert content(again) == half
    assert of_workers.killed == KILLS


def test_the_model_is_in_an_actor_that_may_be_killed(cluster, places, tmp_path):
    """The real model, its vectors not cached: killed ten times while it loads and while it embeds, and begun again."""
    requests_ = requests(places, ("minilm",))[:1]
    experiment = Runner(requests_, out=tmp_path / "alone", home=tmp_path / "home")
    for setting in experiment.settings:
        experiment.run(setting)
    rng, begun = random.Random(5), []

    def actors():
        results = [worker for worker in workers(cluster, "ray::Model") if worker not in begun]
        begun.extend(results)
        time.sleep(rng.uniform(0, 2) if results else 0)
        return results

    passes = count()
    with Killer(actors, seed=1, every=True) as killer:
        while killer.more:
            out = tmp_path / str(next(passes))
            make(requests_, cluster.address, out, out / ".home")
            assert content(out) == content(tmp_path / "alone")
    assert killer.killed == KILLS


def test_two_drivers_at_once_have_all_their_runs(drive, cluster, places, half, tmp_path):
    """The second is a process of its own, over the same runs in another order, in the same folder."""
    other = drive(tmp_path, -1)
    make(requests(places, HALF), cluster.address, tmp_path, places["home"])
    wait_until((tmp_path / f".{other}.ended").exists, "the other driver has ended")
    assert content(tmp_path) == half


def test_no_cluster_at_an_address_is_one_sentence():
    with pytest.raises(BenchError, match=r"no Ray cluster answers at '127\.0\.0\.1:1'"), RayCluster("127.0.0.1:1"):
        pass


def test_no_file_of_the_current_folder_is_run(tmp_path):
    """Ray would look there for modules; relative folders are still those of the command."""
    done, ran = compare_in_planted_folder(tmp_path, "ray")
    assert done.code == 0, done.err
    assert ran == ""
    assert len(stored(tmp_path / "runs")) == 2
