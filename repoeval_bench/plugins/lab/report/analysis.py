"""The analysis of leaderboards of chunkers, as tables and as records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from repoeval_bench.core.words import count
from repoeval_bench.report.choosing import choice_record
from repoeval_bench.report.formats import as_csv
from repoeval_bench.report.table import Column, Estimate, Table, figures, make_table, number, record_of, record_table
from repoeval_bench.report.text import full_outcome_name, heading, outcome_name, with_interval

if TYPE_CHECKING:
    from repoeval_bench.analysis.records import Comparison
    from repoeval_bench.analysis.verdicts import Choice
    from repoeval_bench.plugins.lab.analysis import LeaderboardAnalysis, ProtocolAgreement, SizeEffect


def best_table(analyses: Sequence[LeaderboardAnalysis]) -> Table:
    """Tabulate for each leaderboard its best run, and how many runs are significantly worse."""
    columns: list[Column | str] = [
        "data",
        "best",
        *figures("its score, 95 % CI"),
        "protocol",
        "retriever",
        *figures("significantly worse", "of", number="d"),
        "against fixed of its size",
    ]
    rows = []
    for analysis in analyses:
        first = analysis.leaderboard.entries[0]
        rows.append(
            (
                _data(analysis),
                analysis.sized_runs[first.run_id].label
                if not (analysis.leaderboard.choice and analysis.leaderboard.choice.found_nothing)
                else "none: no run found anything",
                Estimate(first.score, first.ci),
                f"{analysis.leaderboard.protocol}, {heading(analysis.leaderboard.measure)}",
                analysis.ranker,
                0
                if analysis.leaderboard.choice is None
                else len(analysis.leaderboard.choice.verdict.significantly_worse),
                len(analysis.leaderboard.entries) - 1,
                _difference(analysis.against.get(first.run_id, ())),
            )
        )
    return make_table(columns, rows)


def sizes_table(analysis: LeaderboardAnalysis) -> Table:
    """Tabulate each chunker's mean at each size, and the difference of the largest size to the smallest."""
    sizes = sorted({size for effect in analysis.sizes for size in effect.means})
    columns: list[Column | str] = [
        "chunker",
        *figures(*(f"{size:,}" for size in sizes)),
        *figures("largest minus smallest, 95 % CI", number="+.4f"),
    ]
    rows = [
        (effect.chunker, *(effect.means.get(size) for size in sizes), Estimate(effect.difference, effect.ci))
        for effect in sorted(analysis.sizes, key=lambda effect: -max(effect.means.values()))
    ]
    return make_table(columns, rows)


def frontier_table(analysis: LeaderboardAnalysis) -> Table:
    """Tabulate for each budget the same in tokens, the best run, and the best of `fixed`."""
    columns: list[Column | str] = [
        *figures("characters read", number=","),
        *figures("tokens read", number=",.0f"),
        "best",
        *figures(f"{heading(analysis.recall)}, 95 % CI"),
        *figures("best of fixed"),
    ]
    rows = [
        (
            point.budget,
            point.tokens,
            analysis.sized_runs[point.run_id].label,
            Estimate(point.recall, point.ci),
            point.fixed,
        )
        for point in analysis.frontier
    ]
    return make_table(columns, rows)


def against_table(analyses: Sequence[LeaderboardAnalysis]) -> Table:
    """Tabulate each chunker's difference to `fixed` of its size: a row for each size, a column for each protocol."""
    labels = dict.fromkeys(
        (sized.size or 0, sized.name, sized.label)
        for analysis in analyses
        for sized in analysis.sized_runs.values()
        if sized.run_id in analysis.against
    )
    columns: list[Column | str] = ["chunker", *(analysis.leaderboard.protocol for analysis in analyses)]
    by_label = [
        {analysis.sized_runs[run_id].label: c for run_id, c in analysis.against.items()} for analysis in analyses
    ]
    rows = [(label, *(_difference(column.get(label, ())) for column in by_label)) for _, _, label in sorted(labels)]
    return make_table(columns, rows)


def agreement_columns() -> list[Column]:
    """Return the columns of the agreement of two protocols: how similarly they rank, and how many verdicts change."""

    def fact(key: str, value: Callable[[ProtocolAgreement], Any]) -> Column:
        return Column(name=key, value=value, forms=("record",))

    return [
        Column(name="protocols", value=lambda agreement: " and ".join(agreement.protocols), forms=("table",)),
        Column(name="data", key="dataset", value=lambda agreement: agreement.dataset),
        Column(name="retriever", value=lambda agreement: agreement.ranker),
        fact("first", lambda agreement: agreement.protocols[0]),
        fact("second", lambda agreement: agreement.protocols[1]),
        number("Kendall's tau", lambda agreement: agreement.tau, "+.2f", key="kendall_tau"),
        number("runs", lambda agreement: agreement.n_rows, "d"),
        number("verdicts", lambda agreement: agreement.n_compared, "d"),
        number("changed", lambda agreement: len(agreement.changed), "d"),
        number("turned round", lambda agreement: agreement.turned_round, "d", key="turned_round"),
    ]


