"""Fields of a run's request: each reaches the run."""

import pytest

from repoeval_bench import evaluate
from repoeval_bench.runs.request import DataRequest, RunRequest

OTHERS = {
    "chunker": "ast",
    "match_size": "fixed:max_nws=300",
    "protocol": "body",
    "query": "tail:3",
    "gold": "prompt",
    "relevance": "iou:0.2",
    "repositories": "six",
    "exclusion": "repocoder",
    "scope": "pooled",
    "retriever": "jaccard",
    "k": 20,
    "measures": ("ndcg@5",),
    "skip_errors": True,
    "pack": "other@1",
}
"""Another value than the default for each field that is part of a run's id."""

NO_PART = {"embedder", "allow_sparse_qrels"}
"""The one counts only where vectors are needed, the other decides whether there is a run."""


def test_every_field_is_tried_here():
    """A new field belongs in one of the two tables."""
    assert OTHERS.keys() | NO_PART == RunRequest.model_fields.keys() - DataRequest.model_fields.keys()


@pytest.mark.parametrize("field", OTHERS)
def test_a_field_is_part_of_the_id(benchmark, tmp_path, field):
    """A field that reaches nothing would leave two runs with one id."""
    usual = {"chunker": "fixed:max_nws=200", "retriever": "bm25", "allow_sparse_qrels": True, "out": tmp_path}
    assert evaluate(benchmark, **usual).run_id != evaluate(benchmark, **usual | {field: OTHERS[field]}).run_id
