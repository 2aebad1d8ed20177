"""A mini benchmark, its vectors embedded once by the real model; the wheel, built once."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.command import bench
from support.once import made_once

CHUNKERS = ("ast:max_nws=400", "fixed:max_nws=400", "chonkie:chunk_size=600", "fixed", "ast", "chonkie")


@pytest.fixture(scope="session")
def warm_home(tmp_path_factory, mirror):
    """A home whose data is installed and whose vectors are cached for three chunkers, small and as they ship."""

    def embed(home):
        specs = [part for spec in CHUNKERS for part in ("--chunker", spec)]
        for protocol in ("context", "body"):
            done = bench("eval", *specs, "--source", mirror, "--protocol", protocol, "--out", home / "first", home=home)
            assert done.code == 0, done.err

    made = made_once(tmp_path_factory, "warm-home", embed)
    # Tests add vectors of their own, so each process has a copy.
    return shutil.copytree(made, tmp_path_factory.mktemp("warm-home") / "home")


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The wheel, and a folder into which pip has unpacked it."""
    pytest.importorskip("hatchling", reason="hatchling builds the wheel; it comes with the extra 'dev'")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]

    def build(folder):
        words = ["wheel", "--no-deps", "--no-build-isolation", "-w", str(folder), str(Path(__file__).parents[2])]
        subprocess.run([*pip, *words], check=True, capture_output=True)
        (wheel,) = folder.glob("*.whl")
        words = ["install", "--no-deps", "--no-compile", "--target", str(folder / "site"), str(wheel)]
        subprocess.run([*pip, *words], check=True, capture_output=True)

    folder = made_once(tmp_path_factory, "wheel", build)
    (wheel,) = folder.glob("*.whl")
    return wheel, folder / "site"


@pytest.fixture
def evaluate(mirror, warm_home, tmp_path):
    """Call `eval` on the mini benchmark with cached vectors."""

    def call(*arguments, **options):
        out = () if "--out" in arguments else ("--out", tmp_path / "results")
        return bench("eval", "--source", mirror, *out, *arguments, home=warm_home, **options)

    return call
