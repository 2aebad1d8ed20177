"""The verdict's words follow the test, not the means."""

from dataclasses import replace
from textwrap import wrap

import numpy as np
import pytest

from repoeval_bench import choose
from repoeval_bench.analysis.comparison import compare
from repoeval_bench.analysis.records import Outcome, PairVerdict
from repoeval_bench.analysis.segments import split
from repoeval_bench.analysis.verdicts import Result
from repoeval_bench.report.comparison import answer_table, comparison_notes, comparison_tables
from repoeval_bench.report.text import adjusted_notes, outcome_name
from repoeval_bench.report.verdict import choice_sentences, verdict
from support.runs import write_carried_pair, write_run, write_runs

FILES = [f"f{i // 2}" for i in range(80)]


def stored_run(folder, values, **changed):
    return write_run(folder, {"ndcg@10": values}, files=FILES, **changed)


@pytest.fixture
def plain():
    return np.array([0.3 + 0.01 * (i * 7 % 13) for i in range(80)])


def test_a_clear_lead_over_all_is_a_win(tmp_path, plain):
    """Who, under what, by how much over each, and how sure that is; the test is in the notes."""
    better = [value + 0.2 + 0.001 * (i % 5) for i, value in enumerate(plain)]
    worse = [value - 0.1 - 0.001 * (i % 3) for i, value in enumerate(plain)]
    result = verdict(
        [stored_run(tmp_path / "b", plain), stored_run(tmp_path / "c", better), stored_run(tmp_path / "d", worse)]
    )
    assert (result.record.result, result.reference) == (Result.WINNER, 1)
    assert [(rival.run.name, round(rival.lead, 3)) for rival in result.record.others] == [("b", 0.202), ("d", 0.303)]
    for piece in ("c wins under protocol context with 0.561 on nDCG@10", "0.202 [", "0.303 [", "p < 0.0001"):
        assert piece in result.text
    assert "sign-flip test of the micro mean over 80 queries, in 40 files" in result.tests[0]


def test_a_lead_that_may_be_chance_is_not_a_win(tmp_path, plain):
    """The highest mean is named as that, with its lead and p."""
    noisy = [value + (0.05 if i % 4 < 2 else -0.049) for i, value in enumerate(plain)]
    result = verdict([stored_run(tmp_path / "b", plain), stored_run(tmp_path / "c", noisy)])
    assert result.record.result is Result.NOT_SIGNIFICANT
    assert result.text.startswith("No significant difference under protocol context: c is first with 0.")
    assert "ahead of b (p = " in result.text


def test_files_that_one_query_asks_for_are_a_group_in_every_sentence(tmp_path, plain):
    """Of ten files two are joined by a query: nine groups, of which one may carry a difference. `--by file` stays."""
    files = [f"f{i // 8}.py" for i in range(80)]
    files[79] = ("repo/f9.py", "repo/f8.py")
    runs = [
        write_run(tmp_path / name, {"ndcg@10": [value + shift for value in plain]}, files=files)
        for name, shift in (("b", 0.0), ("c", 0.1))
    ]
    words = verdict(runs)
    assert "p: sign-flip test of the micro mean over 80 queries, in 9 groups of files" in words.tests[0]
    assert words.tests[1] == "files that share a query count as one group"
    (pair,) = compare(runs)
    assert "intervals and tests flip the signs of groups of files at random." in comparison_notes([pair])
    assert "when one group of files is left out" in comparison_tables([pair])[0].notes[0]
    assert len(split(runs[0].scores, "file")) == 9


def test_what_so_few_files_can_never_say_is_said(tmp_path, plain):
    """Of eight files no p is below 0.05 / 21: nothing can be significant among seven runs, and a note says why."""
    files = [f"f{i // 10}" for i in range(80)]
    columns = {name: {"ndcg@10": [v + shift / 10 for v in plain]} for shift, name in enumerate("bcdefgh")}
    runs = write_runs(tmp_path, columns, files=files)
    assert (
        "with only 8 files, no difference among 21 tests can be significant; at least 11 are needed"
        in verdict(runs).notes
    )
    assert "can be significant" not in " ".join(verdict(runs[:2]).notes)


def test_runs_that_failed_are_spoken_of(tmp_path, plain):
    """A note counts them, beside one run too."""
    runs = [stored_run(tmp_path / "b", plain), stored_run(tmp_path / "c", [value + 0.05 for value in plain])]
    for some in (runs, runs[:1]):
        assert "not compared, because they failed: 2 other runs" in verdict(some, failed=2).notes
    assert not any("failed" in note for note in verdict(runs).notes)


def test_sizes_that_differ_are_minded(tmp_path, plain):
    """Size alone moves scores: more than 5 % between means is said, less is not."""
    sizes = [{"mean": mean, "median": 1, "p95": 1} for mean in (100.0, 104.0, 120.0)]
    runs = [stored_run(tmp_path / name, plain, chunk_nws=size) for name, size in zip("bcd", sizes, strict=True)]
    assert not any("chunk sizes differ" in line for line in verdict(runs[:2]).notes)
    assert any("b 100, c 104, d 120" in line for line in verdict(runs).notes)


