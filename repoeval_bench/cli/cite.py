"""`cite`: what a paper says of runs."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import click

from repoeval_bench.analysis.comparable import check_comparable
from repoeval_bench.cli.completion import run_argument
from repoeval_bench.cli.echo import echo
from repoeval_bench.cli.options import runs_folder
from repoeval_bench.report.citation import citation
from repoeval_bench.runs.naming import find_runs


@click.command("cite")
@run_argument("runs", nargs=-1, required=True, metavar="RUN...")
@runs_folder
def cite_command(*, runs: tuple[str, ...], out: Path) -> None:
    """Print a methods paragraph and the BibTeX entries that it cites, in LaTeX, for RUNs of one protocol and data.

    Every fact is from the runs' manifests: data and its fingerprint, chunker, retriever, model, what completed the
    tasks, protocol, measures, test and versions. What differs between runs is stated of each.
    """
    stored = find_runs(dict.fromkeys(runs), out)
    check_comparable(pairwise(stored))
    echo(citation([run.manifest for run in stored]), nl=False)
