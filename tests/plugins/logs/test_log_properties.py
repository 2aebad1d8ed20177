"""What holds for every log: bounds are the extremes, negatives never help, what is dated late plays no part."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugins.logs.made_logs import MEASURES, by_name, chunks, judged, row
from repoeval_bench.plugins.logs.judged_log import share_interval
from repoeval_bench.plugins.logs.judgements import Calibration, judged_bounds, rogan_gladen
from repoeval_bench.plugins.logs.pipeline import freshness, negatives_section

IDS = "abcdefgh"
rankings = st.lists(st.sampled_from(IDS), unique=True, max_size=8)
golds = st.sets(st.sampled_from(IDS), max_size=4)


@given(rankings, golds, st.dictionaries(st.sampled_from(IDS), st.integers(0, 2), min_size=1, max_size=5))
def test_bounds_are_the_extremes_over_every_set_in_between(ranking, gold, grades):
    """Brute force: every subset of what the judge adds."""
    log = judged([row("q", ranking)], {"q": gold})
    added = [c for c, grade in grades.items() if grade >= 1 and c not in gold]
    values = {name: [] for name in MEASURES}
    for size in range(len(added) + 1):
        for chosen in combinations(added, size):
            scores = log.scores(log.ranked, MEASURES, {"q": dict.fromkeys({*gold, *chosen}, 1.0)})
            for name in MEASURES:
                values[name].append(float(scores[name][0]))
    for judged_bound in judged_bounds(log, {"q": grades}, MEASURES):
        assert judged_bound.lower.value == pytest.approx(min(values[judged_bound.measure])), judged_bound.measure
        assert judged_bound.upper.value == pytest.approx(max(values[judged_bound.measure])), judged_bound.measure
        assert judged_bound.lower.value <= judged_bound.gold.value + 1e-12
        assert judged_bound.both.value <= judged_bound.upper.value + 1e-12


@given(st.lists(st.tuples(rankings, golds), min_size=1, max_size=4), st.integers(1, 4))
def test_negatives_never_raise_a_measure(queries, n):
    names = [f"q{i}" for i in range(len(queries))]
    log = judged(
        [row(q, r) for q, (r, _) in zip(names, queries, strict=True)],
        {q: g for q, (_, g) in zip(names, queries, strict=True)},
    )
    losses = [by_name(negatives_section(log, count)) for count in (n, n + 1)]
    for name in MEASURES:
        assert losses[0][name].value <= 1e-12
        assert losses[1][name].value <= losses[0][name].value + 1e-12


@given(rankings, golds, st.dictionaries(st.sampled_from(IDS), st.sampled_from(["2024-01-01", "2024-09-01", "v2"])))
def test_without_newer_chunks_a_ranking_is_as_if_they_had_never_been(ranking, gold, dates):
    """The measures are those of a log, and of a gold, that lack them."""
    rows = [row("q", chunks(ranking, doc_version=dates), as_of="2024-06-01")]
    log = judged(rows, {"q": gold})
    result = by_name(freshness(log, 3))
    late = {c for c in ranking if dates.get(c) == "2024-09-01"}
    without = judged([row("q", [c for c in ranking if c not in late])], {"q": gold - late})
    plain = without.scores(without.ranked, MEASURES)
    for name in set(result) & set(MEASURES):
        assert result[name].after == pytest.approx(float(plain[name][0]))


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5)), min_size=1, max_size=40))
def test_a_shares_interval_holds_the_share(answers):
    """Within 0 and 1, and ordered, however the answers are clustered."""
    values, clusters = [float(yes) for yes, _ in answers], [cluster for _, cluster in answers]
    ci = share_interval(values, clusters)
    if ci is None:
        assert len(set(clusters)) == 1
        return
    assert 0 <= ci[0] <= sum(values) / len(values) + 1e-9
    assert sum(values) / len(values) - 1e-9 <= ci[1] <= 1


@given(st.floats(0, 1), st.integers(2, 500), st.integers(1, 60), st.integers(1, 60), st.data())
def test_a_correction_rises_with_what_the_judge_sees(apparent, size, n_se, n_sp, data):
    """And its interval is ordered."""
    tp, tn = data.draw(st.integers(0, n_se)), data.draw(st.integers(0, n_sp))
    if tp / n_se + tn / n_sp <= 1.01:
        return
    calibration = Calibration(tp / n_se, n_se, tn / n_sp, n_sp)
    value, ci = rogan_gladen(apparent, size, calibration)
    assert value <= rogan_gladen(min(1.0, apparent + 0.1), size, calibration)[0] + 1e-12
    assert ci[0] <= ci[1]
