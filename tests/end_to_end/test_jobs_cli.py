"""Commands as jobs: the answer of one process."""

import pytest

from support.command import bench, one_sentence
from support.folders import content


def test_recommend_as_jobs_gives_the_same_answer_and_runs(mirror, tmp_path):
    """A sample of the tasks is asked, each run is a job, and its folder has the bytes of one process."""
    words = [
        *("recommend", mirror, "-c", "fixed", "-c", "ast", "--sizes", "200,400", "--embedder", "hash", "--tasks"),
        "4",
    ]
    alone = bench(*words, "--out", tmp_path / "out", home=tmp_path / "home")
    assert alone.code == 0, alone.err
    (tmp_path / "out").rename(tmp_path / "alone")
    as_jobs = bench(*words, "--out", tmp_path / "out", "--executor", "local:1", home=tmp_path / "home")
    assert as_jobs.code == 0, as_jobs.err
    assert as_jobs.out == alone.out
    assert "that are asked are spread over the files" in as_jobs.out
    assert content(tmp_path / "out") == content(tmp_path / "alone")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--out", "nope://x"), "nope://x is not the address of a store"),
        (("--embedder", "openai:m,price=1,cost_limit=1"), "cost_limit is counted in one process"),
    ],
)
def test_where_runs_are_made_is_checked_before_any(mirror, tmp_path, words, told):
    """A store that is none, and a limit that each worker would count for itself."""
    places = ("--source", mirror, *(() if "--out" in words else ("--out", tmp_path / "out")), *words)
    done = bench("compare", "-c", "fixed", "-c", "ast", "--executor", "local:2", *places, home=tmp_path / "home")
    assert told in one_sentence(done, 2)
