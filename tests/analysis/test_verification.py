"""Two runs of one request: nearly equal scores may change places, and then neither scores nor means are compared."""

import pytest

from repoeval_bench.analysis.verification import compare_runs
from support.runs import change, read_rows, write_rows, write_run


@pytest.mark.parametrize(("apart", "holds"), [(1e-6, True), (0.1, False)])
def test_chunks_of_nearly_equal_scores_may_change_places(tmp_path, apart, holds):
    """The query is counted, and its scores are not compared."""
    first, second = (
        write_run(tmp_path / name / "run", {"mrr": [1.0, 0.5]}, topk={"q000000": ["c", "d"]}) for name in "ab"
    )
    for run, order in ((first, "cd"), (second, "dc")):
        rows = read_rows(run.folder / "retrieved.jsonl.gz")
        of_chunk = {hit["chunk_id"]: hit for hit in rows[0]["topk"]}
        scores = (1.0, 1.0 - apart)
        rows[0]["topk"] = [of_chunk[c] | {"rank": i + 1, "score": scores[i]} for i, c in enumerate(order)]
        write_rows(run.folder / "retrieved.jsonl.gz", rows)
    change(second.folder / "per_query.jsonl.gz", lambda row: row["measures"].update(mrr=row["measures"]["mrr"] / 2))
    result = compare_runs(first, second, "data", 1e-5)
    assert result.reordered == (1 if holds else 0)
    assert {difference.what for difference in result.differences} >= {"mrr of q000001"}
    assert any("rank" in difference.what for difference in result.differences) is not holds
