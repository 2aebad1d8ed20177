"""`diff` and `segments`: for which queries a run is good, and where two runs differ."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from repoeval_bench.analysis.diff import diff
from repoeval_bench.analysis.segments import compare_segments, segment
from repoeval_bench.cli.console import print_json, print_lines, print_table
from repoeval_bench.cli.echo import echo
from repoeval_bench.cli.options import json_option, refuse_unread, runs_folder
from repoeval_bench.cli.output import plain
from repoeval_bench.report.diff import diff_summary, diff_table
from repoeval_bench.report.segments import (
    comparison_lines,
    comparison_table,
    segmentation_lines,
    segmentation_table,
)
from repoeval_bench.runs.naming import find_run, find_runs

_BY = "repo, file, or a fact such as is_method; may be repeated. By default all but file."

_measure = click.option(
    "--measure",
    "-m",
    metavar="NAME",
    help="The measure that is compared.  [default: the protocol's headline]",
)


@click.command("diff")
@click.argument("baseline", metavar="RUN")
@click.argument("treatment", metavar="RUN")
@_measure
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Number of queries to print.")
@runs_folder
@click.option("--json", "as_json", is_flag=True, help="Print every changed query as JSON, with its chunks.")
def diff_command(*, baseline: str, treatment: str, measure: str | None, limit: int, out: Path, as_json: bool) -> None:
    """List the queries whose score differs between two RUNs, the largest change first."""
    if as_json:
        refuse_unread({"limit"}, "with --json, which has every change")
    before, after = find_runs([baseline, treatment], out)
    changes = diff(before, after, measure)
    if as_json:
        print_json([asdict(change) for change in changes.changes])
        return
    echo(f"baseline   {changes.baseline}\ntreatment  {changes.treatment}")
    if changes.changes:
        print_table(diff_table(changes, limit))
    print_lines(diff_summary(changes, limit))


@click.command("segments")
@click.argument("run")
@click.argument("other", metavar="[RUN]", required=False)
@click.option("--by", multiple=True, metavar="FACT", help=_BY)
@_measure
@runs_folder
@json_option
def segments_command(
    *,
    run: str,
    other: str | None,
    by: tuple[str, ...],
    measure: str | None,
    out: Path,
    as_json: bool,
) -> None:
    """Score the queries of RUN by repository, file or fact; with a second RUN, print the paired differences."""
    if other is None:
        segmentation = segment(find_run(run, out), by=by, measure=measure)
        if as_json:
            print_json(plain(segmentation))
            return
        print_table(segmentation_table(segmentation))
        print_lines(segmentation_lines(segmentation))
        return
    compared = compare_segments(*find_runs([run, other], out), by=by, measure=measure)
    if as_json:
        print_json(plain(compared))
        return
    print_table(comparison_table(compared))
    print_lines(comparison_lines(compared))
