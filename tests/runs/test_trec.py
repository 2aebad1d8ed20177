"""TREC files: what is written, what is refused, and by file:line."""

import gzip
import math

import pytest

from repoeval_bench.core.errors import MetricError
from repoeval_bench.runs.records import QRELS
from repoeval_bench.runs.trec import format_qrels, read_qrels, read_run, run_lines
from support.cases import cases
from support.runs import write_run

CASES = cases(__file__)


def lines(text):
    return [line.split() for line in text.splitlines()]


def text_of(rankings, tag="t"):
    return "".join(run_lines(rankings, tag))


def test_a_run_line_has_six_fields_with_rank_from_1():
    """query Q0 chunk rank score tag, in rank order; blanks are encoded, what has none is written as it is."""
    assert text_of({"q": [("b", 0.5), ("a", 0.25)]}, "a tag") == "q Q0 b 1 0.5 a%20tag\nq Q0 a 2 0.25 a%20tag\n"
    assert lines(text_of({"q": [("a", 1 / 3)]}, "t"))[0][4] == "0.333333333"  # a float32 survives it
    assert lines(text_of({"q": [("r/a%20b.py@0-9", 1.0)]}, "t"))[0][2] == "r/a%20b.py@0-9"
    assert lines(text_of({"q q": [("a\tb", 1.0)]}, "t"))[0][::2] == ["q%20q", "a%09b", "1"]


def test_scores_that_float32_cannot_tell_apart_keep_their_order():
    """trec_eval would order them by id: the lower one is written one float32 step down."""
    text = text_of({"q": [("a", 300.00002), ("b", 300.00001), ("c", 300.0)]}, "t")
    scores = [float(fields[4]) for fields in lines(text)]
    assert scores[0] > scores[1] > scores[2]
    assert scores[2] == pytest.approx(300.0, abs=1e-4)


def test_a_long_tie_in_the_order_of_ids_is_written():
    """Thousands of equal scores against the order of ids are all stepped down, not refused."""
    ranking = [(f"d{i:05}", 0.5) for i in range(3000)]
    assert len({fields[4] for fields in lines(text_of({"q": ranking}, "t"))}) == 3000


@pytest.mark.parametrize(
    ("ranking", "piece"),
    [
        ([("a", 0.5), ("b", 0.9)], r"rank 2 scores 0\.9"),  # it would come back in another order
        ([("a", math.nan)], r"query 'q'.*'a'"),
        ([("a", math.inf)], r"query 'q'.*'a'"),
        ([("", 1.0)], "chunk id is empty"),
    ],
)
def test_what_no_file_can_hold_is_refused(ranking, piece):
    with pytest.raises(MetricError, match=piece):
        text_of({"q": ranking})


def test_gains_are_written_whole_or_in_thousandths(tmp_path):
    """A query without a relevant chunk has one row of gain 0; a relevant chunk never becomes irrelevant by rounding."""
    text, factor = format_qrels({"q": {"a": 2, "b": 1.0, "c": 0}, "none": {}})
    assert factor == 1
    assert lines(text) == [["q", "0", "a", "2"], ["q", "0", "b", "1"], ["q", "0", "c", "0"], ["none", "0", "none", "0"]]
    text, factor = format_qrels({"q": {"a": 0.2504, "b": 1.0, "c": 0.0001}, "empty": {}})
    assert factor == 1000
    assert [fields[3] for fields in lines(text)] == ["250", "1000", "1", "0"]
    path = tmp_path / "qrels.trec"
    path.write_text(text, encoding="utf-8")
    assert read_qrels(path, factor) == {"q": {"a": 0.25, "b": 1.0, "c": 0.001}, "empty": {}}


def test_a_grade_below_0_stays_below_0():
    """It means: in the pool, not judged. As grade 0 it would count as judged not relevant in trec_eval's bpref."""
    assert [fields[3] for fields in lines(format_qrels({"q": {"a": 1, "b": 0, "c": -1, "d": -2}})[0])] == [
        *list("10"),
        "-1",
        "-2",
    ]
    assert [fields[3] for fields in lines(format_qrels({"q": {"a": 0.5, "c": -1, "d": -0.0001}})[0])] == [
        "500",
        "-1000",
        "-1",
    ]


def test_a_negative_grade_is_not_relevant(tmp_path):
    """As trec_eval reads it: never a gain, and a query that has no other grade stays, without a relevant chunk."""
    path = tmp_path / "qrels.trec"
    path.write_text("q 0 a -1\nq 0 b 2\njunk 0 a -2\n", encoding="utf-8")
    assert read_qrels(path) == {"q": {"b": 2.0}, "junk": {}}


def test_a_run_is_read_by_score_then_id_both_descending(tmp_path):
    """The file's own order and ranks are ignored, and so are comments; tabs, blanks and CRLF all separate fields."""
    path = tmp_path / "run.trec"
    path.write_bytes(b"# made by hand\nq Q0 a 1 0.5 t\r\nq\tQ0\tc\t2\t0.5\tt\n\nq  Q0 b 3 0.75 t\np Q0 x 1 -1e3 t")
    run = read_run(path)
    assert run.tag == "t"
    assert run.rankings == {"q": (("b", 0.75), ("c", 0.5), ("a", 0.5)), "p": (("x", -1000.0),)}


def test_scores_are_compared_as_float32(tmp_path):
    """Two scores that trec_eval cannot tell apart are a tie here too, so that another's run scores as it does there."""
    path = tmp_path / "run.trec"
    path.write_text("q Q0 a 1 16777217 t\nq Q0 b 2 16777216 t\n")
    assert [chunk for chunk, _ in read_run(path).rankings["q"]] == ["b", "a"]


@pytest.mark.parametrize(
    ("read", "line", "piece"),
    [
        (read, line, piece)
        for read, kind in ((read_run, "run"), (read_qrels, "qrels"))
        for line, piece in CASES[kind].items()
    ],
)
def test_a_malformed_line_is_named_by_file_and_line(tmp_path, read, line, piece):
    """file:line and what is wrong with it."""
    path = tmp_path / "file.trec"
    path.write_text(f"{'q Q0 a 1 0.9 t' if read is read_run else 'q 0 a 1'}\n\n{line}\n")
    with pytest.raises(MetricError) as caught:
        read(path)
    assert f"{path}:3: " in str(caught.value)
    assert piece in str(caught.value)


@pytest.mark.parametrize("read", [read_run, read_qrels])
def test_a_file_that_cannot_be_read_is_named(tmp_path, read):
    """Missing files and bytes that are not UTF-8."""
    with pytest.raises(MetricError, match="cannot be read"):
        read(tmp_path / "absent")
    broken = tmp_path / "broken"
    broken.write_bytes(b"\xff\xfe")
    with pytest.raises(MetricError, match="UTF-8"):
        read(broken)
    broken.write_bytes(b"\xef\xbb\xbf\n\nq \xff\n")
    with pytest.raises(MetricError, match="broken:3 .*UTF-8 was expected, byte 2 is not"):
        read(broken)


def test_stored_judgements_are_packed_to_the_same_bytes_each_time(tmp_path):
    """The packing names neither a file nor a time, and standard tools unpack it."""
    runs = [write_run(tmp_path / letter, {"mrr": [0.5, 1.0]}) for letter in "ab"]
    first, second = ((run.folder / QRELS).read_bytes() for run in runs)
    assert first == second
    assert first[:8] == b"\x1f\x8b\x08" + bytes(5)  # no name, no time
    assert gzip.decompress(first).decode() == runs[0].text(QRELS)
