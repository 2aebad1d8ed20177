"""`gate`: exit 1 if a run does not meet the limits of a file."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from repoeval_bench.analysis.gates import gate
from repoeval_bench.api.stored_runs import read_gates
from repoeval_bench.cli.completion import run_argument
from repoeval_bench.cli.console import print_json, print_table
from repoeval_bench.cli.echo import echo
from repoeval_bench.cli.options import json_option, note, runs_folder
from repoeval_bench.cli.output import INPUT, OUTPUT_XML, append_summary, summary_option
from repoeval_bench.core.files import write_named
from repoeval_bench.report.gates import gate_junit, gate_markdown, gate_summary, gate_table, gate_title
from repoeval_bench.runs.naming import find_run


@click.command("gate")
@run_argument()
@click.option("--config", required=True, type=INPUT, metavar="FILE", help="The gate file (YAML).")
@click.option("--baseline", metavar="RUN", help="Measure drops from this run, instead of the file's baseline.")
@click.option("--junit", type=OUTPUT_XML, metavar="FILE", help="Write the results as JUnit XML too.")
@summary_option
@runs_folder
@json_option
def gate_command(
    *,
    run: str,
    config: Path,
    baseline: str | None,
    junit: Path | None,
    summary: Path | None,
    out: Path,
    as_json: bool,
) -> int:
    """Check RUN against the limits of a gate file: exit 0 if all are met, 1 if one is not."""
    limits, stored = read_gates(config), find_run(run, out)
    name = baseline or limits.baseline
    base = find_run(name, out) if name else None
    results = gate(stored, limits, base)
    if base is not None and base.folder == stored.folder:
        note(f"note: {stored.run_id} is its own baseline, so it drops by nothing")
    if junit:
        write_named(junit, gate_junit(results, stored.run_id))
    if summary:
        append_summary(summary, gate_markdown(results, stored.run_id))
    if as_json:
        print_json([asdict(result) for result in results])
    else:
        print_table(gate_table(results, stored.run_id))
        for result in results:
            if not result.passed:
                note(f"failed: {gate_title(result)} {result.rule}: {result.reason}")
        echo(gate_summary(results))
    return 0 if all(result.passed for result in results) else 1
