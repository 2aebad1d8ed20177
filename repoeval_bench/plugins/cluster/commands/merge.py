"""`cluster merge`: runs that were made in several folders, brought together."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from repoeval_bench.cli.console import print_json
from repoeval_bench.cli.echo import echo
from repoeval_bench.cli.options import json_option, out_option
from repoeval_bench.core.words import count
from repoeval_bench.plugins.cluster.merge import merge_all
from repoeval_bench.runs.parts import shown_results
from repoeval_bench.runs.results import results_at
from repoeval_bench.runs.store import check_writable


@click.command("merge")
@click.argument("folders", nargs=-1, required=True, metavar="FOLDER|URL...")
@out_option
@json_option
def merge_command(*, folders: tuple[str, ...], out: Path, as_json: bool) -> None:
    """Copy the runs of each folder, or store at a URL, into --out, after every file of every run has been read.

    Runs of one id must be the same run: where their files differ, times apart, nothing is merged and exit is 1.
    """
    check_writable(out)
    results_at(out).fetch()
    merged = merge_all(folders, out)
    if as_json:
        print_json(asdict(merged))
        return
    echo(f"{shown_results(out)}: {count(len(merged.copied), 'run')} copied, {len(merged.there)} were there already")
    for folder in merged.unfinished:
        echo(f"not a finished run, left out: {folder}")
