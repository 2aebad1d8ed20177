"""One function decides: what `compare`, the report and `choose` say of the same runs is one record."""

import tempfile
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from repoeval_bench import choose
from repoeval_bench.analysis.comparison import compare
from repoeval_bench.analysis.records import AdjustedP, Influence, Outcome, judge
from repoeval_bench.analysis.sign_flips import flip_signs
from repoeval_bench.analysis.verdicts import Result, verdict_on
from repoeval_bench.cli.evaluate import answer_to
from repoeval_bench.report.comparison import paper_table
from repoeval_bench.report.verdict import verdict
from repoeval_bench.runs.query_scores import SOURCE_FILE
from support.runs import write_runs

HEADLINE = "ndcg@10"


def stored(folder, seed, *, k, n_files, n_repos, lead, spread, headline):
    """Runs whose files and repositories are of unequal size; of two measures the headline decides."""
    rng = np.random.default_rng(seed)
    of_query = rng.integers(0, n_files, 4 * n_files)
    base = rng.uniform(0.3, 0.7, len(of_query))
    # What a file adds is shared by its queries, and one file may add much more than the others.
    shared = rng.normal(0, spread, (k, n_files)) * rng.choice([1.0, 8.0], n_files, p=[0.9, 0.1])
    columns = {
        f"run{i}": {HEADLINE: np.clip(base + i * lead + shared[i][of_query], 0, 1), "mrr": rng.uniform(size=len(base))}
        for i in range(k)
    }
    places = {"files": [f"f{file}" for file in of_query], "repos": [f"r{file % n_repos}" for file in of_query]}
    return write_runs(folder, columns, **places, headline=headline, headline_measure=HEADLINE)


def same(ours, theirs):
    """Whether two verdicts are one, but for the last bits of means that were summed in another order."""
    plain = [f.name for f in fields(ours) if f.name not in ("others", "differences")]
    assert [getattr(ours, name) for name in plain] == [getattr(theirs, name) for name in plain]

    def rounded(rival):
        return replace(rival, lead=round(rival.lead, 9), ci=rival.ci and tuple(round(end, 9) for end in rival.ci))

    assert [*map(rounded, ours.others)] == [*map(rounded, theirs.others)]


def test_a_measure_by_which_no_run_scores_decides_nothing(tmp_path):
    """`measures:` of a file may begin with one that needs other gold; named alone, it has the answer that it gives."""
    rng = np.random.default_rng(1)
    columns = {name: {"recall@5": np.zeros(24), "mrr": rng.uniform(size=24)} for name in "ab"}
    runs = write_runs(tmp_path, columns, files=[f"f{i}" for i in range(24)])
    assert verdict_on(runs).measure == verdict_on(runs, compare(runs)).measure == "mrr"
    assert verdict_on(runs, compare(runs, measures="recall@5")).result is Result.NOTHING_FOUND


def test_a_comparison_knows_that_its_baseline_was_asked_for(tmp_path):
    runs = write_runs(tmp_path, {name: {HEADLINE: np.linspace(0, low, 24)} for name, low in (("a", 0.9), ("b", 0.5))})
    assert not any(pair.against_baseline for pair in compare(runs))
    assert verdict_on([runs[1], runs[0]], compare([runs[0]], runs[1])).result is Result.BASELINE


