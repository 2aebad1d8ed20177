"""Runs by id or a piece of it; what is said of a name that fits none, or many, of a folder's runs."""

import pytest

from repoeval_bench.core.errors import UsageError
from repoeval_bench.runs.view import find_run
from support.runs import write_run

RUNS = [f"20260101-context-{chunker}-{i:02d}" for chunker in ("ast", "fixed") for i in range(20)]


@pytest.fixture
def results(tmp_path):
    for run_id in RUNS:
        write_run(tmp_path / run_id, {"mrr": [1.0]})
    return tmp_path


def test_the_end_of_an_id_is_enough(results):
    """An unambiguous piece names the run."""
    assert find_run("fixed-07", results).run_id == "20260101-context-fixed-07"


def test_an_unknown_run_is_told_with_the_nearest_few(results):
    """Three ids, those first that hold what was typed, and the number of the others."""
    with pytest.raises(UsageError) as error:
        find_run("fixed-1", results)
    sentence = str(error.value)
    assert "holds 40" in sentence
    assert "and 37 more" in sentence
    assert sentence.count("20260101-context") == sentence.count("20260101-context-fixed-1") == 3


def test_many_fitting_runs_are_not_all_told(results):
    """Three of them, and the number of the others."""
    with pytest.raises(UsageError, match=r"fits 40 runs in .* and 37 more; give more of the id"):
        find_run("2026", results)
