"""The head of the page: every run with its score, its difference to the best, and what a query reads, best first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from repoeval_bench.analysis.choosing import READ, costs
from repoeval_bench.analysis.standings import kept_tokens_per_nws
from repoeval_bench.report.text import full_outcome_name, heading

if TYPE_CHECKING:
    from repoeval_bench.analysis.verdicts import Verdict
    from repoeval_bench.report.html.runs import PageRun


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedRow:
    """A run by its position on the page; of the best one `difference` is None. `cost` is None where it is unknown."""

    run: int
    score: float
    difference: float | None
    outcome: str
    cost: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The rows, best first, and the names of the columns; `unit` is empty where no cost is known."""

    measure: str
    unit: str
    read: int
    rows: tuple[RankedRow, ...]


def ranking(runs: Sequence[PageRun], found: Verdict) -> Ranking:
    """Rank the runs as the verdict does.

    What a query reads is `READ` chunks of mean size: in tokens, or in characters where a run kept no sources.
    """
    stored = [run.stored for run in runs]
    position = {run.run_id: at for at, run in enumerate(stored)}
    unit, read = costs(stored)
    if unit == "characters" and (ratio := kept_tokens_per_nws(stored[0])):
        unit, read = "tokens", [None if each is None else each * ratio for each in read]
    by_name = {each.treatment: each for each in found.differences if each.measure == found.measure}
    best = position[found.reference.run_id]
    first = "best" if found.others else ""
    rows = [RankedRow(run=best, score=found.reference.mean, difference=None, outcome=first, cost=read[best])]
    for rival in found.others:
        at, each = position[rival.run.run_id], by_name[rival.run.name]
        outcome = full_outcome_name(each.verdict)
        rows.append(RankedRow(run=at, score=rival.run.mean, difference=each.difference, outcome=outcome, cost=read[at]))
    return Ranking(
        measure=heading(found.measure),
        unit=unit,
        read=READ,
        rows=tuple(rows),
    )
