"""Precision corrected by a judge's sensitivity and specificity."""

import math

import pytest

from plugins.logs.made_logs import judged, row
from repoeval_bench.core.errors import ResultError
from repoeval_bench.plugins.logs.judgements import Calibration, corrected_precision, read_calibration, rogan_gladen
from support.runs import write_rows


def rows(**counts):
    """`g2j1=3` is three rows with gold 2 and judge 1."""
    return [{"gold": int(name[1]), "judge": int(name[3])} for name, n in counts.items() for _ in range(n)]


@pytest.mark.parametrize("truth", [0.0, 0.2, 0.7, 1.0])
@pytest.mark.parametrize(("se", "sp"), [(1.0, 1.0), (0.9, 0.8), (0.6, 0.7)])
def test_it_undoes_what_the_judge_does(truth, se, sp):
    """truth * se + (1 - truth) * (1 - sp) is what such a judge would see."""
    value, _ = rogan_gladen(truth * se + (1 - truth) * (1 - sp), None, Calibration(se, 10, sp, 10))
    assert value == pytest.approx(truth)


def test_a_faultless_judge_of_endless_calibration_gives_agresti_coull():
    """Then only the sample is uncertain: 10 of 100 is 0.0535 to 0.1763 (Agresti & Coull 1998's interval)."""
    endless = Calibration(1.0, 10**12, 1.0, 10**12)
    z = 1.959963984540054
    n, p = 100 + z**2, (10 + z**2 / 2) / (100 + z**2)
    half = z * math.sqrt(p * (1 - p) / n)
    _, (low, high) = rogan_gladen(0.1, 100, endless)
    assert (low, high) == pytest.approx((p - half, p + half), abs=1e-9)
    assert (low, high) == pytest.approx((0.0535, 0.1763), abs=2e-4)


def test_the_interval_term_by_term():
    """Lang & Reiczigel 2014, eqs 4, 6, 7, 15-17, written out with numbers for 24 of 80, 45 of 50, 72 of 90."""
    z2 = 1.959963984540054**2
    n, p = 80 + z2, (24 + z2 / 2) / (80 + z2)
    se, sp = 46 / 52, 73 / 92
    j = se + sp - 1
    prevalence = (p + sp - 1) / j
    var_se, var_sp = se * (1 - se) / 52, sp * (1 - sp) / 92
    shift = 2 * z2 * (prevalence * var_se - (1 - prevalence) * var_sp)
    half = math.sqrt(z2 * (p * (1 - p) / n + prevalence**2 * var_se + (1 - prevalence) ** 2 * var_sp)) / j
    value, ci = rogan_gladen(24 / 80, 80, Calibration(45 / 50, 50, 72 / 90, 90))
    assert value == pytest.approx((0.3 + 0.8 - 1) / 0.7)
    assert ci == pytest.approx((prevalence + shift - half, prevalence + shift + half))


def test_grades_become_sensitivity_and_specificity(tmp_path):
    """2 and 1 count as relevant, or 2 alone."""
    path = write_rows(tmp_path / "c.jsonl", rows(g2j2=6, g2j1=2, g1j0=2, g0j0=4, g0j1=1))
    assert read_calibration(path) == Calibration(0.8, 10, 0.8, 5)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (rows(g2j2=3), "no row whose gold grade is not relevant"),
        (rows(g0j0=3), "no row whose gold grade is relevant"),
        (rows(g2j2=1, g2j0=1, g0j0=1, g0j2=1), "sensitivity 0.500 and specificity 0.500 sum to at most 1"),
        ([{"gold": 2}], "c.jsonl:1: judge: it is missing"),
        ([{"gold": 3, "judge": 0}], "c.jsonl:1: gold"),
        ([], "no row"),
    ],
)
def test_what_cannot_calibrate(tmp_path, content, message):
    """One sentence; nothing is corrected by a judge no better than chance."""
    with pytest.raises(ResultError) as error:
        read_calibration(write_rows(tmp_path / "c.jsonl", content))
    assert message in str(error.value)


def test_the_precision_of_a_run_is_corrected_over_the_graded_chunks():
    """Three of four graded chunks in the top 2 called relevant; one without a grade is counted, the third rank unread."""
    log = judged([row("a", "xyw"), row("b", "xzw"), row("c", "v")], {"a": "x", "b": "x", "c": "v"})
    grades = {"a": {"x": 2, "y": 1, "w": 2}, "b": {"x": 1, "z": 0}}
    result = corrected_precision(log, grades, Calibration(0.95, 40, 0.85, 40), 2)
    assert (result.apparent, result.n, result.n_unjudged) == (0.75, 4, 1)
    assert result.value == pytest.approx((0.75 + 0.85 - 1) / 0.8)
    assert corrected_precision(log, {"b": {"nothing": 1}}, Calibration(0.9, 9, 0.9, 9), 2) is None


def test_what_lies_outside_is_clipped():
    """A judge who sees fewer relevant chunks than its false alarms alone would be."""
    log = judged([row("a", "xy"), row("b", "xy")], {"a": "x", "b": "x"})
    grades = {"a": {"x": 0, "y": 0}, "b": {"x": 0, "y": 0}}
    result = corrected_precision(log, grades, Calibration(0.9, 30, 0.8, 30), 2)
    assert result.value == 0.0
    assert result.ci[0] == 0.0
    assert 0 < result.ci[1] <= 1


def test_one_cluster_has_a_value_and_no_interval():
    """One query says nothing of the spread between queries."""
    log = judged([row("a", "xy")], {"a": "x"})
    result = corrected_precision(log, {"a": {"x": 2, "y": 0}}, Calibration(0.9, 30, 0.8, 30), 2)
    assert result.ci is None
