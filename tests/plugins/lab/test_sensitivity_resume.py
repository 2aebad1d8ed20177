"""A sensitivity grid that is stopped half way, on the mini benchmark."""

import pytest

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
ARMS = 2 + 2 + 1
"""Two offsets, two chunkers, and the second one at the first one's size."""


def test_each_cell_is_computed_once_and_a_stopped_grid_goes_on(mirror, warm_home, tmp_path, monkeypatch):
    """What was ranked before the stop is not ranked again; the grid's answer is the same as without a stop."""
    monkeypatch.setattr("repoeval_bench.plugins.lab.cells.code_state", lambda: CodeState(commit="c" * 40, dirty=False))
    benchmark = load_benchmark(str(mirror), home=warm_home)
    ranked, said = [], []
    rank = grid._Arm.rank

    def ask(out, stop_after=None):
        def counted(arm, retriever, policy):
            if len(ranked) == stop_after:
                raise KeyboardInterrupt
            ranked.append((retriever.spec, policy))
            return rank(arm, retriever, policy)

        monkeypatch.setattr(grid._Arm, "rank", counted)
        chunkers = ["ast:max_nws=400", "fixed:max_nws=500"]
        return [each.as_dict() for each in sensitivity(benchmark, chunkers, **SETTINGS, out=out, notify=said.append)]

    def scored():
        return [line for line in said if line.startswith("scoring ")]

    whole = ask(tmp_path / "whole")
    assert len(scored()) == ARMS
    assert len(ranked) == ARMS * 2 * 2
    ranked.clear()
    with pytest.raises(KeyboardInterrupt):
        ask(tmp_path / "stopped", stop_after=5)
    assert ask(tmp_path / "stopped") == whole
    assert len(ranked) == ARMS * 2 * 2
    ranked.clear()
    said.clear()
    assert ask(tmp_path / "stopped") == whole
    assert ranked == scored() == []
    assert f"{ARMS} of {ARMS} arms were scored before and are reused" in said
