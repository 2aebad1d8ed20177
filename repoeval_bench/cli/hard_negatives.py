"""`hard-negatives`: what a run loses where chunks that only look relevant are at its top."""

from __future__ import annotations

from pathlib import Path

import click

from repoeval_bench.analysis.pipeline.hard_negatives import hard_negatives
from repoeval_bench.cli.completion import run_argument
from repoeval_bench.cli.console import print_json, print_lines, print_tables
from repoeval_bench.cli.echo import echo
from repoeval_bench.cli.options import json_option, runs_folder
from repoeval_bench.cli.output import INPUT, plain, title_of
from repoeval_bench.report.retrieval import section_tables
from repoeval_bench.runs.naming import find_run

_FILE = "JSONL with query_id and chunk_id, hardest first; unnamed ones if not given."


@click.command("hard-negatives", short_help="Put hard negatives at a run's top and report the loss.")
@run_argument()
@click.option(
    "-n",
    "numbers",
    multiple=True,
    type=click.IntRange(min=1),
    default=(1, 3, 5),
    show_default=True,
    help="How many, at ranks 1..n; repeat it.",
)
@click.option("--negatives", type=INPUT, metavar="FILE", help=_FILE)
@runs_folder
@json_option
def hard_negatives_command(
    *, run: str, numbers: tuple[int, ...], negatives: Path | None, out: Path, as_json: bool
) -> None:
    """Insert hard negatives at ranks 1..n of every ranking of RUN, and print what each measure loses."""
    stored = find_run(run, out)
    found = hard_negatives(stored, numbers, negatives)
    if as_json:
        print_json(plain(found, "unknown"))
        return
    echo(title_of(stored))
    for section in found.sections:
        print_tables(section_tables(section))
        print_lines(f"note: {note}" for note in section.notes)
    if found.unknown:
        echo(f"note: rows of {negatives} of queries that this run does not score: {found.unknown}")
