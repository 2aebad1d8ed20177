"""A thousand mutated and generated inputs, always the same ones; `scripts/fuzz.py` reads 200,000."""

import random

import pytest

from support.leaves import needs

pytestmark = needs("logs")


@pytest.fixture(scope="module")
def fuzz():
    """The script as a module."""
    import fuzz

    return fuzz


def test_nothing_is_a_traceback(fuzz, capfd):
    """Task files, logs, gold, TREC, YAML, facts, specs, archives and run folders: accepted or refused in a sentence."""
    counts = fuzz.fuzz(1000, seed=0)
    assert not sum(result["fault"] for result in counts.values()), capfd.readouterr().err
    assert all(result["refused"] for result in counts.values())
    assert sum(result["accepted"] > 0 for result in counts.values()) > 10
    assert sum(result.total() for result in counts.values()) == 1000


@pytest.mark.parametrize(
    ("read", "what"),
    [
        (lambda rng, inputs: {}["x"], "fault"),
        (lambda rng, inputs: [{"a": float("nan")}], "fault"),
        (lambda rng, inputs: [1.0], "accepted"),
    ],
)
def test_a_fault_is_seen(fuzz, monkeypatch, read, what):
    """A reader that raises, or that takes a number that is none."""
    monkeypatch.setitem(fuzz.KINDS, "made", (1.0, read))
    assert fuzz.outcome("made", random.Random(0), None)[0] == what
