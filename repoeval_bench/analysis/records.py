"""What a comparison says: a mean's difference with its interval and test, and the verdict on a pair of runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Interval = tuple[float, float] | None
"""Ends of a 95 % interval; None where one cluster says nothing of the spread between clusters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanDifference:
    """How one mean (over queries, or over repositories) differs between two runs, query by query.

    `ci` is the 95 % interval with files resampled, `ci_repositories` the one with whole repositories resampled;
    None where there is one cluster only. `p` is the clustered sign-flip test's. `mde` is the true difference that
    one test would have shown with 80 % power, `mde_family` that which passes Holm in this family; None where the
    error is unknown. `equivalence_p` is that of two one-sided tests, None where no margin was given.
    """

    baseline: float
    treatment: float
    difference: float
    ci: Interval
    ci_repositories: Interval
    p: float
    mde: float | None
    mde_family: float | None
    equivalence_p: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Paired difference of one measure between two runs on the same queries (treatment - baseline).

    `headline` says which mean decides: `p_adjusted` (Holm over the `family` tests), `equivalence_p_adjusted` and
    `verdict` are about that one. `t_p` and `wilcoxon_p` are on cluster means and decide nothing. A ceiling is not a
    result of a run: it is not tested, and these are None. `effect_size` is Cohen's d of the paired differences; None
    where all differ by the same.
    """

    measure: str
    baseline: str
    treatment: str
    headline: Literal["micro", "macro"]
    micro: MeanDifference
    macro: MeanDifference
    p_adjusted: float | None
    t_p: float | None
    wilcoxon_p: float | None
    effect_size: float | None
    wins: int
    ties: int
    losses: int
    n_queries: int
    n_clusters: int
    clustered_by: str
    family: int
    verdict: str
    margin: float | None = None
    equivalence_p_adjusted: float | None = None

    @property
    def is_shown(self) -> bool:
        """Whether the verdict is that one run is better."""
        return self.verdict.startswith(("better", "worse"))

    @property
    def mean(self) -> MeanDifference:
        """The mean that decides."""
        return self.micro if self.headline == "micro" else self.macro

    @property
    def difference(self) -> float:
        """Difference of the mean that decides."""
        return self.mean.difference

    @property
    def ci(self) -> Interval:
        """95 % interval of the mean that decides."""
        return self.mean.ci
