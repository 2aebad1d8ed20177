"""Facts that a user brings: a CSV or JSONL file of query id -> values."""

import pytest

from repoeval_bench.core.errors import UsageError
from repoeval_bench.runs.facts import read_facts


def test_facts_of_a_user(tmp_path):
    """CSV and JSONL give the same columns; a query without a row is unknown."""
    (tmp_path / "a.csv").write_text("query_id,topic,hard,size\nq1,io,yes,3\nq0,net,no,2.5\nother,x,,1\n")
    (tmp_path / "a.jsonl").write_text(
        '{"query_id": "q1", "topic": "io", "hard": true, "size": 3}\n\n{"query_id": "q0", "topic": "net", "hard": false, "size": 2.5}\n'
    )
    expected = {"topic": ["net", "io", None], "hard": [False, True, None], "size": [2.5, 3, None]}
    assert read_facts(tmp_path / "a.csv", ["q0", "q1", "q2"]) == expected
    assert read_facts(tmp_path / "a.jsonl", ["q0", "q1", "q2"]) == expected


def test_a_text_that_python_reads_as_a_number_is_one(tmp_path):
    texts = ["0x1", " 10 ", "+1.5e1", ".5", "-2.", '"3"']
    rows = "".join(f"q{i},{text}\n" for i, text in enumerate(texts))
    (tmp_path / "a.csv").write_bytes(f"query_id,x\r\n{rows}".encode())
    expected = ["0x1", 10, 15, 0.5, -2, 3]
    assert read_facts(tmp_path / "a.csv", [f"q{i}" for i in range(len(texts))]) == {"x": expected}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "id,x\nq0,1\n", "a.csv:1: the header is id, x; name query_id"),
        ("a.csv", "query_id,x\nq0\n", "a.csv:2: not as many fields as the header has"),
        ("a.csv", "query_id,x\nq0,1\nq0,2\n", "a.csv:3: query 'q0' appears twice"),
        ("a.csv", "query_id,x\nzz,1\n", "names none of the run's queries"),
        ("a.csv", "", "a.csv:1"),
        ("a.jsonl", '{"query_id": "q0", "x": 1}\n{', "a.jsonl:2: not valid JSON"),
        ("a.jsonl", "[1]", "a.jsonl:1: not an object"),
        ("a.jsonl", '{"x": 1}', "a.jsonl:1: no query_id"),
        ("a.jsonl", '{"query_id": "q0", "x": [1]}', "a.jsonl:1: x is [1]"),
        ("a.csv", 'query_id,x\nq0,1\nq1,"2\nq2,3\n', "a.csv:4: the row is not CSV"),
        ("a.csv", 'query_id,x\n\n"q0\n",1,2\n', "a.csv:4: not as many fields"),
        ("a.csv", b"query_id,x\nq0,1\nq1,\xff\n", "a.csv:3 is broken (UTF-8 was expected, byte 3 is not"),
        ("a.csv", "query_id,x,x\nq0,1,2\n", "a.csv:1: the header is query_id, x, x; name query_id, and no fact twice"),
        ("a.csv", "query_id,x\nq0,nan\n", "a.csv:2: x is nan, not a finite number"),
        ("a.csv", "query_id,x\nq0,1e999\n", "a.csv:2: x is inf, not a finite number"),
    ],
)
def test_broken_facts_name_file_and_line(tmp_path, name, text, message):
    """Every mistake ends in one sentence with its place."""
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UsageError) as error:
        read_facts(tmp_path / name, ["q0"])
    assert message in str(error.value)
