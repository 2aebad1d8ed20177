"""A thousand mutated and generated inputs, always the same ones; `scripts/fuzz.py` reads a million."""

import random
from pathlib import Path

import pytest

from support.leaves import needs

pytestmark = needs("logs")

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


@pytest.fixture(scope="module")
def fuzz():
    """The script as a module; it imports its helpers from its own folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(SCRIPTS))
        import fuzz

        yield fuzz


def test_nothing_is_a_traceback_a_hang_or_out_of_range(fuzz, capfd):
    """Task files, logs, gold, TREC, YAML, facts, specs, archives and run folders: accepted or refused in a sentence."""
    counts = fuzz.fuzz(1000, seed=0)
    bad = {kind: dict(result) for kind, result in counts.items() if result.keys() - {"accepted", "refused"}}
    assert not bad, capfd.readouterr().err
    for kind, result in counts.items():
        assert result["accepted"], kind
        assert result["refused"], kind
    assert sum(result.total() for result in counts.values()) == 1000


@pytest.mark.parametrize(
    ("read", "what"),
    [
        (lambda rng, inputs: {}["x"], "traceback"),
        (lambda rng, inputs: exec("while True: pass"), "hang"),
        (lambda rng, inputs: "-1 is negative", "out of range"),
        (lambda rng, inputs: "", "accepted"),
    ],
)
def test_what_must_not_be_is_seen(fuzz, monkeypatch, read, what):
    """A reader that raises, that never ends, or that takes what it should not, is counted as that."""
    monkeypatch.setattr(fuzz, "DEADLINE", 0.2)
    result, _ = fuzz.outcome(fuzz.Kind(1.0, read), random.Random(0), None)
    assert result == what


def test_a_row_depends_on_its_number_alone(fuzz, capfd):
    """So that one row of a million can be read again by itself."""
    together = fuzz.fuzz(10, seed=5, only="trec")["trec"]
    alone = [fuzz.fuzz(1, seed=5, only="trec", first=number)["trec"] for number in range(10)]
    assert sum(result["accepted"] for result in alone) == together["accepted"]
