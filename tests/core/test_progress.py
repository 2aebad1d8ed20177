"""Progress where there is no terminal: a line now and then, with the time left."""

import re

import pytest

from repoeval_bench.core import progress as module
from repoeval_bench.core.notices import NOTICES
from repoeval_bench.core.progress import SECONDS, progress


@pytest.fixture
def clock(monkeypatch, caplog):
    """A clock that the test moves, in a list of one number."""
    caplog.set_level("INFO", NOTICES.name)
    now = [0.0]
    monkeypatch.setattr(module, "monotonic", lambda: now[0])
    return now


def work(clock, costs, **options):
    """Do a step of each cost in turn."""
    for cost in progress(costs, desc="work", unit="steps", **options):
        clock[0] += cost


def test_the_time_left_counts_steps_alone(clock, caplog):
    """What is loaded before the first step ends is no measure of the others."""
    said = {}
    with progress(desc="work", unit="tokens", total=100) as bar:
        clock[0] += 30
        for _ in range(100):
            clock[0] += 2
            bar.update()
            said.update((clock[0], line) for line in caplog.messages)
            caplog.clear()
    assert len(said) > 200 / (SECONDS + 2)
    first, *others = said.items()
    assert first == (32.0, "work: 1%")
    for now, line in others:
        left = re.fullmatch(r"work: \d+%, about (\d+) s left", line)
        assert left, line
        assert int(left[1]) == pytest.approx(230 - now, abs=1)


def test_lines_are_as_far_apart_as_they_say(clock, caplog):
    work(clock, [1.0] * 60)
    assert len(caplog.messages) == 60 // SECONDS - 1
    assert caplog.messages[0] == "work: 25%, about 45 s left"


@pytest.mark.parametrize("options", [{"lines": False}, {}])
def test_what_is_short_or_counted_otherwise_is_silent(clock, caplog, options):
    work(clock, [1.0] * (60 if options else 14), **options)
    assert not caplog.messages
