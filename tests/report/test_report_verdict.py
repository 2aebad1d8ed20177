"""The verdict's words follow the test, not the means."""

from dataclasses import replace

import numpy as np
import pytest

from repoeval_bench import choose
from repoeval_bench.analysis.comparison import compare
from repoeval_bench.report.answer import answer_table
from repoeval_bench.report.choosing import choice_table, standing
from repoeval_bench.report.html import rests
from repoeval_bench.report.verdict import verdict
from support.runs import write_run

FILES = [f"f{i // 2}" for i in range(80)]


def made(folder, values, **changed):
    return write_run(folder, {"ndcg@10": values}, files=FILES, **changed)


@pytest.fixture
def plain():
    return [0.3 + 0.01 * (i * 7 % 13) for i in range(80)]


def test_a_clear_lead_over_all_is_a_win(tmp_path, plain):
    """Who, under what, by how much over each, and the test with what it resampled."""
    better = [value + 0.2 + 0.001 * (i % 5) for i, value in enumerate(plain)]
    worse = [value - 0.1 - 0.001 * (i % 3) for i, value in enumerate(plain)]
    found = verdict([made(tmp_path / "b", plain), made(tmp_path / "c", better), made(tmp_path / "d", worse)])
    assert found.clear
    assert found.reference == 1
    assert found.who.startswith(
        "c wins under protocol context: its nDCG@10 (micro mean) is 0.561, ahead by 0.202 over b"
    )
    assert "0.303 over d" in found.who
    assert found.sure.startswith(
        "The lead over b (p = 0.0002) and d (p = 0.0002) is beyond chance: sign-flip test over 40 files"
    )
    assert all(each.difference < 0 for each in found.differences)


def test_the_winners_pairs_are_tested_among_all_pairs(tmp_path, plain):
    """The winner was picked from the data: its p values are those of the family of all pairs, at any place in the order."""
    values = {
        "b": plain,
        "c": [v + 0.02 * (i % 7 > 1) for i, v in enumerate(plain)],
        "d": [v - 0.01 * (i % 3) for i, v in enumerate(plain)],
    }
    runs = [made(tmp_path / name, each) for name, each in values.items()]
    found = verdict(runs)
    pairs = {frozenset((c.baseline, c.treatment)): c for c in compare(runs)}
    assert len(pairs) == 3
    assert [(c.baseline, c.treatment) for c in found.differences] == [("c", "b"), ("c", "d")]
    for each in found.differences:
        same = pairs[frozenset((each.baseline, each.treatment))]
        assert (each.family, each.p_adjusted) == (3, same.p_adjusted)
        assert abs(each.difference) == pytest.approx(abs(same.difference))
    assert "Holm over 3 tests (1 measure of each of the 3 pairs of runs)." in found.sure


def test_a_lead_that_may_be_chance_is_not_a_win(tmp_path, plain):
    """The highest mean is named as that, and what is not shown is not called equal."""
    noisy = [value + (0.05 if i % 4 < 2 else -0.049) for i, value in enumerate(plain)]
    found = verdict([made(tmp_path / "b", plain), made(tmp_path / "c", noisy)])
    assert not found.clear
    assert found.who.startswith("No winner is shown under protocol context: c has the highest nDCG@10")
    assert "it cannot be told apart from b; it is ahead by" in found.who
    assert "which does not mean equal" in found.sure


def test_an_end_just_below_zero_keeps_its_sign(tmp_path, plain):
    """In the sentence as in the table: an interval with zero in it is not told as one above it."""
    noisy = [value + (0.05 if i % 4 < 2 else -0.049) for i, value in enumerate(plain)]
    run, other = made(tmp_path / "b", plain), made(tmp_path / "c", noisy)
    (pair,) = compare([run, other], run)
    near = replace(pair, micro=replace(pair.micro, ci=(-0.0004, 0.0104)))
    assert "(95 % CI -0.000 to +0.010)" in verdict([run, other], [near]).who


