"""`diff`: the queries whose score changed between two runs, and why."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from repoeval_bench.analysis.diff import diff
from repoeval_bench.cli.completion import run_argument
from repoeval_bench.cli.console import print_json, print_lines, print_table
from repoeval_bench.cli.echo import echo
from repoeval_bench.cli.options import refuse_unread, runs_folder
from repoeval_bench.report.diff import diff_summary, diff_table
from repoeval_bench.runs.naming import find_run


@click.command("diff", short_help="List the queries whose score changed, and why.")
@run_argument("baseline", metavar="RUN")
@run_argument("treatment", metavar="RUN")
@click.option("--measure", "-m", default="ndcg@10", show_default=True, help="The measure that is compared.")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="How many to print.")
@runs_folder
@click.option("--json", "as_json", is_flag=True, help="Print every changed query as JSON, with its chunks.")
def diff_command(*, baseline: str, treatment: str, measure: str, limit: int, out: Path, as_json: bool) -> None:
    """List the queries whose score differs between two RUNs, the largest change first."""
    if as_json:
        refuse_unread({"limit"}, "with --json, which has every change")
    found = diff(find_run(baseline, out), find_run(treatment, out), measure)
    if as_json:
        print_json([asdict(change) for change in found.changes])
        return
    echo(f"baseline   {found.baseline}\ntreatment  {found.treatment}")
    if found.changes:
        print_table(diff_table(found, limit))
    print_lines(diff_summary(found, limit))
