"""The scripts run."""

from pathlib import Path

import pytest

from support.command import python

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_parts_of_the_benchmark_run():
    """Those that need no data, at small sizes, whatever the figures: a part that fails ends `make bench` with 1."""
    # By the path that make gives: what workers import of the script's folder depends on it.
    done = python("scripts/bench.py", "--quick", cwd=CHECKOUT, PYTHONPATH=str(CHECKOUT))
    assert done.code == 0, done.out[-3000:] + done.err[-1000:]
