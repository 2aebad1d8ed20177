"""A leaderboard ranks what may be compared, says what it leaves out, and shows hostile names as text."""

import csv
import io

import pytest

from repoeval_bench import choose
from repoeval_bench.analysis.comparison import compare
from repoeval_bench.core.errors import UsageError
from repoeval_bench.plugins.lab import leaderboard as report
from repoeval_bench.plugins.lab.leaderboard import (
    leaderboard_columns,
    leaderboard_csv,
    leaderboard_tables,
    leaderboards_of,
    summary,
)
from repoeval_bench.report.formats import markdown
from repoeval_bench.report.table import number, record_of
from support.command import succeed
from support.runs import edit, set_config, write_run

HOSTILE = "<img src=x onerror=\"window.ran='image'\"></script><script>window.ran=1</script>|*a*\x07"


def stored_run(results, name, mean, **changed):
    """A run of eight queries in eight files whose scores spread around `mean`."""
    values = [mean * (1 + part) for part in (-0.5, 0.1, -0.1, 0.3, 0.2, -0.4, 0.6, -0.2)]
    changed = {"headline_measure": "line_rprec", "ceilings": {"micro": {"line_rprec": 0.9}}, **changed}
    return write_run(
        results / name, {"line_rprec": values, "ndcg@10": [0.5] * 8}, files=[f"f{i}.py" for i in range(8)], **changed
    )


def precision(run, word):
    set_config(run, embedder_identity={"precision": word} if word else {})


@pytest.fixture
def results(tmp_path):
    return tmp_path / "results"


def test_numbers_are_those_of_the_run_and_of_compare(results):
    """Score, share and size are metrics.json's; the difference to the first is compare's, interval and all."""
    low, high = stored_run(results, "low", 0.4), stored_run(results, "high", 0.6)
    result = leaderboards_of(results)
    (leaderboard,) = result.ranked
    assert [(entry.rank, entry.run_id) for entry in leaderboard.entries] == [(1, "high"), (2, "low")]
    for entry, run in zip(leaderboard.entries, (high, low), strict=True):
        assert entry.score == run.metrics.micro["line_rprec"]
        record = record_of(leaderboard_columns(leaderboard), entry)
        assert record["share_of_ceiling"] == pytest.approx(entry.score / 0.9)
        assert record["mean characters"] == run.metrics.chunk_nws.mean
        assert (record["nDCG@10"], record["R@10"]) == (run.metrics.micro["ndcg@10"], None)
        assert entry.ci[0] <= entry.score <= entry.ci[1]
    (said,) = compare([high, low], high, measures=["line_rprec"])
    assert leaderboard.entries[0].to_first is None
    to_first = leaderboard.entries[1].to_first
    assert (to_first.difference, *to_first.ci) == pytest.approx((said.difference, *said.ci))
    assert summary(result) == "2 runs on 1 leaderboard"
    choice = choose([low, high])
    assert leaderboard.choice == choice
    assert to_first.verdict == choice.verdict.others[0].verdict.reversed()


@pytest.mark.parametrize(
    "changed",
    [
        {"protocol": "body"},
        {"k": 50},
        {"dataset": {"name": "made", "fingerprint": "1" * 12, "label": "made · 1", "tasks": 8}},
        {"headline_measure": "ndcg@10"},
        {"query_ids": [f"other{i}" for i in range(8)]},
    ],
)
def test_runs_of_different_questions_are_never_on_one_board(results, changed):
    stored_run(results, "a", 0.4)
    stored_run(results, "b", 0.5)
    stored_run(results, "c", 0.9, **changed)
    ranked = leaderboards_of(results).ranked
    ids = sorted(sorted(entry.run_id for entry in leaderboard.entries) for leaderboard in ranked)
    assert ids == [["a", "b"], ["c"]]
    assert all(leaderboard.entries[0].rank == 1 for leaderboard in ranked)


def test_precisions_are_kept_apart_and_a_run_without_vectors_fits_one(results):
    for name, word in (("a32", "fp32"), ("b32", "fp32"), ("a16", "bf16"), ("words", "")):
        precision(stored_run(results, name, 0.5, embedder="none" if name == "words" else "minilm"), word)
    result = leaderboards_of(results)
    by_precision = {row.precision: {entry.run_id for entry in row.entries} for row in result.ranked}
    assert by_precision == {"fp32": {"a32", "b32"}, "bf16": {"a16", "words"}}
    assert sum(len(row.entries) for row in result.ranked) == 4


