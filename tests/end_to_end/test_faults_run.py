"""Runs that are killed, that run at once, or that run elsewhere: the results are the same bytes."""

import shutil
import signal
import sqlite3
import time
from contextlib import closing

import pytest

from support.command import start, succeed
from support.folders import content
from support.minirepo import build_mirror, tree_files

AST = ("-c", "ast:max_nws=400")
ASKED = (*AST, "--limit", "6")

# Every batch is announced before it is written, and after; the pause makes a middle to be killed in.
SLOW = """
import sys, time
from repoeval_bench.embedding.storage import VectorCache
write = VectorCache.write
def slow(self, values, kind, identity):
    if kind == "vector":
        print("begin", len(values), flush=True)
        time.sleep(0.2)
    write(self, values, kind, identity)
    if kind == "vector":
        print("end", len(values), flush=True)
VectorCache.write = slow
from repoeval_bench.cli import main
main()
"""


def evaluating(mirror, home, out, *words, **environment):
    """`eval` as a process, started by these words."""
    arguments = ("eval", *ASKED, "--source", mirror, "--out", out)
    return start(*words, *arguments, REPOEVAL_HOME=str(home), **environment)


def expected(arguments, mirror, warm_home, out):
    """The run's files as a warm cache gives them."""
    succeed("eval", *arguments, "--source", mirror, "--out", out, home=warm_home)
    return content(out)


@pytest.mark.slow
def test_a_killed_run_goes_on_and_two_runs_share_a_cache(mirror, warm_home, tmp_path):
    """kill -9 loses no batch that was written; then two runs at once, one of them with one thread, give the warm run's bytes."""
    home = tmp_path / "home"
    killed = evaluating(mirror, home, tmp_path / "killed", "-c", SLOW)
    lines = []
    while sum(line.startswith("end") for line in lines) < 3:
        lines.append(killed.stdout.readline())
        assert lines[-1], killed.stderr.read()
    time.sleep(0.1)
    killed.send_signal(signal.SIGKILL)
    lines += killed.stdout.read().splitlines()
    assert killed.wait(timeout=60) == -signal.SIGKILL
    begun, ended = (sum(int(line.split()[1]) for line in lines if line.startswith(word)) for word in ("begin", "end"))
    with closing(sqlite3.connect(home / "vectors" / "cache.db")) as database:
        (kept,) = database.execute("SELECT COUNT(*) FROM Cache WHERE length(value) > 1000").fetchone()
    assert 0 < ended <= kept <= begun
    assert sum(line.startswith("begin") for line in lines) - sum(line.startswith("end") for line in lines) <= 1
    assert not list((tmp_path / "killed").glob("*/manifest.json"))

    import sentence_transformers  # noqa: F401 - so that this process embeds while the other one does

    other = evaluating(mirror, home, tmp_path / "run1", "-c", SLOW, OMP_NUM_THREADS="1")
    assert other.stdout.readline().startswith("begin")
    succeed("eval", *ASKED, "--source", mirror, "--out", tmp_path / "run2", home=home)
    _, err = other.communicate(timeout=300)
    assert other.returncode == 0, err
    warm = expected(ASKED, mirror, warm_home, tmp_path / "expected")
    assert content(tmp_path / "run1") == content(tmp_path / "run2") == warm


def test_the_order_of_the_files_does_not_matter(mirror, warm_home, tmp_path):
    """Archives whose members are in another order, unpacked into another order on disk, give the same bytes."""
    other = build_mirror(tmp_path / "mirror", files=dict(reversed(tree_files().items())))
    home = tmp_path / "home"
    home.mkdir()
    shutil.copytree(warm_home / "vectors", home / "vectors")
    succeed("eval", *AST, "--source", other, "--out", tmp_path / "results", home=home)
    assert content(tmp_path / "results") == expected(AST, mirror, warm_home, tmp_path / "expected")
