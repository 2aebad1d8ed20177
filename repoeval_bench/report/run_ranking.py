"""The head of the page: every run with its score, its difference to the best, and what a query reads, best first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from repoeval_bench.analysis.choosing import READ, costs
from repoeval_bench.report.recommendation import candidate_columns, evidence_name
from repoeval_bench.report.table import Column, Table, number, table_of
from repoeval_bench.report.text import explained, full_outcome_name, heading
from repoeval_bench.runs.inspection import stored_tokens_per_nws

if TYPE_CHECKING:
    from repoeval_bench.analysis.evidence import Recommendation
    from repoeval_bench.analysis.records import Interval
    from repoeval_bench.analysis.verdicts import Verdict
    from repoeval_bench.report.html.runs import PageRun


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedRow:
    """A run, by its position on the page and its name there; the first row has no `difference`.

    `ci` is the 95 % interval of the difference, `is_worse` whether the run is surely worse, `outcome` the sentence on
    it. `cost` is None where it is unknown.
    """

    run: int
    name: str
    score: float
    difference: float | None = None
    ci: Interval = None
    is_worse: bool = False
    outcome: str
    cost: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The rows, best first, and the names of the columns; `unit` is empty where no cost is known.

    `explained` says what the measure means, `to` names the first row, `filled` and `hollow` say what the markers mean.
    The plot has differences times `scale`; `axis` names their unit, and `digits` is their format in words.
    """

    measure: str
    explained: str
    unit: str
    rows: tuple[RankedRow, ...]
    to: str = "best"
    filled: str = "significantly worse than the best"
    hollow: str = "may be as good"
    axis: str
    scale: float = 1.0
    digits: str = "+.4f"
    read: int = READ


def ranking_table(ranks: Ranking, rows: Sequence[RankedRow], kind: str) -> Table:
    """Return some rows of a ranking as a table; `kind` is what the runs are."""
    columns = [
        Column(name=kind, value=lambda row: row.name),
        number(ranks.measure, lambda row: row.score, ".3f"),
        number(f"difference to the {ranks.to}", lambda row: row.difference, "+.3f", missing=""),
        Column(name="verdict", value=lambda row: row.outcome),
        number(f"{ranks.unit} per query", lambda row: row.cost, ",.0f"),
    ]
    return table_of(columns, rows, "page")


def candidates_table(recommendation: Recommendation, rows: Sequence[RankedRow]) -> Table:
    """Return some rows of the candidates with the columns of the terminal's table; the verdict is below each name."""
    outcome = {row.name: row.outcome for row in rows}
    assert recommendation.decision is not None
    name, *others = candidate_columns(recommendation)
    columns = [replace(name, value=lambda candidate: (candidate.name, outcome[candidate.name])), *others]
    shown = [candidate for candidate in recommendation.decision.candidates if candidate.name in outcome]
    return table_of(columns, shown, "page")


def ranking(runs: Sequence[PageRun], verdict: Verdict) -> Ranking:
    """Rank the runs as the verdict does.

    What a query reads is `READ` chunks of mean size: in tokens, or in characters where a run kept no sources.
    """
    stored = [run.stored for run in runs]
    position = {run.run_id: index for index, run in enumerate(stored)}
    unit, read = costs(stored)
    if unit == "characters" and (ratio := stored_tokens_per_nws(stored[0].folder)):
        unit, read = "tokens", [None if difference is None else difference * ratio for difference in read]
    by_name = {
        difference.treatment: difference for difference in verdict.differences if difference.measure == verdict.measure
    }
    best = position[verdict.reference.run_id]
    first = "best" if verdict.others else ""
    rows = [RankedRow(run=best, name=runs[best].short, score=verdict.reference.mean, outcome=first, cost=read[best])]
    for rival in verdict.others:
        index, difference = position[rival.run.run_id], by_name[rival.run.name]
        rows.append(
            RankedRow(
                run=index,
                name=runs[index].short,
                score=rival.run.mean,
                difference=difference.difference,
                ci=difference.ci,
                is_worse=rival.is_significantly_worse,
                outcome=full_outcome_name(difference.verdict),
                cost=read[index],
            )
        )
    measure = heading(verdict.measure)
    return Ranking(
        measure=measure,
        explained=explained(verdict.measure),
        unit=unit,
        rows=tuple(rows),
        axis=f"difference in {measure} (left of 0: less is retrieved)",
    )


def candidates_ranked(runs: Sequence[PageRun], recommendation: Recommendation) -> Ranking:
    """Rank the candidates as a recommendation does, by expected scores, with the differences to its choice.

    `runs` are those of its first evidence.
    """
    assert recommendation.decision is not None
    position = {run.stored.run_id: index for index, run in enumerate(runs)}
    choice = recommendation.decision.choice
    current = recommendation.current.label if recommendation.current else None
    rows = []
    for one in recommendation.decision.candidates:
        is_choice = one.name == choice.name
        worse_in = [evidence_name(evidence) for evidence in recommendation.evidence if one.name in evidence.worse]
        rows.append(
            RankedRow(
                run=position[recommendation.evidence[0].runs[one.name]],
                name=one.name,
                score=recommendation.expected(one.name),
                difference=None if is_choice else one.score - choice.score,
                ci=None if is_choice else one.to_choice,
                is_worse=bool(worse_in),
                outcome="; ".join(
                    [
                        *(["choice"] if is_choice else []),
                        *(["used now"] if one.name == current else []),
                        *([f"significantly worse in {' and '.join(worse_in)}"] if worse_in else []),
                    ]
                ),
                cost=recommendation.tokens(one.name),
            )
        )
    return Ranking(
        measure="expected score",
        explained="expected score: share of the targets retrieved, from your code and other repositories",
        axis="percentage points of the targets (left of 0: fewer are retrieved)",
        scale=100.0,
        digits="+.1f",
        unit="tokens",
        rows=tuple(rows),
        to="choice",
        filled="significantly worse than the choice by one of the tasks",
        hollow="no significant difference",
    )