def test_equal_scores_share_a_rank(results):
    for name, mean in (("c", 0.5), ("a", 0.5), ("b", 0.7), ("d", 0.3)):
        stored_run(results, name, mean)
    (leaderboard,) = leaderboards_of(results).ranked
    assert [(entry.rank, entry.run_id) for entry in leaderboard.entries] == [(1, "b"), (2, "a"), (2, "c"), (4, "d")]


def test_what_cannot_be_ranked_is_named_with_its_reason(results):
    """An unfinished run, another version's, and a broken one; not what never was a run."""
    stored_run(results, "good", 0.5)
    (stored_run(results, "unfinished", 0.5).folder / "manifest.json").unlink()
    edit(stored_run(results, "newer", 0.5), "manifest.json", schema=99)
    (stored_run(results, "torn", 0.5).folder / "metrics.json").write_text('{"micro": ')
    (stored_run(results, "short", 0.5).folder / "per_query.jsonl.gz").unlink()
    edit(stored_run(results, "shape", 0.5), "metrics.json", dataset="a word")
    edit(stored_run(results, "list", 0.5), "metrics.json", chunker=["ast"])
    (results / "packs").mkdir()  # what recommend keeps beside runs
    (results / "compared.json").write_text("{}")
    result = leaderboards_of(results)
    assert [entry.run_id for leaderboard in result.ranked for entry in leaderboard.entries] == ["good"]
    why = {
        "unfinished": "no manifest.json, which is written last",
        "newer": "schema 99",
        "torn": "is broken",
        "short": "cannot be read",
        "shape": "metrics.json is broken (dataset",
        "list": "metrics.json is broken (chunker",
    }
    assert result.not_ranked.keys() == why.keys()
    for name, part in why.items():
        assert part in result.not_ranked[name], result.not_ranked[name]
    assert summary(result) == "1 run on 1 leaderboard; 6 folders not ranked"


def test_no_run_at_all(results):
    with pytest.raises(UsageError, match="has no runs yet"):
        leaderboards_of(results)


def test_hostile_names_are_text_in_every_format(results):
    """In Markdown no markup, in CSV the name itself."""
    stored_run(results, "bad", 0.5, chunker=HOSTILE, embedder="=1+1", retriever="<b>r</b>", protocol="<i>p</i>")
    stored_run(results, "worse", 0.4, chunker="ast", embedder="=1+1", retriever="<b>r</b>", protocol="<i>p</i>")
    (results / "<u>half").mkdir()
    (results / "<u>half" / "metrics.json").touch()
    result = leaderboards_of(results)
    assert r"\<img src=x" in markdown(leaderboard_tables(result))
    rows = list(csv.DictReader(io.StringIO(leaderboard_csv(result))))
    assert {row["chunker"] for row in rows} == {HOSTILE, "ast"}
    assert {row["embedder"] for row in rows} == {"'=1+1"}


def test_the_csv_is_written_beside_what_is_printed(results, tmp_path):
    stored_run(results, "a", 0.41)
    done = succeed("lab", "leaderboard", "--out", results, "-o", tmp_path / "l.csv")
    assert (tmp_path / "l.csv").read_text() == leaderboard_csv(leaderboards_of(results))
    assert "1 run on 1 leaderboard" in done.out


def test_csv_holds_the_full_numbers(results):
    stored_run(results, "a", 0.41)
    stored_run(results, "b", 0.57)
    result = leaderboards_of(results)
    rows = list(csv.DictReader(io.StringIO(leaderboard_csv(result))))
    entries = result.ranked[0].entries
    for row, entry in zip(rows, entries, strict=True):
        assert float(row["score"]) == entry.score
        assert (float(row["score.low"]), float(row["score.high"])) == entry.ci
        assert int(row["rank"]) == entry.rank
    assert float(rows[1]["difference_to_first"]) == entries[1].to_first.difference
    assert rows[0]["difference_to_first"] == rows[0]["R@10"] == ""


def test_a_column_is_one_entry(results, monkeypatch):
    """A column that is added to the list is in the table, whatever its form, and in CSV."""
    stored_run(results, "a", 0.41)
    stored_run(results, "b", 0.57)
    own = number("queries twice", lambda entry: 2 * entry.run.metrics.counts.queries, "d")

    def with_own(leaderboard, columns=leaderboard_columns):
        return [*columns(leaderboard), own]

    monkeypatch.setattr(report, "leaderboard_columns", with_own)
    result = leaderboards_of(results)
    assert "queries twice" in [column.name for column in leaderboard_tables(result)[0].columns]
    rows = list(csv.DictReader(io.StringIO(leaderboard_csv(result))))
    assert [row["queries twice"] for row in rows] == ["16", "16"]