@settings(max_examples=settings.default.max_examples // 4)
@given(
    seed=st.integers(0, 10_000),
    k=st.integers(2, 5),
    n_files=st.integers(4, 15),
    n_repos=st.integers(1, 4),
    lead=st.sampled_from([0.0, 0.02, 0.05, 0.1]),
    spread=st.sampled_from([0.01, 0.05]),
    headline=st.sampled_from(["micro", "macro"]),
)
@example(seed=1, k=3, n_files=40, n_repos=2, lead=0.02, spread=0.03, headline="micro")
def test_commands_have_one_answer(seed, k, n_files, n_repos, lead, spread, headline):
    """The whole record is one: result, reference, leads, intervals, p, family, and what carries a lead."""
    with tempfile.TemporaryDirectory() as folder:
        runs = stored(
            Path(folder), seed, k=k, n_files=n_files, n_repos=n_repos, lead=lead, spread=spread, headline=headline
        )
        of_compare = answer_to(runs)[1].record
        of_report = choose(runs, compare(runs)).verdict
        of_leads = choose(runs).verdict
        of_page = verdict(runs).record
    for theirs in (of_report, of_leads, of_page, verdict_on(runs[::-1])):
        same(of_compare, theirs)
    assert of_compare.family == k * (k - 1) // 2


@pytest.mark.parametrize(("clustered_by", "kind"), [("file", "repository"), (SOURCE_FILE, "period")])
def test_a_lead_that_one_repository_carries_is_no_win_anywhere(tmp_path, clustered_by, kind):
    """All files of one repository far ahead, the others hardly: each command names it, or the period of a history."""
    rng = np.random.default_rng(3)
    base = rng.uniform(0.3, 0.5, 120)
    files, repos = [f"f{i // 4}" for i in range(120)], [f"r{i // 40}" for i in range(120)]
    ahead = np.where(np.array(repos) == "r1", 0.4, 0.0) + rng.normal(0, 0.02, 120)
    columns = {"a": {HEADLINE: base}, "b": {HEADLINE: base + ahead}}
    runs = write_runs(tmp_path, columns, files=files, repos=repos, headline_measure=HEADLINE)
    for run in runs:
        run.__dict__["scores"] = replace(run.scores, clustered_by=clustered_by)
    result = verdict_on(runs)
    assert result.result is Result.CARRIED
    (rival,) = result.others
    carrier = rival.verdict.carrier
    assert (rival.verdict.outcome, carrier.kind, carrier.name) == (Outcome.CARRIED, kind, "r1")
    assert rival.p_adjusted < 0.05 <= rival.verdict.carrier.p
    assert choose(runs).verdict == result


def test_pairs_are_tested_as_their_differences_are():
    """p and ends of each pair are those of `flip_signs` over a column of each difference."""
    rng = np.random.default_rng(5)
    for n in (9, 40):
        parts, weights = rng.normal(0.02, 0.1, (n, 5)) / n, np.full(n, 1 / n)
        parts[:, 4] = parts[:, 3]  # a tie
        pairs = np.array([(a, b) for b in range(5) for a in range(b)])
        columns = parts[:, pairs[:, 1]] - parts[:, pairs[:, 0]]
        result = flip_signs(columns, weights, np.random.default_rng(1))
        of_pairs = flip_signs(parts, weights, np.random.default_rng(1), pairs=pairs)
        assert result.p[-1] == 1.0
        # Where sums are added up for each column and not for each pair, ends differ in their last bits alone.
        for name in ("p", "p_strict", "least", "most", "low", "high"):
            assert getattr(of_pairs, name) == pytest.approx(getattr(result, name), abs=1e-11)


def test_what_a_user_asks_to_see_changes_no_verdict(tmp_path):
    """The family of the other measures is all that the runs share, so tables, exports and the page have one p."""
    runs = stored(tmp_path, 1, k=4, n_files=40, n_repos=2, lead=0.02, spread=0.03, headline="micro")
    every = compare(runs)
    for measure in (HEADLINE, "mrr"):
        alone = compare(runs, measures=[measure])
        assert [repr(one) for one in alone] == [repr(one) for one in every[measure]]
        assert [one.p_adjusted for one in alone] == [one.p_adjusted for one in every[measure]]
    alone, among = (paper_table(runs, tests, ["mrr"]) for tests in (compare(runs, measures=["mrr"]), every))
    assert [row.cells for row in alone.rows] == [row.cells for row in among.rows]


def test_the_share_of_judged_chunks_is_no_quality(tmp_path):
    """Its difference has no verdict, and is not in the family of the measures that do."""
    rng = np.random.default_rng(8)
    columns = {
        name: {"mrr": rng.uniform(size=80), "ndcg@10": rng.uniform(size=80), "judged@5": np.full(80, share)}
        for name, share in (("a", 0.9), ("b", 0.2))
    }
    compared = compare(write_runs(tmp_path, columns, files=FILES, headline_measure="mrr"))
    (judged,) = compared["judged@5"]
    assert (judged.verdict.outcome, judged.p_adjusted, judged.family) == (Outcome.NOT_TESTED, None, 0)
    assert compared["ndcg@10"][0].family == 1


def rests(name=None, p=None, *, doubtful=False):
    return {"influences": [("file", Influence(low=0.0, high=0.2, rests_on=name, p=p, doubtful=doubtful))]}


@pytest.mark.parametrize(
    ("difference", "p", "more", "outcome"),
    [
        (0.1, 0.01, {}, Outcome.BETTER),
        (-0.1, 0.01, {}, Outcome.WORSE),
        (-0.1, 0.04, {"lower": True}, Outcome.BETTER),
        (0.1, 0.045, {}, Outcome.BORDERLINE),
        (0.1, 0.06, {}, Outcome.BORDERLINE),
        (0.1, (0.03, 0.02, 0.041), {}, Outcome.BORDERLINE),
        (0.1, (0.07, 0.06, 0.08), {}, Outcome.BORDERLINE),
        (0.1, 0.01, rests("f1", 0.2), Outcome.CARRIED),
        (0.1, 0.01, rests("f1", 0.2, doubtful=True), Outcome.CARRIED),
        (0.1, 0.01, rests(doubtful=True), Outcome.BORDERLINE),
        (0.1, 0.3, rests("f1", 0.2), Outcome.NOT_SIGNIFICANT),
        (0.1, 0.0625, {}, Outcome.NOT_SIGNIFICANT),
        (0.0, 0.06, {"within": 0.02}, Outcome.EQUAL),
        (0.01, 0.03, {"within": 0.02}, Outcome.BETTER),
        (0.1, None, {}, Outcome.NOT_TESTED),
    ],
)
def test_a_pair_is_judged_by_its_p_and_what_carries_it(difference, p, more, outcome):
    """A p that may be on either side of a limit, by its own error or that of the others in Holm, decides nothing."""
    adjusted = None if p is None else AdjustedP(*(p if isinstance(p, tuple) else (p, p, p)))
    result = judge(difference, adjusted, **{"lower": False, **more})
    assert result.outcome == outcome
    assert (result.carrier is not None) == (outcome is Outcome.CARRIED)
    assert result.reversed().reversed() == result
    assert result.outcome.is_significant == (outcome in (Outcome.BETTER, Outcome.WORSE))


FILES = [f"f{i // 2}" for i in range(80)]


def plain_runs(folder, *shifts, **changed):
    base = np.array([0.3 + 0.01 * (i * 7 % 13) for i in range(80)])
    wobble = np.array([0.001 * (i % 5) for i in range(80)])
    columns = {f"run{at}": {"mrr": base + shift + bool(shift) * wobble} for at, shift in enumerate(shifts)}
    return write_runs(folder, columns, files=FILES, **changed)


@pytest.mark.parametrize(
    ("shifts", "baseline", "result", "reference"),
    [
        ((0.0, 0.2, -0.1), None, Result.WINNER, "run1"),
        ((0.1, 0.1, 0.0), None, Result.TIED, "run0"),
        ((0.0, 0.2, -0.1), 0, Result.BASELINE, "run0"),
        ((0.0, 0.2, -0.1), 1, Result.WINNER, "run1"),
        ((0.2,), None, Result.ONE_RUN, "run0"),
    ],
)
def test_the_result_of_several_runs(tmp_path, shifts, baseline, result, reference):
    """A baseline that is not the best is what the others are held against; one run is compared with nothing."""
    runs = plain_runs(tmp_path, *shifts)
    comparisons = compare(runs, runs[baseline]) if baseline is not None else ()
    actual = verdict_on(runs, comparisons)
    assert (actual.result, actual.reference.run_id) == (result, reference)
    assert len(actual.others) == len(runs) - 1
    means = [rival.run.mean for rival in actual.others]
    assert means == sorted(means, reverse=True)
    assert {*actual.significantly_worse, *actual.close} == {*actual.others}


def test_noise_is_not_significant_and_a_lead_is_that_of_the_reference(tmp_path):
    """`lead` is above 0 whichever way the measure goes, and its interval turns with it."""
    base = np.array([0.3 + 0.01 * (i * 7 % 13) for i in range(80)])
    noise = np.array([0.05 if i % 4 < 2 else -0.049 for i in range(80)])
    for name, sign in (("mrr", 1), ("redundancy@10", -1)):
        columns = {"b": {name: base}, "c": {name: base + sign * noise}}
        result = verdict_on(write_runs(tmp_path / name, columns, files=FILES, headline_measure=name))
        (rival,) = result.others
        assert (result.result, result.reference.run_id) == (Result.NOT_SIGNIFICANT, "c")
        assert rival.lead == pytest.approx(0.0005)
        assert rival.ci[0] < rival.lead < rival.ci[1]
        assert rival.p == rival.p_adjusted > 0.05
