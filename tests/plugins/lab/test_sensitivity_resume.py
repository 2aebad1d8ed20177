"""A sensitivity grid that is stopped half way, on the mini benchmark."""

import pytest

from repoeval_bench.core.errors import ResultError
from repoeval_bench.core.notices import collected
from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.plugins.lab import grid
from repoeval_bench.plugins.lab.sensitivity import sensitivity
from repoeval_bench.runs.records import CodeState

SETTINGS = {
    "protocols": ["context", "linemap"],
    "queries": ["full", "tail:20"],
    "relevances": ["overlap", "iou:0.2"],
    "retrievers": ["bm25", "random"],
    "measures": ["ndcg@10", "line_rprec"],
    "placebo": 2,
}
CANDIDATES = 2 + 2 + 1
"""Two offsets, two chunkers, and the second one at the first one's size."""


@pytest.fixture
def ask(mirror, warm_home, monkeypatch):
    """Ask of a grid in a folder; the answer, and the lines it printed, in clean code unless `dirty`."""
    benchmark = load_benchmark(str(mirror), home=warm_home)

    def run(out, *, dirty=False):
        state = CodeState(commit="c" * 40, dirty=dirty)
        monkeypatch.setattr("repoeval_bench.plugins.lab.grid.code_state", lambda: state)
        with collected() as lines:
            results = sensitivity(benchmark, ["ast:max_nws=400", "fixed:max_nws=500"], **SETTINGS, out=out)
        return [result.as_dict() for result in results], lines

    return run


def scored(lines):
    return sum(line.startswith("scoring ") for line in lines)


def test_a_chunker_is_scored_once_and_a_stopped_grid_goes_on(ask, tmp_path, monkeypatch):
    """What was scored before the stop is not scored again; the answer is the same, to the last digit."""
    whole, lines = ask(tmp_path / "whole")
    assert scored(lines) == CANDIDATES
    score, calls = grid.Grid.score, []

    def stop(self, corpora):
        if len(calls) == 2:
            raise KeyboardInterrupt
        calls.append(corpora)
        return score(self, corpora)

    with monkeypatch.context() as patch:
        patch.setattr(grid.Grid, "score", stop)
        with pytest.raises(KeyboardInterrupt):
            ask(tmp_path / "stopped")
    again, lines = ask(tmp_path / "stopped")
    assert (again, scored(lines)) == (whole, CANDIDATES - 2)
    again, lines = ask(tmp_path / "stopped")
    assert (again, scored(lines)) == (whole, 0)
    assert f"{CANDIDATES} of {CANDIDATES} chunkers were scored before and are reused" in lines


@pytest.mark.parametrize("damage", [lambda text: text[:-9], lambda text: text.replace("0.", "1.", 1), lambda _: ""])
def test_damaged_scores_are_computed_again(ask, tmp_path, damage):
    """A file that was cut off or changed is not read."""
    whole, _ = ask(tmp_path)
    first, *_ = sorted(tmp_path.rglob("*.cells"))
    text = first.read_text()
    first.write_text(damage(text))
    again, lines = ask(tmp_path)
    assert (again, scored(lines)) == (whole, 1)
    assert first.read_text() == text


def test_changed_code_keeps_nothing(ask, tmp_path):
    """Where files differ from the commit, nothing is written and nothing is read."""
    ask(tmp_path / "dirty", dirty=True)
    assert not (tmp_path / "dirty").exists()


def test_a_folder_that_cannot_be_written_is_named(ask, tmp_path):
    """One sentence with the way out."""
    (tmp_path / "file").write_text("")
    with pytest.raises(ResultError, match="choose another folder with --out"):
        ask(tmp_path / "file")
