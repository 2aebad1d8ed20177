"""How far the verdict holds: each lead over these repositories and over new ones, and without single files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from repoeval_bench.analysis.pair_verdicts import Outcome
from repoeval_bench.core.words import count
from repoeval_bench.report.html.assets import PageCell
from repoeval_bench.report.text import full_outcome_name, probability

if TYPE_CHECKING:
    from repoeval_bench.analysis.records import Comparison, Influence, Interval, NewRepositories


@dataclass(frozen=True, slots=True)
class LeadRow:
    """What is said of one run's difference to the best; `run` is its position on the page."""

    run: int
    cells: tuple[PageCell, ...]


COLUMNS = (
    "on these repositories",
    "verdict",
    "one file left out",
    "one repository left out",
    "on new repositories",
    "between repositories",
    "one new repository",
)

NOTHING = ("\N{EN DASH}", "one repository")
"""What a cell says that has nothing to say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeadTable:
    """The rows, the columns that any row has something in, and what these mean."""

    columns: tuple[str, ...]
    rows: tuple[LeadRow, ...]
    note: str


def table(differences: Sequence[Comparison], positions: Mapping[str, int]) -> LeadTable:
    """What is said of each primary difference; what one repository alone cannot tell is left out."""
    found = rows(differences, positions)
    kept = [at for at in range(len(COLUMNS)) if any(row.cells[at].text not in NOTHING for row in found)]
    return LeadTable(
        columns=tuple(COLUMNS[at] for at in kept),
        rows=tuple(LeadRow(row.run, tuple(row.cells[at] for at in kept)) for row in found),
        note=note(differences),
    )


def rows(differences: Sequence[Comparison], positions: Mapping[str, int]) -> list[LeadRow]:
    """A row for each primary difference; `positions` are those of the runs on the page, by name."""
    return [
        LeadRow(
            positions[each.treatment],
            (
                _estimate(each.difference, each.ci, f"p (Holm) {probability(each.p_adjusted)}"),
                PageCell(full_outcome_name(each.verdict)),
                _left_out(each.by_file, each),
                _left_out(each.by_repository, each),
                *_new(each.on_new_repositories),
            ),
        )
        for each in differences
        if each.primary
    ]


def note(differences: Sequence[Comparison]) -> str:
    """What the columns mean; empty where there is no primary difference."""
    first = next((each for each in differences if each.primary), None)
    if first is None:
        return ""
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


def _estimate(value: float, ci: Interval, below: str) -> PageCell:
    return PageCell(f"{value:+.4f}", f"{_ends(ci)}, {below}", value)


def _left_out(found: Influence | None, of: Comparison) -> PageCell:
    if found is None:
        return PageCell("\N{EN DASH}")
    # Where Holm takes the verdict away already, that is no file's doing.
    carried = of.verdict.outcome is Outcome.CARRIED and found.rests_on is not None
    lost = f"without {found.rests_on}: p {probability(found.p)}" if carried else ""
    return PageCell(f"{found.low:+.4f} to {found.high:+.4f}", lost, found.low)


def _new(found: NewRepositories | None) -> tuple[PageCell, PageCell, PageCell]:
    if found is None:
        return PageCell("one repository"), PageCell("\N{EN DASH}"), PageCell("\N{EN DASH}")
    two = "" if found.two_level is None else f"; two-level {_ends(found.two_level)}"
    return (
        _estimate(found.difference, found.ci, f"p {probability(found.p)}{two}"),
        PageCell("\N{EN DASH}") if found.deviation is None else PageCell(f"{found.deviation:.4f}", "", found.deviation),
        PageCell("\N{EN DASH}")
        if found.prediction is None
        else PageCell(_ends(found.prediction), "", found.prediction[0]),
    )


def _ends(ci: Interval) -> str:
    return "too few for an interval" if ci is None else f"{ci[0]:+.4f} to {ci[1]:+.4f}"
