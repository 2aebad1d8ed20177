"""Fixtures that take long to make, made by one of the processes that run the tests."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from repoeval_bench.dataset.install import alone


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder that the first process to ask for `name` has `make` write; the others wait for it. It is only read."""
    base = factory.getbasetemp()
    place = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    ready, begun = place / "made", place / "begun"
    with alone(place):
        if not ready.exists():
            shutil.rmtree(begun, ignore_errors=True)  # of a process that failed
            make(begun)
            begun.rename(ready)
    return ready
