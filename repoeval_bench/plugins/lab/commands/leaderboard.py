"""`lab leaderboard` and `lab add`: rank the runs of a folder, and add verified runs to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from repoeval_bench.cli.console import print_json, print_tables
from repoeval_bench.cli.echo import echo
from repoeval_bench.cli.options import (
    allow_option,
    home_option,
    json_option,
    note,
    out_option,
    request_options,
    runs_folder,
)
from repoeval_bench.cli.output import INPUT, OUTPUT_FOLDER
from repoeval_bench.core.errors import UsageError
from repoeval_bench.plugins.lab.leaderboard import leaderboards, run_folders
from repoeval_bench.runs.parts import shown_place
from repoeval_bench.runs.request import DataRequest


@click.command("leaderboard")
@click.option(
    "--site",
    type=OUTPUT_FOLDER,
    metavar="FOLDER",
    help="Write HTML pages that need no network, with all data as CSV and JSON.",
)
@click.option(
    "--updates",
    type=INPUT,
    metavar="FILE",
    help="With --site: the costs of updates, as `lab stability OLD NEW --json` printed it.",
)
@runs_folder
@json_option
def leaderboard_command(*, out: Path, site: Path | None, updates: Path | None, as_json: bool) -> None:
    """Rank the runs in --out by protocol and data, never across them.

    Unfinished folders, and runs of another version, are named with the reason. On the pages of --site each retriever
    has a leaderboard of its own, so that they rank chunkers only.
    """
    from repoeval_bench.plugins.lab.report.leaderboard import leaderboard_records, leaderboard_tables, summary

    if site is not None:
        if as_json:
            raise UsageError("--site writes its own JSON; leave out --json")
        _write_site(out, site, updates)
        return
    if updates is not None:
        raise UsageError("--updates is a column of the pages; name their folder with --site")
    ranked = leaderboards(run_folders(out))
    if as_json:
        print_json(leaderboard_records(ranked))
        return
    print_tables(leaderboard_tables(ranked))
    echo(summary(ranked))


@click.command("add")
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FOLDER...")
@allow_option
@request_options(DataRequest, only=["source", "questions"])
@out_option
@home_option
def add_command(*, folders: tuple[Path, ...], out: Path, **data: Any) -> None:
    """Compute run folders of other machines again, as verify does, and copy them to the runs of --out.

    A run that is not what it claims is refused with the values that differ (exit 1). A run that cannot be computed
    again (it was imported, or its code is not allowed) is added as not verified.
    """
    from repoeval_bench.plugins.lab.adding import add_run, check_folders
    from repoeval_bench.plugins.lab.report.leaderboard import verification_words
    from repoeval_bench.plugins.lab.verified import verification_of

    check_folders(folders)
    for folder in folders:
        run = add_run(folder, out, **data)
        echo(f"added {shown_place(run.folder)}: {verification_words(verification_of(run.folder))}")


def _write_site(results: Path, folder: Path, updates: Path | None) -> None:
    from repoeval_bench.plugins.lab.report.leaderboard import summary
    from repoeval_bench.plugins.lab.report.site import write_site
    from repoeval_bench.report.html.assets import check_page

    check_page("--site")
    ranked = leaderboards(run_folders(results), apart=True)
    written = write_site(ranked, folder, updates=updates)
    note(f"wrote {written[0]} and {len(written) - 1} more files: {summary(ranked)}")
