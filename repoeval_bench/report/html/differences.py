"""Differences to the best on a page: every one of them, and how far those that decide hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from repoeval_bench.analysis.pair_verdicts import Outcome
from repoeval_bench.core.words import count
from repoeval_bench.metrics import CEILING, SHARE
from repoeval_bench.report.comparison import comparison_columns, families
from repoeval_bench.report.table import P_VALUE, Cell, Column, Estimate, Table, number, table_of
from repoeval_bench.report.text import cluster_count, full_outcome_name, probability

if TYPE_CHECKING:
    from repoeval_bench.analysis.records import Comparison, Influence, NewRepositories


def differences_table(differences: Sequence[Comparison], run: Callable[[Comparison], str], kind: str) -> Table:
    """Return a row for each measure and run; `run` gives the name of a treatment, and `kind` what the runs are."""
    columns = [Column(name=kind, value=run), *comparison_columns(differences[0])]
    return table_of(columns, differences, "page")


def tested(differences: Sequence[Comparison]) -> list[Comparison]:
    """Return the differences that are no ceiling's and no share's, the runs together under each measure."""
    shown = [comparison for comparison in differences if not comparison.measure.endswith((CEILING, SHARE))]
    order = list(dict.fromkeys(comparison.measure for comparison in shown))
    return sorted(shown, key=lambda comparison: order.index(comparison.measure))


def differences_note(differences: Sequence[Comparison], n_runs: int) -> str:
    """Say how differences were tested."""
    first = differences[0]
    hidden = any(comparison.measure.endswith(SHARE) for comparison in differences)
    beside = " The tests include the mean share of the ceiling, which is not in these tables." if hidden else ""
    picked = ", so p is valid although the best was picked from these runs" if n_runs > 2 else ""
    return (
        f"Paired over {count(first.n_queries, 'query')} of the {first.headline} mean; p by a sign-flip test "
        f"over {cluster_count(first.n_clusters, first.clustered_by)}{families(differences)}{picked}.{beside} "
        'Intervals are not adjusted. "Not significant" does not mean equal.'
    )


def leads_table(leads: Sequence[Comparison], run: Callable[[Comparison], str], kind: str) -> Table:
    """Return how far each primary difference holds: on these repositories and new ones, without files and repositories.

    What one repository alone cannot tell is left out.
    """

    def new(value: Callable[[NewRepositories], Cell]) -> Callable[[Comparison], Cell]:
        return lambda lead: None if lead.on_new_repositories is None else value(lead.on_new_repositories)

    columns = [
        Column(name=kind, value=run),
        number("on these repositories", lambda lead: Estimate(lead.difference, lead.ci), "+.4f"),
        number("p (Holm)", lambda lead: lead.p_adjusted, P_VALUE),
        Column(name="verdict", value=lambda lead: full_outcome_name(lead.verdict)),
        Column(name="one file left out", value=lambda lead: _without(lead.by_file, lead)),
        Column(name="one repository left out", value=lambda lead: _without(lead.by_repository, lead)),
    ]
    if leads and leads[0].n_repositories > 1:
        columns += [
            number("on new repositories", new(lambda effect: Estimate(effect.difference, effect.ci)), "+.4f"),
            number("p, new repositories", new(lambda effect: effect.p), P_VALUE),
            Column(name="two-level interval", value=new(lambda effect: _range(effect.two_level))),
            number("between repositories", new(lambda effect: effect.deviation)),
            Column(name="one new repository", value=new(lambda effect: _range(effect.prediction))),
        ]
    return table_of(columns, leads, "page")


def leads_note(leads: Sequence[Comparison]) -> str:
    """Say what the columns mean; empty where there is no primary difference."""
    if not leads:
        return ""
    first = leads[0]
    clusters = count(first.n_clusters, first.clustered_by)
    here = (
        f"On these repositories: {clusters}, which count like {first.effective_clusters:.0f} of equal weight. Left "
        "out: the ends of the difference without each one in turn; where it is not significant without one of them, "
        "that is named."
    )
    if first.on_new_repositories is None:
        return here
    return (
        f"{here} On new repositories: each repository is one observation; p is the sign-flip "
        f"test's over {count(first.n_repositories, 'repository')}, its interval and the two-level one "
        "(repositories, then files) beside it. Between repositories: the standard deviation of their true differences. "
        "One new repository: where its own difference is predicted to lie, 95 %."
    )


def _without(influence: Influence | None, of: Comparison) -> tuple[str, ...] | None:
    if influence is None:
        return None
    # Where Holm takes the verdict away already, that is no file's doing.
    carried = of.verdict.outcome is Outcome.CARRIED and influence.rests_on is not None
    lost = (f"without {influence.rests_on}: p {probability(influence.p)}",) if carried else ()
    return f"{influence.low:+.4f} to {influence.high:+.4f}", *lost


def _range(ends: tuple[float, float] | None) -> str | None:
    return None if ends is None else f"{ends[0]:+.4f} to {ends[1]:+.4f}"
