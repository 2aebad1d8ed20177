"""`gate`: exit 1 where a run does not reach what a file demands."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from repoeval_bench import api
from repoeval_bench.analysis.comparison import check_comparable
from repoeval_bench.analysis.gate_file import read_gates
from repoeval_bench.analysis.gates import check_gates
from repoeval_bench.cli.console import print_table
from repoeval_bench.cli.options import say
from repoeval_bench.core.errors import ResultError, UsageError
from repoeval_bench.core.files import write_atomic
from repoeval_bench.report.gates import gate_junit, gate_markdown, gate_summary, gate_table
from repoeval_bench.runs.view import find_run

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("gate", short_help="Fail where a run does not reach what a file demands.")
@click.argument("run")
@click.option("--config", required=True, type=_FILE, metavar="FILE", help="The gate file (YAML).")
@click.option("--baseline", metavar="RUN", help="What drops are measured from; overrides the file's baseline.")
@click.option("--junit", type=_FILE, metavar="FILE", help="Write the results as JUnit XML too.")
@click.option("--github-summary", type=_FILE, envvar="GITHUB_STEP_SUMMARY", show_envvar=True, metavar="FILE",
              help="Append the results as Markdown to this file.")  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=api.RESULTS, show_default=True,
              help="Where run folders are.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON in place of the table.")
def gate_command(
    *,
    run: str,
    config: Path,
    baseline: str | None,
    junit: Path | None,
    github_summary: Path | None,
    out: Path,
    as_json: bool,
) -> int:
    """Hold RUN against the limits of a gate file: exit 0 where all are kept, 1 where one is not.

    Example: repoeval-bench gate RUN --config gates.yaml --junit gates.xml
    """
    limits = read_gates(config)
    stored = find_run(run, out)
    name = baseline or limits.baseline
    base = find_run(name, out) if name else None
    if base is not None:
        check_comparable(base, stored)
    try:
        results = check_gates(
            limits,
            stored.scores,
            base.scores if base else None,
            headline=stored.metrics.headline,
            latency=stored.timings.by_step(),
        )
    except UsageError as error:
        raise UsageError(f"{config}: {error}") from error
    try:
        if junit:
            write_atomic(junit, gate_junit(results, stored.run_id))
        if github_summary:
            with github_summary.open("a", encoding="utf-8") as stream:
                stream.write(gate_markdown(results, stored.run_id))
    except OSError as error:
        raise ResultError(f"the report cannot be written ({error}); choose another file") from error
    if as_json:
        click.echo(json.dumps([asdict(result) for result in results], indent=2, ensure_ascii=False))
    else:
        print_table(gate_table(results, stored.run_id))
        for result in results:
            if not result.passed:
                say(f"failed: {result.name} {result.rule}: {result.reason}")
        click.echo(gate_summary(results))
    return 0 if all(result.passed for result in results) else 1
