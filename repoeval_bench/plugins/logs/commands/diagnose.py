"""`diagnose`: check a run for known problems, and list its worst queries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from repoeval_bench.cli.console import echo, print_json, print_lines, print_tables
from repoeval_bench.cli.options import json_option, plain, runs_folder
from repoeval_bench.core.words import count, few
from repoeval_bench.plugins.logs.diagnosis import diagnose
from repoeval_bench.report.table import Column, Table, figures, make_table
from repoeval_bench.report.text import heading, printable
from repoeval_bench.runs.naming import find_run

if TYPE_CHECKING:
    from repoeval_bench.plugins.logs.diagnosis import Check, Diagnosis, ResultLocation, WorstQuery

_GOLD_SHOWN = 8
_TEXT = 110


@click.command("diagnose")
@click.argument("run")
@click.option(
    "--worst",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    metavar="N",
    help="Number of worst queries to list.",
)
@click.option("--measure", "-m", help="Measure for the worst queries; default: ndcg@10.")
@runs_folder
@json_option
def diagnose_command(*, run: str, worst: int, measure: str | None, out: Path, as_json: bool) -> None:
    """Check RUN for common problems; print each finding with its numbers, then the queries that scored worst.

    The exit code is always 0; use `gate` to fail a job.
    """
    result = diagnose(find_run(run, out), measure=measure, worst=worst)
    if as_json:
        print_json(plain(result))
        return
    print_tables([_checks_table(result.checks, result.run)])
    if result.worst:
        by = f"{count(result.n_queries, 'query')} by {heading(result.measure)}"
        print_lines([f"The worst {len(result.worst)} of {by}; * is relevant, lines count from 1."])
    for table in _worst_tables(result):
        echo()
        print_tables([table])


def _checks_table(checks: Sequence[Check], title: str) -> Table:
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


def _named(figure: str) -> str:
    """A figure's name with its measures as tables have them: `recall@5 / ceiling` as `R@5 / ceiling`."""
    words = figure.split(" ")
    return " ".join(heading(word) if "@" in word or "_" in word or word == "mrr" else word for word in words)


def _number(value: float | None) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "not known"
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def _worst_tables(diagnosis: Diagnosis) -> list[Table]:
    """One table per query: gold above, then the run's top 10, relevant ones marked."""
    return [
        make_table(
            [*figures("rank", number="d"), printable(diagnosis.retriever)],
            [(hit.rank, ("* " if hit.relevant else "  ") + _location_text(hit.place)) for hit in query.top],
            title=f"{number}. {_about(query, diagnosis.measure)}",
        )
        for number, query in enumerate(diagnosis.worst, start=1)
    ]


def _about(query: WorstQuery, measure: str) -> str:
    first = f"first found at rank {query.first_hit}" if query.first_hit else "none found"
    gold = few([_location_text(location) for location in query.gold], _GOLD_SHOWN)
    lines = [
        f"{printable(query.query_id)}: {query.value:.4f} {heading(measure)}, {first}",
        f"target ({query.relevant}): {gold or 'no chunk'}",
    ]
    if query.query:
        words = [line.strip() for line in query.query.splitlines() if any(map(str.isalnum, line))]
        # A prompt ends where code is to be written, so its last line says what is asked for.
        lines.append(f"query ends: {printable(words[-1][:_TEXT]) if words else ''}")
    return "\n".join(lines)


def _location_text(location: ResultLocation) -> str:
    """`file:13-40` with lines as editors count them, else the chunk's id."""
    if location.file is None or location.start_line is None or location.end_line is None:
        return printable(location.chunk_id)
    return printable(f"{location.file}:{location.start_line + 1}-{location.end_line}")