def test_what_so_few_files_never_show_is_said(tmp_path, plain):
    """Of eight files no p is below 0.05 / 21: nothing is detectable among seven runs, and the verdict says why."""
    files = [f"f{i // 10}" for i in range(80)]
    runs = [
        write_run(tmp_path / name, {"ndcg@10": [v + shift / 10 for v in plain]}, files=files)
        for shift, name in enumerate("bcdefgh")
    ]
    found = verdict(runs)
    assert "Over 8 files no test among 21 tests shows a difference: it takes at least 10." in found.notes
    assert {c.mean.mde_family for c in compare(runs)} == {None}
    assert "no test" not in " ".join(verdict(runs[:2]).notes)


def test_one_run_is_compared_with_nothing(tmp_path, plain):
    """Its score is said, and that it says nothing of others."""
    found = verdict([made(tmp_path / "b", plain)])
    assert found.who.startswith("b reaches nDCG@10 (micro mean) 0.359 under protocol context")
    assert found.differences == ()


@pytest.mark.parametrize(
    ("failed", "said"), [(1, "1 other run failed and is not"), (2, "2 other runs failed and are not")]
)
def test_runs_that_failed_are_spoken_of(tmp_path, plain, failed, said):
    """Who asked for several is not told to give a second one; what is compared is told apart from what was asked."""
    runs = [made(tmp_path / "b", plain), made(tmp_path / "c", [value + 0.05 for value in plain])]
    assert f"{said} compared." in verdict(runs, failed=failed).text
    text = verdict(runs[:1], failed=failed).text
    assert f"says nothing about other chunkers. {said} compared." in text
    assert "give a second one" not in text
    assert "failed" not in verdict(runs).text


def test_sizes_that_differ_are_minded(tmp_path, plain):
    """Size alone moves scores: more than 5 % between means is said, less is not."""
    sizes = [{"mean": mean, "median": 1, "p95": 1} for mean in (100.0, 104.0, 120.0)]
    runs = [made(tmp_path / name, plain, chunk_nws=size) for name, size in zip("bcd", sizes, strict=True)]
    assert not any("one size" in line for line in verdict(runs[:2]).notes)
    assert any("b 100, c 104, d 120" in line for line in verdict(runs).notes)


@pytest.mark.parametrize(
    ("chunkers", "said"),
    [
        (("ast:max_nws=1500", "fixed:max_nws=900"), "; --match-size removes that."),
        (
            ("ast:max_nws=1500", "functions"),
            "; --match-size functions removes that (functions has no option for a size).",
        ),
        (("file", "functions"), "; file and functions have no option for a size."),
        (
            ("ast:max_nws=1500", "file", "functions"),
            "; --match-size removes that among the others, file and functions have no option for a size.",
        ),
    ],
)
def test_a_size_is_matched_where_there_is_one(tmp_path, plain, chunkers, said):
    """One chunker without a size can be what the others are set to; of several nothing is promised."""
    runs = [
        made(tmp_path / name, plain, chunker=spec, chunk_nws={"mean": mean, "median": 1, "p95": 1})
        for name, spec, mean in zip("bcd", chunkers, (100.0, 120.0, 140.0), strict=False)
    ]
    assert any(line.startswith("Chunks are not of one size") and line.endswith(said) for line in verdict(runs).notes)


def test_equal_means_have_no_first_among_them(tmp_path, plain):
    """A tie is called one, without a lead of nothing."""
    found = verdict([made(tmp_path / "b", plain), made(tmp_path / "c", list(plain))])
    assert found.who == (
        "No winner is shown under protocol context: b and c reach the same highest nDCG@10 (micro mean), 0.359."
    )


def test_of_many_runs_the_nearest_are_named(tmp_path, plain):
    """Three by name, the others by number."""
    made_runs = [made(tmp_path / f"r{n}", [value - 0.01 * n for value in plain]) for n in range(7)]
    found = verdict(made_runs)
    assert "ahead by 0.010 over r1" in found.who
    assert found.who.endswith("and 3 others.")
    assert "r4" not in found.who


