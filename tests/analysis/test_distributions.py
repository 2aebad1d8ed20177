"""Quantiles and probabilities are those of scipy."""

import numpy as np
import pytest
import scipy.special as sc

from repoeval_bench.analysis.distributions import (
    beta_quantile,
    chi2_quantile,
    normal_below,
    t_above,
    t_quantile,
)

SIZES = (0.7, 1, 1.5, 2, 3.3, 7, 30, 113.4, 2_000, 100_000)


def test_probabilities_are_those_of_scipy():
    """Far in the tails too: relative errors count."""
    for z in np.linspace(-30, 8, 77):
        assert normal_below(z) == pytest.approx(sc.ndtr(z), rel=1e-12)
    for df in SIZES:
        for t in (0, 1e-6, 0.3, 1, 2, 5, 20):
            assert t_above(t, df) == pytest.approx(sc.stdtr(df, -t), rel=1e-8)


def test_quantiles_are_those_of_scipy():
    for df in SIZES:
        for p in (0.51, 0.8, 0.95, 0.975, 0.9975, 1 - 0.025 / 200):
            assert t_quantile(p, df) == pytest.approx(sc.stdtrit(df, p), rel=1e-8)
        for p in (0.002, 0.1, 0.5, 0.9, 0.998):
            assert chi2_quantile(p, df) == pytest.approx(sc.chdtri(df, 1 - p), rel=1e-8)
    for n in (1, 6, 40, 455, 100_000):
        for few in range(min(n, 10)):
            assert beta_quantile(0.975, few + 1, n - few) == pytest.approx(
                sc.betaincinv(few + 1, n - few, 0.975), rel=1e-8
            )
