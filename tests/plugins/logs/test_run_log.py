"""The run log's contract, gold of three kinds, and measures for incomplete judgements."""

import json
from pathlib import Path

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import Bpref, Judged
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from plugins.logs.made_logs import log_row, schema
from repoeval_bench.core.errors import ResultError
from repoeval_bench.plugins.logs.import_gold import bpref, by_file, hits_of, judge_log, judged_at, read_log
from repoeval_bench.plugins.logs.records import Gold, Judgement, read_rows
from repoeval_bench.runs.log import LoggedChunk, LogRow, Retrieved
from support.cases import cases
from support.runs import write_rows

CASES = cases(__file__)

DOCS = Path(__file__).parents[3] / "docs"


def row(query_id="q", chunks=("a", "b"), **changed):
    topk = [
        {"rank": i, "chunk_id": c, "score": 10.0 - i, "file": "r/f.py", "start_line": 10 * i - 10, "end_line": 10 * i}
        for i, c in enumerate(chunks, start=1)
    ]
    return log_row(query_id, topk) | changed


def write(path, *rows):
    return write_rows(path, rows)


def judged(tmp_path, *gold, corpus=None):
    rows = read_log(write(tmp_path / "log.jsonl", row()))
    chunks = by_file(corpus or hits_of(rows))
    return judge_log(chunks, write(tmp_path / "gold.jsonl", *gold), {}, has_corpus=corpus is not None)


def test_the_schema_in_the_docs_is_the_contract():
    """Regenerate docs/run-log.schema.json from made_logs.schema() where this fails."""
    assert (DOCS / "run-log.schema.json").read_text() == schema()


@pytest.mark.parametrize("changed", CASES["fields"])
def test_a_json_schema_library_refuses_what_the_contract_refuses(changed):
    """What the schema says is what is checked: the jsonschema library and `LogRow` refuse the same rows."""
    validator = Draft202012Validator(json.loads(schema()))
    assert validator.is_valid(row())
    LogRow.model_validate(row())
    assert not validator.is_valid(row(**changed))
    with pytest.raises(ValidationError):
        LogRow.model_validate(row(**changed))


def test_every_field_of_the_contract_passes_a_json_schema_library():
    """A row with all the fields a retrieval team logs is valid for both."""
    more = {"as_of": "2024-05-01", "no_answer": False, "source": "docs", "query": "how?"}
    more |= {"query_tokens": 3, "conversation": "t1", "extra": {"anything": 1}}
    full = row(latency_ms={"retrieve": 1.5, "rerank": 20}, **more)
    full["topk"][0] |= {"doc_version": "2024-04-01", "source": "docs"}
    Draft202012Validator(json.loads(schema())).validate(full)
    LogRow.model_validate(full)
    assert set(full) <= set(LogRow.model_fields)


def test_gold_as_chunk_ids_keeps_what_was_judged_not_relevant(tmp_path):
    """Gain 0 stays a judgement."""
    result = judged(tmp_path, {"query_id": "q", "chunk_id": "a"}, {"query_id": "q", "chunk_id": "z", "gain": 0.0})
    assert (result.gains, result.kind, result.pooled) == ({"q": {"a": 1.0, "z": 0.0}}, "chunks", False)


def test_gold_as_file_counts_a_chunk_of_the_file(tmp_path):
    """Every chunk of the file is relevant: those of the log, or all of the corpus where it is given."""
    gold = {"query_id": "q", "file": "r/f.py"}
    result = judged(tmp_path, gold)
    assert (result.gains, result.pooled, result.files) == ({"q": {"a": 1.0, "b": 1.0}}, True, {"q": ("r/f.py",)})
    corpus = [LoggedChunk(chunk_id=c, file="r/f.py") for c in "abc"]
    result = judged(tmp_path, gold, corpus=corpus)
    assert (result.gains, result.pooled) == ({"q": {"a": 1.0, "b": 1.0, "c": 1.0}}, False)


@pytest.mark.parametrize(("lines", "relevant"), [((0, 10), "a"), ((9, 11), "ab"), ((10, 11), "b"), ((20, 30), "")])
def test_gold_as_lines_counts_a_shared_line(tmp_path, lines, relevant):
    """Half-open ranges: touching is not sharing; a query whose lines no chunk shares stays."""
    result = judged(tmp_path, {"query_id": "q", "file": "r/f.py", "start_line": lines[0], "end_line": lines[1]})
    assert result.gains == {"q": dict.fromkeys(relevant, 1.0)}
    assert result.kind == "lines"


def test_gold_of_a_query_may_be_in_any_number_of_files(tmp_path):
    """A row for each place: chunks of every file count, the highest gain of a chunk holds, files are by name."""
    lines = {"start_line": 0, "end_line": 10}
    hits = [
        {"rank": i, "chunk_id": c, "score": -i, "file": f"r/{f}.py", **lines}
        for i, c, f in ((1, "a", "f"), (2, "b", "g"))
    ]
    rows = read_log(write(tmp_path / "log.jsonl", row(topk=hits)))
    gold = [
        {"query_id": "q", "file": f"r/{f}.py", "gain": gain} | lines for f, gain in (("g", 1.0), ("f", 1.0), ("g", 2.0))
    ]
    result = judge_log(by_file(hits_of(rows)), write(tmp_path / "gold.jsonl", *gold), {})
    assert (result.gains, result.files) == ({"q": {"b": 2.0, "a": 1.0}}, {"q": ("r/f.py", "r/g.py")})


