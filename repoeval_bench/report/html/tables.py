"""The runs and tables of a page, and how any table becomes its cells.

Its head has every run with its score, its difference to the best, and what a query reads, best first.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

from repoeval_bench.analysis.comparable import PARTS, check_comparable, headline_measure, run_names
from repoeval_bench.analysis.evidence import Recommendation
from repoeval_bench.analysis.means import headline_means
from repoeval_bench.analysis.records import Interval
from repoeval_bench.analysis.verdicts import READ, Verdict, costs
from repoeval_bench.metrics import TEXT_MEASURES, lower_is_better, measure_of
from repoeval_bench.report.recommendation import evidence_name, known_columns
from repoeval_bench.report.table import Cell, Column, Estimate, Table, number, table_of
from repoeval_bench.report.text import explained, full_outcome_name, heading, interval, short_names
from repoeval_bench.runs.inspection import stored_tokens_per_nws
from repoeval_bench.runs.query_scores import QueryScores
from repoeval_bench.runs.request import NO_EMBEDDER
from repoeval_bench.runs.view import RunView


@dataclass(frozen=True)
class PageRun:
    """A run with the names it goes by on the page: `name` in full, `short` where there is little room.

    `scores` are in the order of the first run's queries.
    """

    stored: RunView
    name: str
    short: str
    scores: QueryScores


def page_runs(stored: Sequence[RunView]) -> list[PageRun]:
    """The runs with their names.

    A UsageError with every difference if two do not answer the same question: protocol, data, queries, depth.
    """
    check_comparable((stored[0], run) for run in stored[1:])
    names = run_names(stored)
    ids = stored[0].scores.query_ids
    return [
        PageRun(run, name, short, run.scores.in_order(ids))
        for run, name, short in zip(stored, names, short_names(names), strict=True)
    ]


def kind_of(runs: Sequence[PageRun]) -> str:
    """Return what the runs differ in, in one word: `chunker`, `embedder`, `retriever`, or `run` for anything else."""
    if len(runs) == 1:
        return PARTS[0]
    # A retriever without an embedder does not count as another embedder.
    differing = [part for part in PARTS if len({getattr(run.stored.metrics, part) for run in runs} - {NO_EMBEDDER}) > 1]
    return differing[0] if len(differing) == 1 else "run"


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

    `explained` says what the measure means, `to` names the first row. The plot has differences times
    `scale`; `axis` names their unit, and `digits` is their format in words.
    """

    measure: str
    explained: str
    unit: str
    rows: tuple[RankedRow, ...]
    to: str = "best"
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
    name, *others = known_columns(recommendation, recommendation.decision.candidates)
    columns = [replace(name, value=lambda candidate: (candidate.name, outcome[candidate.name])), *others]
    shown = [candidate for candidate in recommendation.decision.candidates if candidate.name in outcome]
    return table_of(columns, shown, "page")


def ranking(runs: Sequence[PageRun], verdict: Verdict) -> Ranking:
    """Rank the runs as the verdict does.

    What a query reads is `READ` chunks of mean size: in tokens, or in characters where a run kept no sources.
    """
    stored = [run.stored for run in runs]
    position = {run.run_id: index for index, run in enumerate(stored)}
    # Tokens are what a reader pays; characters of one tree become tokens by the ratio of its sources.
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
                        *([f"significantly worse under {' and '.join(worse_in)}"] if worse_in else []),
                    ]
                ),
                cost=recommendation.tokens(one.name),
            )
        )
    return Ranking(
        measure="expected score",
        explained="expected score: share of the targets retrieved, from your code and other repositories",
        axis="difference in expected score, points (left of 0: less retrieved)",
        scale=100.0,
        digits="+.1f",
        unit="tokens",
        rows=tuple(rows),
        to="choice",
    )


@dataclass(frozen=True, slots=True)
class PageCell:
    """A text with a line below it; `value` is what the column is sorted by."""

    text: str
    below: str = ""
    value: float | None = None


def page_table(table: Table, runs: Sequence[int] = ()) -> dict[str, Any]:
    """Return a table's heads and cells as the template shows them; a column without any value is left out.

    The first column of texts names the rows. `runs` are the positions of the rows' runs, in whose colours they are.
    """
    by_column = [[row.cells[i] for row in table.rows] for i in range(len(table.columns))]
    filled = [any(cell not in (None, "", ("",)) for cell in cells) for cells in by_column]
    columns = list(compress(table.columns, filled))
    cells = [
        [_cell(column, cell) for cell in of_column] for column, of_column in zip(table.columns, by_column, strict=True)
    ]
    names = next((i for i, column in enumerate(columns) if column.align == "left"), None)
    return {
        "heads": [
            {
                "name": column.name or column.key,
                "key": column.key,
                "meaning": column.meaning,
                "right": column.align == "right",
                "names": i == names,
                "lowest_first": column.lowest_first,
            }
            for i, column in enumerate(columns)
        ],
        "rows": list(zip(*compress(cells, filled), strict=True)),
        "runs": list(runs),
    }


def _cell(column: Column, cell: Cell) -> PageCell:
    if isinstance(cell, Estimate):
        return PageCell(format(cell.value, column.number), interval(cell.ci, column.number), cell.value)
    if isinstance(cell, tuple):
        first, *rest = cell
        return PageCell(first, "; ".join(rest))
    value = cell if isinstance(cell, int | float) else None
    return PageCell(column.written(cell), value=value)


MEASURES = (
    "line_recall@1500",
    "ndcg@5",
    "ndcg@10",
    "recall@1",
    "recall@3",
    "recall@5",
    "recall@10",
    "precision@5",
    "mrr",
    "distinct_files@10",
    *TEXT_MEASURES,
)
"""Columns behind the run's own headline measure, where the runs were scored by them."""


def score_columns(runs: Sequence[PageRun], kind: str) -> list[Column]:
    """Return the columns, of a `PageRun` each; `kind` is what the runs are."""
    first = headline_measure([run.stored for run in runs])
    names = tuple(dict.fromkeys((first, *MEASURES)))
    means = {run.stored.folder: headline_means(run.stored, names) for run in runs}

    def mean(name: str) -> Callable[[PageRun], Estimate | None]:
        return lambda run: Estimate(*estimate) if (estimate := means[run.stored.folder].get(name)) else None

    def score(name: str) -> Column:
        known = measure_of(name)
        return number(
            heading(name),
            mean(name),
            ".3f",
            key=name,
            meaning=known.definition.meaning if known else "",
            interval=True,
            lowest_first=lower_is_better(name),
        )

    share = number(
        "% of ceiling",
        lambda run: run.stored.metrics.shares_of_ceiling.get(first),
        ".1%",
        key="share",
        meaning=f"{heading(first)} divided by the best score known to be possible with these chunks.",
    )
    named = Column(name=kind, value=lambda run: run.short)
    return [named, score(first), share, *map(score, names[1:])]
