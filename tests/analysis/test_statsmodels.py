"""Holm's adjustment against statsmodels, ties and extremes included."""

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
