"""The run log as a run stores it: a chunk is named once, and by its number after that."""

import json

import pytest

from repoeval_bench.core.errors import ResultError
from repoeval_bench.runs.view import RunView
from support.runs import read_text, write_run, write_text

PLACES = [{"chunk_id": f"r/a.py@{i}", "file": "r/a.py", "start_line": i, "end_line": i + 1} for i in range(3)]


def stored(query_id, new, chunks, scores):
    """A row that names the `new` ones of `PLACES`."""
    given = {"query_id": query_id, "system": "made", "k_raw": 100, "query": f'"chunks": of {query_id}'}
    columns = {"new_chunks": [PLACES[i] for i in new], "chunks": chunks, "scores": scores}
    return {**given, **columns, "index_version": "1", "chunker": {"algo": "made", "parameters": {}}}


@pytest.fixture
def run(tmp_path):
    """A run of two queries, whose log tests write."""
    return write_run(tmp_path / "made", {"mrr": [1.0, 0.5]})


def write_log(run, *rows):
    write_text(run.folder / "retrieved.jsonl.gz", "".join(json.dumps(row) + "\n" for row in rows))
    return RunView(run.folder)


def test_numbers_name_chunks_of_the_row_and_of_rows_above(run):
    """In full a row has what every log has: rank, chunk, place and score."""
    rows = stored("q000000", [0, 1], [0, 1], [2.0, 1.5]), stored("q000001", [2], [1, 2, 0], [3.0, 2.0, 1.0])
    view = write_log(run, *rows)
    second = list(view.log_rows())[1]
    assert second.query == '"chunks": of q000001'
    hits = [{"rank": rank, **PLACES[i], "score": 4.0 - rank} for rank, i in enumerate((1, 2, 0), 1)]
    assert [hit.as_json() for hit in second.topk] == hits
    assert view.ranked_ids()["q000001"] == tuple(PLACES[i]["chunk_id"] for i in (1, 2, 0))
    assert view.rankings()["q000000"] == (("r/a.py@0", 2.0), ("r/a.py@1", 1.5))
    assert view.trec_run().splitlines()[2] == "q000001 Q0 r/a.py@1 1 3 made"


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (stored("q000000", [0], [0, 1], [2.0, 1.0]), "chunks has the number 1, which no chunk has"),
        (stored("q000000", [0], [0], [2.0, 1.0]), "chunks has 1 numbers, and scores has 2"),
        (stored("q000000", [0], [-1], [2.0]), "chunks.0: a number of 0 or more was expected, got -1"),
        (stored("q000000", [0], [0], [float("nan")]), "scores.0: a finite number"),
        (stored("q000000", [0], [0], [2.0]) | {"topk": [{"rank": 1, "chunk_id": "c", "score": 1}]}, "topk: 0 or fewer"),
    ],
)
def test_columns_that_contradict_each_other_are_named_with_their_line(run, row, says):
    view = write_log(run, row)
    with pytest.raises(ResultError, match="retrieved.jsonl.gz:1 is broken") as error:
        view.ranked_ids()
    assert says in str(error.value)


def test_a_made_run_stores_each_place_once(two_runs):
    """In the order in which chunks are first retrieved."""
    rows = [json.loads(line) for line in read_text(two_runs.ast / "retrieved.jsonl.gz").splitlines()]
    named = [chunk["chunk_id"] for row in rows for chunk in row["new_chunks"]]
    assert len(named) == len(set(named)) > 1
    assert {named[number] for row in rows for number in row["chunks"]} == set(named)
