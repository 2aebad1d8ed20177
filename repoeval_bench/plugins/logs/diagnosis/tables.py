"""A diagnosis for the terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from repoeval_bench.core.words import count, few
from repoeval_bench.report.table import P_VALUE, Column, Estimate, Table, figures, make_table
from repoeval_bench.report.text import heading, printable

if TYPE_CHECKING:
    from repoeval_bench.plugins.logs.diagnosis.checks import Check
    from repoeval_bench.plugins.logs.diagnosis.gaps import Gap
    from repoeval_bench.plugins.logs.diagnosis.report import Diagnosis, Ranked, ResultLocation, WorstQuery

_GOLD_SHOWN = 8
_TEXT = 110


def checks_table(checks: Sequence[Check], title: str = "") -> Table:
    """One row per check, findings first: what it says, the numbers, and the thresholds they are compared with."""
    order = {"finding": 0, "fine": 1, "unknown": 2}
    columns = [
        Column(name=""),
        Column(name="check"),
        Column(name="what it says", width=64, prose=True),
        Column(name="numbers", width=52, prose=True),
        Column(name="thresholds", width=24, prose=True),
    ]
    rows = [
        (
            check.status,
            check.name,
            printable(check.says),
            tuple(f"{_named(name)}: {_number(value)}" for name, value in check.numbers.items()),
            tuple(f"{name} {value:g}" for name, value in check.limits.items()),
        )
        for check in sorted(checks, key=lambda any_check: order[any_check.status])
    ]
    return make_table(columns, rows, title=title)


def gaps_table(gaps: Sequence[Gap], measure: str) -> Table:
    """One row per segment that is clearly behind the other queries."""
    columns = [
        Column(name="segment"),
        *figures("queries", "clusters", number="d"),
        *figures("mean", "other queries"),
        *figures("difference, 95 % CI", number="+.4f"),
        *figures("p (Holm)", number=P_VALUE),
    ]
    rows = [
        (
            printable(f"{gap.by} = {gap.name}"),
            *(gap.n_queries, gap.n_clusters, gap.mean, gap.rest),
            Estimate(gap.difference, gap.ci),
            gap.p_adjusted,
        )
        for gap in gaps
    ]
    return make_table(columns, rows, title=f"segments behind the other queries, {heading(measure)}")


def worst_tables(diagnosis: Diagnosis) -> list[Table]:
    """One table per query: gold above, then the run's top 10 and BM25's side by side, relevant ones marked."""
    sides = [printable(diagnosis.retriever), *([] if diagnosis.bm25 is None else ["BM25"])]
    return [
        make_table(
            [*figures("rank", number="d"), *sides],
            [
                (rank, *map(_result, both))
                for rank, both in enumerate(
                    zip_longest(query.top, *([] if query.bm25 is None else [query.bm25])), start=1
                )
            ],
            title="\n".join([f"{number}. {_title(query, diagnosis.measure)}", *_about(query)]),
        )
        for number, query in enumerate(diagnosis.worst, start=1)
    ]


def worst_note(diagnosis: Diagnosis) -> str:
    """Return what the tables of the worst queries are, and where BM25's ranking is from."""
    return (
        f"The worst {len(diagnosis.worst)} of {count(diagnosis.n_queries, 'query')} by {heading(diagnosis.measure)}; * "
        f"is relevant, lines count from 1. {diagnosis.note}"
    )


def _named(figure: str) -> str:
    """A figure's name with its measures as tables have them: `recall@5 / ceiling` as `R@5 / ceiling`."""
    words = figure.split(" ")
    return " ".join(heading(word) if "@" in word or "_" in word or word == "mrr" else word for word in words)


def _number(value: float | None) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "not known"
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def _title(query: WorstQuery, measure: str) -> str:
    first = f"first found at rank {query.first_hit}" if query.first_hit else "none found"
    return f"{printable(query.query_id)}: {query.value:.4f} {heading(measure)}, {first}"


def _about(query: WorstQuery) -> list[str]:
    gold = few([_location_text(location) for location in query.gold], _GOLD_SHOWN)
    lines = [f"gold ({query.relevant}): {gold or 'no chunk'}"]
    if query.query:
        words = [line.strip() for line in query.query.splitlines() if any(map(str.isalnum, line))]
        # A prompt ends where code is to be written, so its last line says what is asked for.
        lines.append(f"query ends: {printable(words[-1][:_TEXT]) if words else ''}")
    return lines


def _result(ranked: Ranked | None) -> str:
    if ranked is None:
        return "-"
    return ("* " if ranked.relevant else "  ") + _location_text(ranked.place)


def _location_text(location: ResultLocation) -> str:
    """`file:13-40` with lines as editors count them, else the chunk's id."""
    if location.file is None or location.start_line is None or location.end_line is None:
        return printable(location.chunk_id)
    return printable(f"{location.file}:{location.start_line + 1}-{location.end_line}")
