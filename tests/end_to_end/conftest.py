"""A mini benchmark, its vectors embedded once by the real model."""

import shutil

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


@pytest.fixture
def evaluate(mirror, warm_home, tmp_path):
    """Call `eval` on the mini benchmark with cached vectors."""

    def call(*arguments, **options):
        return bench("eval", "--source", mirror, "--out", tmp_path / "results", *arguments, home=warm_home, **options)

    return call