def test_equal_means_have_no_first_among_them(tmp_path, plain):
    """A tie is called one, without a lead of nothing."""
    result = verdict([stored_run(tmp_path / "b", plain), stored_run(tmp_path / "c", list(plain))])
    assert result.record.result is Result.TIED
    assert result.text == "No winner under protocol context: b and c are both first with 0.359 on nDCG@10."
    three = verdict([stored_run(tmp_path / name, list(plain)) for name in "def"])
    assert three.text == "No winner under protocol context: d, e and 1 other are first with 0.359 on nDCG@10."


@pytest.mark.parametrize(
    ("n", "step", "length"),
    [(1, 0.01, 60), (2, 0.0, 60), (2, 0.0001, 60), (2, 0.01, 60), (5, 0.0, 1), (5, 0.0001, 60), (5, 0.01, 60)],
)
def test_the_verdict_fits_four_lines(tmp_path, plain, n, step, length):
    """Of any number of runs with names of any length, whoever wins; more is in the table and the notes."""
    wobble = np.random.default_rng(2).normal(0, step / 3, (n, 40))[:, np.arange(80) // 2]
    columns = {f"{'r' * length}{at}": {"ndcg@10": plain - step * at + wobble[at]} for at in range(n)}
    runs = write_runs(tmp_path, columns, files=FILES)
    for comparisons in ((), compare(runs, runs[-1])) if n > 1 else ((),):
        assert len(wrap(verdict(runs, comparisons).text, 80)) <= 4


def test_a_lead_that_one_file_carries_names_it(tmp_path):
    """It is not a win: the sentences and the choice name the file."""
    runs = write_carried_pair(tmp_path)
    result = verdict(runs)
    (rival,) = result.record.others
    assert (result.record.result, rival.verdict.carrier.name) == (Result.CARRIED, "repo/f29")
    assert rival.verdict.carrier.p == pytest.approx(0.05, abs=0.01)
    assert rival.p_adjusted == pytest.approx(0.034, abs=2e-3)
    assert "If one file, repo/f29, is left out" in result.text
    choice = choose(runs)
    assert "repo/f29" in choice_sentences(choice)[0]


def test_where_less_is_better_the_lowest_mean_wins(tmp_path, plain):
    """Sentences, verdict, wins, colours, order and the choice agree that less redundancy is better."""
    less = [value - 0.1 - 0.001 * (i % 3) for i, value in enumerate(plain)]
    columns = {"b": {"redundancy@10": plain}, "c": {"redundancy@10": less}}
    runs = write_runs(tmp_path, columns, files=FILES, headline_measure="redundancy@10")
    (compared,) = compare(runs)
    assert (compared.verdict.outcome, compared.wins, compared.losses) == (Outcome.BETTER, 80, 0)
    assert compared.difference < 0
    assert compared.reversed().verdict.outcome is Outcome.WORSE
    result = verdict(runs)
    assert result.record.result is Result.WINNER
    assert result.text.startswith("c wins under protocol context with 0.258 on redundancy@10: it is 0.101 [")
    rows = answer_table(runs, result).rows
    assert [(row.cells[1], row.emphasis) for row in rows] == [(("c",), "strong"), (("b",), "worse")]
    choice = choose(runs)
    assert (choice.best.run, choice.best.mean) == ("c", pytest.approx(np.mean(less)))


def test_a_difference_that_adjusting_takes_away_is_explained(tmp_path, plain):
    """Only beside an interval without 0; so is one that is near the limit."""
    better = [value + 0.1 + 0.001 * (i % 3) for i, value in enumerate(plain)]
    runs = [stored_run(tmp_path / "b", plain), stored_run(tmp_path / "c", better)]
    (clear,) = compare(runs)
    lost = replace(clear, family=54, verdict=PairVerdict(outcome=Outcome.NOT_SIGNIFICANT))
    (note,) = adjusted_notes([clear, lost])
    assert note.startswith(
        "p is corrected for the small number of files and for the number of tests (54 for the headline measure); "
    )
    (note,) = adjusted_notes([replace(lost, primary=False), replace(lost, family=1)])
    assert note.startswith(
        "p is corrected for the small number of files and for the number of tests (1 for the headline measure, "
        "54 for all others together)"
    )
    assert adjusted_notes([clear]) == []
    near = replace(clear, verdict=PairVerdict(outcome=Outcome.BORDERLINE))
    assert adjusted_notes([near])[0].endswith("without significance (borderline: p is near 0.05)")
    words = verdict(runs, [near])
    assert words.text.startswith("Borderline under protocol context: c is first")
    assert words.text.endswith("(corrected p < 0.0001). The interval is not corrected.")
    assert answer_table(runs, words).notes[-2].startswith("p is corrected")  # as its text says it
    beside = replace(lost, primary=False)
    assert answer_table(runs, verdict(runs, [clear, beside])).notes[0].startswith("p is corrected")
    assert any(note.startswith("borderline: corrected p is so near 0.05") for note in words.notes)


def test_what_is_equal_within_a_margin_is_not_called_different_and_names_its_limit(tmp_path, plain):
    """The paragraph says what the table says of it, and that only the files that were seen are known."""
    near = [value + 0.001 * (-1) ** (i // 2) for i, value in enumerate(plain)]
    runs = [stored_run(tmp_path / "b", plain), stored_run(tmp_path / "c", near)]
    result = verdict(runs, compare(runs, equivalence=0.05))
    assert [outcome_name(rival.verdict) for rival in result.record.others] == ["equal within 0.05"]
    assert any("is shown for these files only" in note for note in result.notes)
    assert not any("covers only" in note for note in verdict(runs).notes)
