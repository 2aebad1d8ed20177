"""`run`: a benchmark that a YAML file describes, every combination of it, with a comparison for each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from repoeval_bench.analysis.choosing import choose
from repoeval_bench.analysis.comparison import compare
from repoeval_bench.cli.answer import print_answer
from repoeval_bench.cli.console import print_json, print_lines
from repoeval_bench.cli.echo import echo
from repoeval_bench.cli.options import (
    details_option,
    execution_options,
    home_option,
    json_option,
    note,
    out_option,
    refuse_unread,
)
from repoeval_bench.core.words import count
from repoeval_bench.report.choosing import choice_record
from repoeval_bench.report.comparison import comparison_records
from repoeval_bench.runs.benchmark_file import Benchmarking, find_benchmark, read_benchmark
from repoeval_bench.runs.naming import remember_compared
from repoeval_bench.runs.parts import shown_results
from repoeval_bench.runs.request import ExecutionRequest, RunRequest, eval_line
from repoeval_bench.runs.runner import runner_on

if TYPE_CHECKING:
    from repoeval_bench.analysis.records import Comparison
    from repoeval_bench.runs.view import RunView


@click.command("run")
@click.argument("file")
@click.option("--source", metavar="SOURCE", help="Where the data comes from, instead of the file's source.")
@click.option("--embedder", metavar="SPEC", help="The embedder, instead of the file's.")
@out_option
@home_option
@click.option(
    "--dry-run",
    is_flag=True,
    help="Check the file and print the command of each run, without making them.",
)
@execution_options
@details_option
@json_option
def run_command(  # longer than 60 lines: each option has its line
    *,
    file: str,
    source: str | None,
    embedder: str | None,
    out: Path,
    home: Path | None,
    dry_run: bool,
    execution: ExecutionRequest,
    details: bool,
    as_json: bool,
) -> None:
    """Run the benchmark in FILE: each chunker under every combination of its protocols, retrievers and embedders.

    Chunkers of one combination are compared, unless the file says `compare: false`. Stored runs are reused.
    The whole file is checked before the first run; all mistakes are reported at once, with their lines.
    """
    if dry_run:
        refuse_unread({*ExecutionRequest.model_fields, "details"}, "with --dry-run, which makes no run")
    path = find_benchmark(file)
    overrides = {"source": source, "embedder": embedder}
    benchmarking = read_benchmark(path, {name: value for name, value in overrides.items() if value}, home)
    if dry_run:
        lines = [eval_line(request, out=out, home=home) for request in benchmarking.requests]
        if as_json:
            print_json(lines)
        else:
            print_lines(lines)
        return
    results: list[dict[str, Any]] = []
    with runner_on(execution, benchmarking.requests, out=out, home=home) as runner:
        for setting in runner.settings:
            results_or_none = runner.run(setting, reuse=True)
            runs = [run for run in results_or_none if run]
            # The first combination in the file is its subject, so `report` shows it.
            remembered = benchmarking.compares and setting == runner.settings[0] and remember_compared(runs, out)
            base = None if benchmarking.baseline is None else results_or_none[benchmarking.baseline]
            comparisons = _comparisons(benchmarking, setting, runs, base) if benchmarking.compares else []
            skipped, failed = runner.skipped_of(setting), runner.failed_of(setting)
            if as_json:
                record = _record(setting, runs, comparisons)
                results.append(record | {"left_out": skipped | failed})
            elif benchmarking.compares and runs:
                named = " · ".join(f"{option} {value}" for option, value in _named(setting).items())
                echo(f"{setting.pack} · {named}")
                print_answer(
                    [base, *runs] if base else runs,
                    out,
                    comparisons,
                    details=details,
                    failed=len(failed),
                    skipped=skipped,
                    remembered=remembered,
                )
                echo()
        if as_json:
            print_json(results)
        elif not benchmarking.compares:
            unmade = sum(len(runner.skipped_of(config) | runner.failed_of(config)) for config in runner.settings)
            skipped_note = f" ({unmade} left out)" if unmade else ""
            print_lines([f"{count(len(benchmarking.requests), 'run')}{skipped_note}, in {shown_results(out)}"])


def _comparisons(
    benchmarking: Benchmarking, setting: RunRequest, runs: Sequence[RunView], baseline: RunView | None
) -> list[Comparison]:
    """Compare the runs of a setting; nothing if the baseline could not be made."""
    if len(runs) < 2:
        return []
    if baseline is None and benchmarking.baseline is not None:
        note("note: the baseline has no run here, so nothing is compared with it")
        return []
    return compare(runs, baseline, measures=setting.measures, equivalence=benchmarking.equivalence)


def _named(setting: RunRequest) -> dict[str, str]:
    return setting.combination() | {"protocol": setting.resolved_protocol().name}


def _record(setting: RunRequest, runs: Sequence[RunView], comparisons: Sequence[Comparison]) -> dict[str, Any]:
    record: dict[str, Any] = {
        "pack": setting.pack,
        **_named(setting),
        "runs": [run.metrics.as_json() for run in runs],
        "comparisons": comparison_records(comparisons),
    }
    # Runs that were compared with a baseline get no choice: that is another question.
    choice = choose(runs, comparisons) if comparisons and not comparisons[0].against_baseline else None
    return record | ({"choice": choice and choice_record(choice)} if comparisons else {})
