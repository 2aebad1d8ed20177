"""Holm's adjustment against statsmodels, ties and extremes included."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repoeval_bench.analysis.statistics import holm

pytestmark = pytest.mark.slow


@settings(max_examples=settings.default.max_examples // 2)
@given(st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.0001, 0.01, 0.05, 1.0])), min_size=1, max_size=40))
def test_holm_is_statsmodels(p_values):
    """The adjusted p, in the order given, of any family."""
    from statsmodels.stats.multitest import multipletests

    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1].tolist(), abs=1e-12)


def test_holm_rejects_what_statsmodels_rejects():
    """At 5 %, over families as large as a comparison of five runs: 4 pairs x 20 measures, many p at the draws' floor."""
    from statsmodels.stats.multitest import multipletests

    source = np.random.default_rng(3)
    for _ in range(4):
        p_values = np.maximum(source.beta(0.4, 4, 80).round(4), 0.0001).tolist()
        assert [p < 0.05 for p in holm(p_values)] == multipletests(p_values, alpha=0.05, method="holm")[0].tolist()
