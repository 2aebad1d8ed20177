"""`diagnose`: check a run for known problems, and list its worst queries."""

from __future__ import annotations

from pathlib import Path

import click

from repoeval_bench.cli.completion import run_argument
from repoeval_bench.cli.console import print_json, print_lines, print_tables
from repoeval_bench.cli.echo import echo
from repoeval_bench.cli.options import json_option, runs_folder
from repoeval_bench.cli.output import plain
from repoeval_bench.plugins.logs.diagnosis.report import diagnose
from repoeval_bench.plugins.logs.diagnosis.tables import (
    checks_table,
    gaps_table,
    worst_note,
    worst_tables,
)
from repoeval_bench.runs.naming import find_run


@click.command("diagnose")
@run_argument()
@click.option(
    "--worst",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    metavar="N",
    help="Number of worst queries to list.",
)
@click.option("--measure", "-m", help="Measure for segments and worst queries; default: ndcg@10.")
@click.option("--bm25", metavar="RUN", help="BM25 run whose results are shown too; by default one in the same folder.")
@runs_folder
@json_option
def diagnose_command(
    *,
    run: str,
    worst: int,
    measure: str | None,
    bm25: str | None,
    out: Path,
    as_json: bool,
) -> None:
    """Check RUN for common problems; print each finding with its numbers, then the queries that scored worst.

    The exit code is always 0; use `gate` to fail a job.
    """
    stored = find_run(run, out)
    bm25_run = find_run(bm25, out) if bm25 else None
    result = diagnose(stored, measure=measure, worst=worst, bm25=bm25_run)
    if as_json:
        print_json(plain(result))
        return
    tables = [checks_table(result.checks, result.run)]
    print_tables([*tables, *(gaps_table(check.gaps, result.measure) for check in result.checks if check.gaps)])
    if result.worst:
        print_lines([worst_note(result)])
    for table in worst_tables(result):
        echo()
        print_tables([table])
