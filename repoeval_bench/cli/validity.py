"""`validity`: which measure of retrieval predicts what a model writes."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from repoeval_bench.analysis.validity import validity
from repoeval_bench.cli.completion import names_for, run_argument
from repoeval_bench.cli.console import print_json, print_tables
from repoeval_bench.cli.options import json_option, runs_folder
from repoeval_bench.report.completion import validity_tables
from repoeval_bench.runs.naming import find_runs


@click.command("validity")
@run_argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "--measure",
    "-m",
    "measures",
    multiple=True,
    metavar="NAME",
    shell_complete=names_for("measures"),
    help="A measure of retrieval instead of all that the runs share; repeat it.",
)
@runs_folder
@json_option
def validity_command(*, runs: tuple[str, ...], measures: tuple[str, ...], out: Path, as_json: bool) -> None:
    """Correlate each measure of retrieval with edit similarity and identifier F1, over three or more completed RUNs."""
    found = validity(find_runs(runs, out), measures=measures)
    if as_json:
        print_json(asdict(found))
    else:
        print_tables(validity_tables(found))
