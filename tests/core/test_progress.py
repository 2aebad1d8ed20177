"""Progress where there is no terminal: a line now and then, with the time left."""

import time

import pytest

from repoeval_bench.core import progress as module
from repoeval_bench.core.progress import progress


@pytest.mark.parametrize(("steps", "lines", "said"), [(12, True, True), (12, False, False), (1, True, False)])
def test_a_long_step_is_said_in_lines(monkeypatch, capsys, steps, lines, said):
    """A short one is silent, and one that is counted otherwise."""
    monkeypatch.setattr(module, "SECONDS", 0.1)
    for _ in progress(range(steps), desc="work", unit="steps", lines=lines):
        time.sleep(0.05)
    shown = capsys.readouterr().err
    assert shown.startswith("work: ") == said
    assert not said or (shown.count("\n") > 1 and "/12 [" in shown and "\r" not in shown)
