"""`compare`: which differences between runs are real."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from repoeval_bench import api
from repoeval_bench.cli.console import print_table
from repoeval_bench.cli.prepared import Prepared, print_scores, run_options
from repoeval_bench.errors import UsageError
from repoeval_bench.report.comparison import comparison_notes, comparison_records, comparison_tables
from repoeval_bench.store import StoredRun, find_run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@click.command("compare", short_help="Say which differences between runs are real.")
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@run_options
@click.option("--baseline", metavar="RUN|SPEC", help="What the others are compared with; the first one if not given.")
@click.option("--equivalence", type=float, metavar="MARGIN",
              help="Say `equal within MARGIN` where two one-sided tests show it.")  # fmt: skip
def compare_command(
    *,
    runs: tuple[str, ...],
    chunkers: tuple[str, ...],
    baseline: str | None,
    equivalence: float | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Compare stored RUNs (folders or ids) and --chunkers, query by query; runs that are missing are made first.

    Example: repoeval-bench compare --chunker fixed --chunker ast
    """
    stored = [find_run(name, options["out"]) for name in runs]
    if chunkers:
        prepared = Prepared.make(chunkers, options)
        stored += [prepared.evaluate(chunker, reuse=True) for chunker in prepared.chunkers]
    if len(stored) < 2:
        raise UsageError(f"{len(stored)} run to compare; give two or more RUNs or --chunker specs")
    base = _baseline(stored, baseline, options["out"])
    comparisons = api.compare(stored, baseline=base, metrics=options["metrics"], equivalence=equivalence)
    if as_json:
        click.echo(json.dumps(comparison_records(comparisons), indent=2, ensure_ascii=False))
        return
    if not any(run.metrics.get("imported") for run in stored):
        print_scores(stored)
        click.echo()
    for table in comparison_tables(comparisons):
        print_table(table)
    for line in comparison_notes(comparisons):
        click.echo(line)


def _baseline(stored: Sequence[StoredRun], name: str | None, out: Path) -> StoredRun:
    if name is None:
        return stored[0]
    for run in stored:
        spec = run.metrics["chunker"]
        if name in {spec, spec.partition(":")[0], run.run_id, str(run.folder)}:
            return run
    return find_run(name, out)
