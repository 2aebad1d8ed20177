"""Experiments: what is said about options that change nothing, and what Python may ask of a run."""

import pytest

from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.notices import collected
from repoeval_bench.runs.request import RunRequest
from repoeval_bench.runs.runner import Runner, evaluate

FIXED = "fixed:max_nws=400"


def notes(places, **given):
    request = RunRequest(chunker=FIXED, source=places["source"], **given)
    with collected() as lines:
        Runner([request], out=places["home"] / "results", home=places["home"])
    return [line for line in lines if "not read" in line]


def test_each_option_that_nothing_reads_is_named_in_one_line(places):
    """bm25 reads no model, which may not exist."""
    (line,) = notes(places, retriever="bm25", embedder="st:nope/nope")
    assert "--embedder st:nope/nope: not read" in line


@pytest.mark.parametrize(
    "given",
    [{"retriever": "bm25"}, {"embedder": "hash"}, {"retriever": "bm25", "embedder": "hash", "measures": ("ild@10",)}],
)
def test_what_is_read_or_was_not_given_is_not_named(places, given):
    """The usual embedder was not asked for; dense search and ILD read another one."""
    assert notes(places, **given) == []


def test_python_asks_for_everything_that_a_request_has(benchmark, tmp_path):
    """Sizes are matched as on the command line; a chunker's header stays."""
    options = {"retriever": "bm25", "match_size": "fixed:max_nws=300", "measures": ["ndcg@5"]}
    first, second = (evaluate(benchmark, chunker, **options, out=tmp_path) for chunker in ("fixed:header=path", "ast"))
    assert first.metrics.chunker in {f"fixed:max_nws={size},offset=0,header=path" for size in range(290, 310)}
    assert second.metrics.chunker.startswith("ast:")
    assert "ndcg@5" in second.metrics.micro


def test_sizes_are_matched_once_for_protocols_over_the_same_files(places, tmp_path, notices):
    """`docstring` changes the files, so there they are matched again."""
    usual = {
        "chunker": "ast",
        "match_size": FIXED,
        "retriever": "bm25",
        "source": places["source"],
        "allow_sparse_qrels": True,
    }
    requests = [RunRequest(**usual, protocol=protocol) for protocol in ("context", "body", "docstring")]
    experiment = Runner(requests, out=tmp_path, home=places["home"])
    first, second, _ = [experiment.run(setting)[0].metrics for setting in experiment.settings]
    assert first.chunker == second.chunker
    assert len([line for line in notices if "chunks average" in line]) == 2


@pytest.mark.parametrize(
    ("requests", "message"),
    [
        ({"k": 0}, "k: a number of 1 or more was expected"),
        ({"source": "github"}, "source: the data is loaded already"),
    ],
)
def test_python_is_refused_in_the_same_words(benchmark, tmp_path, requests, message):
    """Unknown options, impossible values, and what belongs to the loading of data."""
    with pytest.raises(UsageError, match=message):
        evaluate(benchmark, FIXED, **requests, out=tmp_path)
