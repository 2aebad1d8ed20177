"""A stored run that is scored again has the scores that it was stored with."""

import pytest

from repoeval_bench.protocols.protocol import Protocol
from repoeval_bench.runs.judgements import Rescored
from repoeval_bench.runs.planning import select
from repoeval_bench.runs.runner import evaluate


@pytest.mark.parametrize("retriever", ["bm25", "grep:around=definition", "grep:around=lines:3"])
@pytest.mark.parametrize("chunker", ["ast:max_nws=400", "window", "fixed:header=scope"])
@pytest.mark.parametrize("protocol", ["context", "context+exclusion=body", "docstring"])
def test_scores_are_those_of_the_run(benchmark, tmp_path, protocol, chunker, retriever):
    """Also with headers, with chunks of a query's own, and where grep reads more than it finds."""
    run = evaluate(benchmark, chunker, protocol=protocol, retriever=retriever, out=tmp_path, measures="line_recall_auc")
    scores = Rescored(run, select(benchmark, Protocol.parse(protocol))).by(
        ["line_recall_auc"], Protocol.parse(protocol)
    )
    stored = {row["query_id"]: row["line_recall_auc"] for row in run.per_query()}
    assert {one: round(value, 4) for one, value in zip(scores.query_ids, scores["line_recall_auc"], strict=True)} == {
        one: round(value, 4) for one, value in stored.items()
    }
