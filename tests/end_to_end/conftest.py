"""A mini benchmark, its vectors embedded once by the real model; the wheel, built once."""

import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from support.codebase import write_code
from support.command import bench, json_of, succeed
from support.once import made_once


@pytest.fixture(scope="session")
def warm_home(tmp_path_factory, mirror):
    """A home whose data is installed and whose vectors of small chunks by `ast` are cached."""

    def embed(home):
        succeed("eval", "-c", "ast:max_nws=400", "--source", mirror, "--out", home / "first", home=home)

    warm = made_once(tmp_path_factory, "warm-home", embed)
    # Tests add vectors of their own, so each process has a copy.
    return shutil.copytree(warm, tmp_path_factory.mktemp("warm-home") / "home")


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The wheel, and a folder into which pip has unpacked it."""
    pytest.importorskip("hatchling", reason="hatchling builds the wheel; it comes with the extra 'dev'")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]

    def build(folder):
        # From the source archive, as a release makes it.
        words = ["-m", "hatchling", "build", "-t", "sdist", "-d", str(folder)]
        subprocess.run([sys.executable, *words], cwd=Path(__file__).parents[2], check=True, capture_output=True)
        (archive,) = folder.glob("*.tar.gz")
        words = ["wheel", "--no-deps", "--no-build-isolation", "-w", str(folder), str(archive)]
        subprocess.run([*pip, *words], check=True, capture_output=True)
        (wheel,) = folder.glob("*.whl")
        words = ["install", "--no-deps", "--no-compile", "--target", str(folder / "site"), str(wheel)]
        subprocess.run([*pip, *words], check=True, capture_output=True)

    folder = made_once(tmp_path_factory, "wheel", build)
    (wheel,) = folder.glob("*.whl")
    return wheel, folder / "site"


@pytest.fixture(scope="session")
def pack(tmp_path_factory):
    """A pack of a small repository in four languages; beside it a home, and results of tests that only look at what is said."""
    here = tmp_path_factory.mktemp("packed")
    succeed("data", "build", write_code(here / "code", aside=False), "-o", here / "pack", home=here / "home")
    return here / "pack"


@pytest.fixture
def ask(pack):
    """Call a command on the pack, for these chunkers, by BM25 under `body`."""

    def call(command, *chunkers, further=(), out=None):
        name, *words = command.split()
        source = (pack,) if name == "recommend" else ("--source", pack)
        into = () if command.startswith("lab") else ("--out", out or pack.parent / "results")  # a grid keeps no runs
        chosen = [word for chunker in chunkers for word in ("-c", chunker)]
        question = () if name == "run" else (*chosen, "--retriever", "bm25", "--protocol", "body")
        return bench(name, *words, *source, *question, *into, *further, home=pack.parent / "home")

    return call


@pytest.fixture
def claimed(two_runs, tmp_path):
    """A copy of a run by BM25, to be changed."""
    return shutil.copytree(two_runs.fixed, tmp_path / two_runs.fixed.name)


@pytest.fixture
def verify(two_runs, mirror):
    """Call `verify` on the mini benchmark."""
    return lambda run, *more: bench("verify", run, "--source", mirror, *more, home=two_runs.home)


@pytest.fixture
def evaluate(mirror, warm_home, tmp_path):
    """Call `eval` on the mini benchmark with cached vectors."""

    def call(*arguments, by=bench, **options):
        out = () if "--out" in arguments else ("--out", tmp_path / "results")
        return by("eval", "--source", mirror, *out, *arguments, home=warm_home, **options)

    return call


@pytest.fixture
def evaluated(evaluate):
    """Call `eval` on the mini benchmark; the metrics that --json prints."""
    return partial(evaluate, by=json_of)
