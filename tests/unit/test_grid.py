"""The grid's arithmetic: clustered intervals, verdicts, bands and flips, by hand and against literal formulas."""

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoeval_bench.errors import UsageError
from repoeval_bench.grid import (
    Cell,
    Contest,
    Scores,
    contests,
    flips,
    interval,
    make_protocols,
    mean_and_error,
    placebo_bands,
)

CELL = Cell("context", "bm25", "ndcg@10")


def scores(values, headline="micro", repos=None, files=None):
    n = len(values)
    return Scores(
        np.array(values, dtype=float), tuple(repos or ["r"] * n), tuple(files or map(str, range(n))), headline
    )


def test_one_query_a_file_is_the_plain_standard_error():
    """Without clusters the error is s / sqrt(n), and the interval Student's."""
    values = np.array([1.0, 2.0, 4.0, 5.0])
    mean, error = mean_and_error(values, ["r"] * 4, list("abcd"), "micro")
    assert mean == 3.0
    assert error == pytest.approx(values.std(ddof=1) / 2)
    assert interval(values, ["r"] * 4, list("abcd"), "micro")[2] == pytest.approx(3 + 3.182446 * error, abs=1e-5)


@given(st.integers(0, 10_000))
def test_clustered_errors_equal_the_formula(seed):
    """Micro: the ratio estimator's linearised error; macro: variances of repositories added."""
    rng = random.Random(seed)
    n = rng.randint(2, 40)
    repos = [rng.choice("xy") for _ in range(n)]
    files = [repo + rng.choice("abcd") for repo in repos]
    values = [rng.uniform(-1, 1) for _ in range(n)]

    def literal(rows):
        mean = sum(v for v, _ in rows) / len(rows)
        names = {f for _, f in rows}
        total = sum(sum(v - mean for v, g in rows if g == f) ** 2 for f in names)
        return mean, (len(names) / (len(names) - 1) * total / len(rows) ** 2 if len(names) > 1 else 0.0)

    mean, variance = literal(list(zip(values, files, strict=True)))
    got = mean_and_error(np.array(values), repos, files, "micro")
    assert got == pytest.approx((mean, math.sqrt(variance)), abs=1e-9)
    parts = [
        literal([(v, f) for v, r, f in zip(values, repos, files, strict=True) if r == repo]) for repo in set(repos)
    ]
    macro = mean_and_error(np.array(values), repos, files, "macro")
    assert macro[0] == pytest.approx(sum(m for m, _ in parts) / len(parts), abs=1e-9)
    assert macro[1] == pytest.approx(math.sqrt(sum(v for _, v in parts)) / len(parts), abs=1e-9)


@pytest.mark.parametrize(("difference", "low", "high", "band", "verdict"), [
    (0.2, 0.1, 0.3, None, "wins"), (-0.2, -0.3, -0.1, 0.1, "loses"), (0.1, 0.05, 0.15, 0.1, "noise"),
    (0.1, -0.05, 0.25, 0.0, "undecided"), (0.0, 0.0, 0.0, None, "undecided"),
])  # fmt: skip
def test_verdicts(difference, low, high, band, verdict):
    """An interval over 0 decides nothing; a difference inside the placebo band is noise."""
    contest = Contest("a", "b", "nominal", CELL, difference, low, high, band)
    assert contest.verdict == contest.as_dict()["verdict"] == verdict


def test_means_are_the_headlines():
    """Micro is over queries, macro over repositories."""
    assert scores([1, 0, 0], repos=["x", "y", "y"]).mean() == pytest.approx(1 / 3)
    assert scores([1, 0, 0], "macro", repos=["x", "y", "y"]).mean() == 0.5


def test_the_band_is_the_spread_of_the_means():
    """Largest minus smallest mean over arms that should not differ; none for no arms."""
    assert placebo_bands([{CELL: scores([0, 1])}, {CELL: scores([1, 1])}, {CELL: scores([0, 0])}]) == {CELL: 1.0}
    assert placebo_bands([]) == {}


def test_every_pair_meets_in_every_cell_and_flips_are_the_minority():
    """Three chunkers give three contests a cell; cells against a pair's majority are listed."""
    cells = [Cell("context", "bm25", name) for name in ("m1", "m2", "m3")]
    high, low = scores([0.9, 0.8, 0.9, 0.8]), scores([0.1, 0.2, 0.1, 0.15])
    arms = {
        "a": {cells[0]: high, cells[1]: high, cells[2]: low},
        "b": {cells[0]: low, cells[1]: low, cells[2]: high},
        "c": {cells[0]: low, cells[1]: low, cells[2]: high},
    }
    found = contests(arms, "nominal", {})
    assert len(found) == 9
    assert [(c.a, c.b, c.cell.measure, c.verdict) for c in flips(found)] == [
        ("a", "b", "m3", "loses"), ("a", "c", "m3", "loses"),
    ]  # fmt: skip
    draw = [c for c in found if (c.a, c.b) == ("a", "b") and c.cell.measure != "m1"]
    assert len(flips(draw)) == 2


def test_the_grid_has_each_protocol_once():
    """Overriding a choice by what it is anyway gives the protocol itself, not a second one."""
    names = [p.name for p in make_protocols(["context", "body"], ["full", "tail:20"], ["overlap"])]
    assert names == ["context", "context+query=tail:20", "body+query=full", "body"]
    with pytest.raises(UsageError, match="did you mean 'body'"):
        make_protocols(["bdy"], ["full"], ["overlap"])
