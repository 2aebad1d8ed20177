"""`lab sensitivity`: count in how many settings of a file a verdict on two chunkers holds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from repoeval_bench.cli.console import print_json, print_table
from repoeval_bench.cli.options import execution_options, home_option, json_option, out_option
from repoeval_bench.core.errors import UsageError
from repoeval_bench.plugins.lab.sensitivity import Cell, cells, tallies
from repoeval_bench.report.table import Table, figures, make_table, spec_column
from repoeval_bench.runs.benchmark_file import find_benchmark, read_benchmark
from repoeval_bench.runs.execution import runner_on

if TYPE_CHECKING:
    from repoeval_bench.runs.request import ExecutionRequest


@click.command("sensitivity")
@click.argument("file", default="sensitivity")
@click.option("--source", metavar="SOURCE", help="Where the data comes from, instead of the file's source.")
@out_option
@home_option
@execution_options
@json_option
def sensitivity_command(
    *, file: str, source: str | None, out: Path, home: Path | None, execution: ExecutionRequest, as_json: bool
) -> None:
    """Run every setting in FILE, a YAML file as `run` reads it, and count those in which one chunker beats another.

    Without FILE it is the one that ships. Stored runs are reused.
    """
    benchmarking = read_benchmark(find_benchmark(file), {"source": source} if source else {}, home)
    if len({request.chunker for request in benchmarking.requests}) < 2:
        raise UsageError(f"{file} has one chunker; name two or more to compare")
    with runner_on(execution, benchmarking.requests, out=out, home=home) as runner:
        counted = list(cells(runner, benchmarking.requests))
        if as_json:
            print_json([cell.as_dict() for cell in counted])
        else:
            print_table(sensitivity_table(counted))


def sensitivity_table(counted: Sequence[Cell]) -> Table:
    """Tabulate the number of cells by pair of chunkers, sizes and measure."""
    verdicts = ("wins", "loses", "undecided")
    rows = [(*key, tally.total(), *(tally[verdict] for verdict in verdicts)) for key, tally in tallies(counted).items()]
    names = [spec_column(name, 34) for name in ("chunker", "against", "sizes", "measure")]
    return make_table(
        [*names, *figures("settings", *verdicts, number="d")],
        rows,
        title="settings in which the chunker wins, loses, or is undecided",
        notes=["a win is significant (Holm) within its setting, as in `compare`"],
    )