def languages_table(analysis: LeaderboardAnalysis) -> Table:
    """Tabulate each language's best run, and how many runs are significantly worse; empty for a single language."""
    columns: list[Column | str] = [
        "language",
        "best",
        *figures("its score"),
        *figures("significantly worse", number="d"),
    ]
    rows = [_language(name, choice) for name, choice in analysis.languages.items() if len(analysis.languages) > 1]
    return make_table(columns, rows)


def analysis_record(analysis: LeaderboardAnalysis) -> dict[str, Any]:
    """Return every field as plain values; the leaderboard by its names, a run by its id and label."""
    leaderboard = analysis.leaderboard
    return {
        "dataset": leaderboard.dataset,
        "protocol": leaderboard.protocol,
        "retriever": leaderboard.runs[0].metrics.retriever,
        "embedder": leaderboard.runs[0].metrics.embedder,
        "measure": leaderboard.measure,
        "over": leaderboard.over,
        "tokens_per_nws": analysis.tokens_per_nws,
        "runs": [asdict(sized) for sized in analysis.sized_runs.values()],
        "sizes": [{"measure": leaderboard.measure} | _size(size) for size in analysis.sizes],
        "against_fixed": [
            _run(analysis, run_id)
            | {name: getattr(comparison, name) for name in ("measure", "difference", "ci", "p_adjusted")}
            | {"verdict": full_outcome_name(comparison.verdict)}
            for run_id, compared in analysis.against.items()
            for comparison in compared
        ],
        "frontier": [
            {"measure": f"{analysis.recall}@{point.budget}"} | _run(analysis, point.run_id) | asdict(point)
            for point in analysis.frontier
        ],
        "updates": [
            _run(analysis, run_id)
            | {"share": cost.share, "ci": cost.ci, "pairs": cost.n_pairs}
            | dict(zip(("difference", "difference_ci"), cost.to_fixed or (None, None), strict=True))
            for run_id, cost in analysis.updates.items()
        ],
        "languages": {name: choice and choice_record(choice) for name, choice in analysis.languages.items()},
    }


def analysis_csvs(records: Iterable[Mapping[str, Any]], agreed: Sequence[ProtocolAgreement]) -> dict[str, str]:
    """Return file name -> CSV of one list of the `analysis_record`s, in full precision."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        about = {name: record[name] for name in ("dataset", "protocol", "retriever", "embedder")}
        for name in ("against_fixed", "sizes", "frontier", "updates"):
            rows.setdefault(name.partition("_")[0], []).extend(about | _for_csv(row) for row in record[name])
    rows["protocols"] = [record_of(agreement_columns(), agreement) for agreement in agreed]
    return {f"{name}.csv": as_csv(record_table(table)) for name, table in rows.items() if table}


def _size(effect: SizeEffect) -> dict[str, Any]:
    named = {name: {str(size): value for size, value in getattr(effect, name).items()} for name in ("run_ids", "means")}
    return {"chunker": effect.chunker, **named, "difference": effect.difference, "ci": effect.ci}


def _for_csv(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row with two empty ends for a missing interval, and its measure as tables name it."""
    measure = {"measure": heading(row["measure"])} if "measure" in row else {}
    ends = {name: (None, None) if value is None and name.endswith("ci") else value for name, value in row.items()}
    return ends | measure


def _run(analysis: LeaderboardAnalysis, run_id: str) -> dict[str, str]:
    return {"run_id": run_id, "chunker": analysis.sized_runs[run_id].label}


def _data(analysis: LeaderboardAnalysis) -> str:
    dataset = analysis.leaderboard.runs[0].metrics.dataset
    return f"{dataset.name}, {count(dataset.tasks, 'task')}"


def _difference(comparisons: Sequence[Comparison]) -> tuple[str, ...]:
    """Return the first of a run's comparisons in words; empty if it has none."""
    if not comparisons:
        return ("",)
    first = comparisons[0]
    return with_interval(first.difference, first.ci, "+.4f"), outcome_name(first.verdict)


def _language(name: str, choice: Choice | None) -> tuple[str, str, float | None, int | None]:
    if choice is None:
        return name, "too few queries", None, None
    return name, choice.best.run, choice.best.mean, len(choice.verdict.significantly_worse)