def test_a_lead_that_one_file_carries_names_it(tmp_path, plain):
    """It is not a win: the sentences, the table of what the verdict rests on and the choice name the file."""
    lead = np.array(plain) + np.random.default_rng(1).normal(0.01, 0.03, 40)[np.arange(80) // 2]
    measure = {"headline_measure": "ndcg@10"}
    runs = [made(tmp_path / "b", plain, **measure), made(tmp_path / "c", lead.tolist(), **measure)]
    found = verdict(runs)
    assert not found.clear
    assert "but its lead over b rests on repo/f33; it is ahead by" in found.who
    assert found.sure.startswith("The lead over b (p = 0.0302) rests on repo/f33, without which none is shown: ")
    (row,) = rests.rows(found.differences, {"b": 0, "c": 1})
    here, said, file, repository, new, *_ = row.cells
    assert (row.run, said.text, here.value) == (0, "rests on repo/f33", pytest.approx(np.mean(plain) - lead.mean()))
    assert file.below.startswith("without repo/f33: p 0.05")
    assert (repository.text, new.text) == ("\N{EN DASH}", "one repository")
    choice = choose(runs)
    assert [standing(each, choice, found.differences) for each in choice.candidates] == [
        "best",
        "behind; rests on repo/f33",
    ]
    notes = choice_table(choice, found.differences).notes
    assert notes[0] == "the lead of c over b is not shown: rests on repo/f33."
    assert not any("told apart" in note for note in notes)


def test_where_less_is_better_the_lowest_mean_wins(tmp_path, plain):
    """Sentences, verdict, wins, colours, order and the choice agree that less redundancy is better."""
    less = [value - 0.1 - 0.001 * (i % 3) for i, value in enumerate(plain)]
    runs = [
        write_run(tmp_path / name, {"redundancy@10": values}, files=FILES, headline_measure="redundancy@10")
        for name, values in (("b", plain), ("c", less))
    ]
    (compared,) = compare(runs)
    assert (compared.verdict, compared.wins, compared.losses) == ("better", 80, 0)
    assert compared.difference < 0
    assert compared.reversed().verdict == "worse"
    found = verdict(runs)
    assert found.clear
    assert found.who.startswith(
        "c wins under protocol context: its redundancy@10 (micro mean) is 0.258, ahead by 0.101"
    )
    rows = answer_table(runs, found).rows
    assert [(row.cells[1], row.emphasis) for row in rows] == [(("c",), "strong"), (("b",), "worse")]
    choice = choose(runs)
    assert (choice.best.run, choice.best.probability, choice.best.mean) == ("c", 1.0, pytest.approx(np.mean(less)))


def test_both_questions_are_answered_beside_each_other(tmp_path, plain):
    """On these repositories and on new ones, as compare has it, figure by figure."""
    better = [value + 0.1 + 0.01 * (i % 5) + 0.05 * (i // 10) for i, value in enumerate(plain)]
    settings = {"headline_measure": "ndcg@10", "repos": [f"r{i // 10}" for i in range(80)]}
    runs = [made(tmp_path / "b", plain, **settings), made(tmp_path / "c", better, **settings)]
    (compared,) = compare(runs[::-1])
    (row,) = rests.rows(verdict(runs).differences, {"b": 0, "c": 1})
    new = compared.on_new_repositories
    here, _, file, repository, there, between, one = row.cells
    assert here.text == f"{compared.difference:+.4f}"
    assert (file.value, repository.value) == (compared.by_file.low, compared.by_repository.low)
    assert there.text == f"{new.difference:+.4f}"
    for ends in (new.ci, new.two_level):
        assert f"{ends[0]:+.4f} to {ends[1]:+.4f}" in there.below
    assert (between.value, one.text) == (new.deviation, f"{new.prediction[0]:+.4f} to {new.prediction[1]:+.4f}")
    assert "sign-flip test's over 8 repositories" in rests.note([compared])
    assert rests.note([]) == ""


def test_what_is_equal_within_a_margin_is_not_called_different_and_names_its_limit(tmp_path, plain):
    """The paragraph says what the table says of it, and that only the files that were seen are known."""
    near = [value + 0.001 * (-1) ** (i // 2) for i, value in enumerate(plain)]
    runs = [made(tmp_path / "b", plain), made(tmp_path / "c", near)]
    found = verdict(runs, compare(runs, equivalence=0.05))
    assert [each.verdict for each in found.differences] == ["equal within 0.05"]
    assert " is 0 within 0.05: sign-flip test" in found.sure
    assert "does not mean equal" not in found.sure
    assert any("knows only the files that were seen" in note for note in found.notes)
    assert not any("knows only" in note for note in verdict(runs).notes)
