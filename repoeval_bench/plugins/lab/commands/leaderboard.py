"""`lab leaderboard`: rank the runs of a folder."""

from __future__ import annotations

from pathlib import Path

import click

from repoeval_bench.cli.console import echo, print_json, print_tables
from repoeval_bench.cli.options import OUTPUT, json_option, runs_folder, write_and_say
from repoeval_bench.plugins.lab.leaderboard import leaderboards, run_folders
from repoeval_bench.plugins.lab.report.leaderboard import (
    leaderboard_csv,
    leaderboard_records,
    leaderboard_tables,
    summary,
)


@click.command("leaderboard")
@click.option("-o", "--output", type=OUTPUT, metavar="FILE", help="Write all rows as CSV too.")
@runs_folder
@json_option
def leaderboard_command(*, out: Path, output: Path | None, as_json: bool) -> None:
    """Rank the runs in --out by protocol and data, never across them.

    Unfinished folders, and runs of another version, are named with the reason. `report RUN RUN` writes a page about
    runs of one leaderboard.
    """
    ranked = leaderboards(run_folders(out))
    if output:
        write_and_say(output, leaderboard_csv(ranked), "another file with -o")
    if as_json:
        print_json(leaderboard_records(ranked))
        return
    print_tables(leaderboard_tables(ranked))
    echo(summary(ranked))