def refused(read, *words):
    with pytest.raises(ResultError) as error:
        list(read(*words))
    return str(error.value)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        *(([row(**fields)], message) for fields, message in CASES["rows"]),
        ([row(), "{"], "log.jsonl:2"),
        ([{k: v for k, v in row().items() if k != "chunker"}], "log.jsonl:1: chunker: it is missing"),
        ([row(), row()], "log.jsonl:2: query 'q' appears twice"),
        ([row(), row("p", system="t")], "log.jsonl:2: system 't' after 's'"),
        ([row(chunks=("a", "a"))], "log.jsonl:1: topk: 'a' is ranked twice"),
        ([], "holds no row"),
    ],
)
def test_a_broken_log_row_names_file_and_line(tmp_path, rows, message):
    assert message in refused(read_log, write(tmp_path / "log.jsonl", *rows))


def test_several_mistakes_of_a_row_stand_on_lines_of_their_own(tmp_path):
    """Under a line with the place that counts them."""
    first, *mistakes = refused(read_log, write(tmp_path / "log.jsonl", row(), row("p", k_raw=0, quer="x"))).splitlines()
    assert first.startswith("2 mistakes in ")
    assert first.endswith("log.jsonl:2:")
    assert [line.partition(":")[0] for line in mistakes] == ["  k_raw", "  quer"]


@pytest.mark.parametrize(("gold", "message"), CASES["gold"])
def test_broken_gold_names_file_and_line(tmp_path, gold, message):
    assert message in refused(judged, tmp_path, *gold)


@pytest.mark.parametrize(
    ("start", "end", "wrong"), [(5, 5, "are empty"), (0, 0, "are empty"), (7, 5, "are not a range")]
)
@pytest.mark.parametrize(
    ("model", "fields"),
    [
        (Gold, {"query_id": "q", "file": "r/f.py"}),
        (LoggedChunk, {"chunk_id": "c", "file": "r/f.py"}),
        (Judgement, {"query_id": "q", "chunk_id": "c", "grade": 2}),
        (Retrieved, {"rank": 1, "chunk_id": "c", "score": 1.0}),
    ],
)
def test_lines_that_nothing_can_match_are_refused_wherever_they_are_read(tmp_path, model, fields, start, end, wrong):
    """Lines that count from 1 and include the last one look like this; the message says how lines count here."""
    path = write(tmp_path / "rows.jsonl", {**fields, "start_line": 4, "end_line": 5}, fields | at(start, end))
    message = f"rows.jsonl:2: lines {start} to {end} {wrong}; lines count from 0, and the end is not included"
    assert message in refused(read_rows, path, model)


def at(start, end):
    return {"start_line": start, "end_line": end}


@given(
    st.permutations([f"c{i}" for i in range(12)]),
    st.dictionaries(st.sampled_from([f"c{i}" for i in range(15)]), st.integers(0, 1)),
)
def test_bpref_and_judged_are_trec_evals(ranking, judgements):
    """ir_measures (trec_eval's bpref) on random judgements; judged@k where k chunks were retrieved."""
    qrels = {"q": judgements or {"c0": 0}}
    run = {"q": {c: float(len(ranking) - i) for i, c in enumerate(ranking)}}
    theirs = ir_measures.calc_aggregate([Bpref, Judged @ 5], qrels, run)
    assert bpref(ranking, qrels["q"]) == pytest.approx(theirs[Bpref], abs=1e-4)
    assert judged_at(ranking, qrels["q"], 5) == pytest.approx(theirs[Judged @ 5])


def test_bpref_by_hand():
    """Relevant a and d; n judged not relevant above d: 1 - 1/1 for d, 1 for a: a half."""
    assert bpref(["a", "x", "n", "d"], {"a": 1, "d": 1, "n": 0}) == 0.5
    assert bpref(["a"], {"b": 0}) == 0.0
    assert judged_at([], {"a": 1}, 5) == 0.0


ROW = log_row("q", [])


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ('"k_raw": ' + "9" * 30, "k_raw: a number of 9007199254740992 or less was expected"),
        ('"extra": {"a": ' + "[" * 5000, "not valid JSON (recursion limit exceeded"),
        ('"extra": {"a": [1e999]}', "extra: numbers that are finite"),
        ('"as_of": "0001-01-01T00:00:00+23:59"', "as_of: '0001-01-01T00:00:00+23:59' is not an ISO 8601"),
        ('"topk": [{"rank": 1, "chunk_id": "c", "score": 1, "start_line": 0, "end_line": 2147483648}]', "end_line: a"),
    ],
)
def test_a_row_that_no_program_reads_alike_is_one_sentence(tmp_path, fields, says):
    """Digits, nesting and dates without end are refused with file and line."""
    path = tmp_path / "log.jsonl"
    rest = json.dumps({key: value for key, value in ROW.items() if f'"{key}"' not in fields[:12]})
    path.write_text(json.dumps(ROW) + "\n" + rest[:-1] + ", " + fields + "}\n")
    refusal = refused(read_rows, path, LogRow)
    assert "log.jsonl:2: " in refusal
    assert says in refusal
