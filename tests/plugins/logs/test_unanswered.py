"""A run whose log lacks queries: wherever its mean is shown, a note says how many, and what the others score."""

import pytest

from plugins.logs.made_logs import chunks, log_row
from repoeval_bench.report.scores import unanswered_notes
from repoeval_bench.report.verdict import verdict
from repoeval_bench.runs.naming import find_run
from support.cases import cases
from support.command import bench, json_of, succeed
from support.runs import write_rows

CASES = cases(__file__)

N, LOST = 40, 10
LACKING = "10 of 40 queries are not in the log and score 0"
MEANS = "without them MRR is 0.750, not 0.562"


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A run of every query, and one whose log has 30 of 40: half of these at rank 1, half at rank 2."""
    folder = tmp_path_factory.mktemp("logs")
    gold = write_rows(folder / "gold.jsonl", [{"query_id": f"q{i:02}", "chunk_id": "a"} for i in range(N)])
    for name, n in (("whole", N), ("partial", N - LOST)):
        rows = [
            log_row(f"q{i:02}", chunks("ab" if i % 2 else "ba"), system=name, latency_ms={"retrieve": 1.0})
            for i in range(n)
        ]
        log = write_rows(folder / f"{name}.jsonl", rows)
        succeed("logs", "import", log, "--gold", gold, "-m", "mrr", "--out", folder / "results")
    (folder / "gates.yaml").write_text(
        "gates: [{measure: mrr, at_least: 0.1}, {measure: mrr, max_drop: 0.9}]\nlatency: [{median_ms: 5}]\n"
    )
    return folder


def one_line(text):
    return " ".join(text.split())


COMMANDS = CASES["commands"]


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_what_shows_the_mean_says_that_queries_are_missing(results, words):
    """In print and in JSON, with both numbers; a run of all queries has no such note."""
    said = one_line(bench(*words, "--out", results / "results").out)
    assert f"{LACKING}; {MEANS}" in said
    assert said.count("are not in the log") == 1


@pytest.mark.parametrize("form", ["csv", "trec"])
def test_an_export_without_room_for_notes_says_it_on_standard_error(results, form):
    result = bench("export", "runs", "partial", "--format", form, "--out", results / "results")
    assert LACKING in one_line(result.err)
    assert ("queries not in the log" in result.out) == (form == "csv")


def test_the_verdict_says_it_for_pages_and_python(results):
    runs = [find_run(name, results / "results") for name in ("whole", "partial")]
    assert f"partial: {LACKING}; {MEANS}" in " ".join(verdict(runs).notes)


@pytest.mark.parametrize(
    "names", [("partial",), ("partial", "--baseline", "whole"), ("whole", "--baseline", "partial")]
)
def test_a_gate_on_fewer_than_all_queries_says_so(results, names):
    """Of the run and, for a drop, of its baseline; a latency says how many queries have a time."""
    words = ("gate", *names, "--config", results / "gates.yaml", "--out", results / "results")
    if "--baseline" not in names:
        words = (*words, "--baseline", "partial")
    level, drop, latency = json_of(*words)
    lacks = names[0] == "partial"
    assert (level["warning"], latency["warning"]) == (
        ("10 of 40 queries are not in the run's log and score 0", "only 30 of 40 queries have a time")
        if lacks
        else ("", "")
    )
    assert ("the run's log" in drop["warning"]) == lacks
    assert ("the baseline's log" in drop["warning"]) == (names != ("partial", "--baseline", "whole"))
    assert ("10 of 40 queries" in bench(*words).out) == (lacks or "baseline's" in drop["warning"])


def test_an_evaluated_run_has_no_such_note(results):
    assert unanswered_notes([find_run("whole", results / "results")]) == []
