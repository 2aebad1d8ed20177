"""`runs`, `diff`, `segments` and `verify`: the stored runs, and what is asked of one or two of them."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from repoeval_bench.analysis.comparable import headline_measure
from repoeval_bench.analysis.diff import diff
from repoeval_bench.analysis.segments import compare_segments, segment
from repoeval_bench.api.stored_runs import verify
from repoeval_bench.cli import options
from repoeval_bench.cli.console import echo, print_json, print_lines, print_paragraph, print_table
from repoeval_bench.cli.options import refuse_unread
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.words import count
from repoeval_bench.report import diff as tables
from repoeval_bench.report.scores import unanswered_notes
from repoeval_bench.report.table import figures, make_table, spec_column
from repoeval_bench.report.text import heading
from repoeval_bench.runs.naming import find_run, find_runs, stored_runs, unfinished_runs
from repoeval_bench.runs.request import DataRequest
from repoeval_bench.runs.view import RunView


@click.command("runs")
@options.runs_folder
@options.json_option
def runs_command(*, out: Path, as_json: bool) -> None:
    """List the runs in --out, the newest first.

    A RUN in any command is a folder, an id, or a part of an id that no other run has. It is also a chunker (ast,
    fixed:max_nws=800) or an age: latest, @1, @2, … A stored run that `eval` uses again keeps its age.

    Runs that are unfinished or broken are named below the table. To remove a run, delete its folder.
    """
    runs = stored_runs(out)
    unfinished = unfinished_runs(out, runs)
    if not runs and not unfinished:
        raise UsageError(f"{out} has no runs; make one with repoeval-bench eval")
    rows = [{"run": f"@{number}", **_row(run, unfinished)} for number, run in enumerate(runs, start=1)]
    listed = {run.run_id for run in runs}
    rows += [{"run": "", **_unfinished_row(name, "", why)} for name, why in unfinished.items() if name not in listed]
    if as_json:
        print_json(rows)
        return
    columns = [*map(spec_column, ("run", "id")), *figures("score", missing=""), *map(spec_column, ("measure", "made"))]
    shown = [
        [row["run"], row["run_id"], row["score"], heading(row["measure"] or "nothing scored"), row["created"]]
        for row in rows
    ]
    notes = [f"{count(len(unfinished), 'run')} not finished, broken, or of another version:"] if unfinished else []
    notes = [line for row in rows for line in row.get("notes", ())] + notes
    print_table(make_table(columns, shown, notes=[*notes, *(f"  {name}: {why}" for name, why in unfinished.items())]))


def _unfinished_row(run_id: str, created: str, why: str) -> dict[str, Any]:
    return {"run_id": run_id, "measure": "unfinished", "score": None, "created": created, "unfinished": why}


def _row(run: RunView, unfinished: Mapping[str, str]) -> dict[str, Any]:
    if run.run_id in unfinished:
        return _unfinished_row(run.run_id, run.manifest.created, unfinished[run.run_id])
    metrics = run.metrics
    # An imported run has no protocol with a headline: like other commands, this takes the first measure of its scores.
    measure = headline_measure([run]) if metrics.micro else None
    return {
        "run_id": run.run_id,
        "chunker": metrics.chunker,
        "protocol": metrics.protocol,
        "retriever": metrics.retriever,
        "embedder": metrics.embedder,
        "data": metrics.dataset.label,
        "measure": measure,
        "score": metrics.over(metrics.headline).get(measure) if measure else None,
        "notes": unanswered_notes([run]) if measure else [],
        "created": run.manifest.created,
    }


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
@options.runs_folder
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
        print_table(tables.diff_table(changes, limit))
    print_lines(tables.diff_summary(changes, limit))


@click.command("segments")
@click.argument("run")
@click.argument("other", metavar="[RUN]", required=False)
@click.option("--by", multiple=True, metavar="FACT", help=_BY)
@_measure
@options.runs_folder
@options.json_option
def segments_command(
    *,
    run: str,
    other: str | None,
    by: tuple[str, ...],
    measure: str | None,
    out: Path,
    as_json: bool,
) -> None:
    """Score RUN separately for each repository, file or property of the queries, such as is_method (see `list facts`).

    With a second RUN, print the paired differences.
    """
    if other is None:
        segmentation = segment(find_run(run, out), by=by, measure=measure)
        if as_json:
            print_json(options.plain(segmentation))
            return
        print_table(tables.segmentation_table(segmentation))
        few = tables.few_note(segmentation.segments, segmentation.clustered_by)
        print_lines(filter(None, [few, tables.FACTS_NOTE]))
        return
    compared = compare_segments(*find_runs([run, other], out), by=by, measure=measure)
    if as_json:
        print_json(options.plain(compared))
        return
    print_table(tables.comparison_table(compared))
    print_lines(tables.comparison_lines(compared))


@click.command("verify")
@click.argument("run")
@options.allow_option
@options.request_options(DataRequest, only=["source", "questions"])
@options.home_option
@options.runs_folder
@options.json_option
def verify_command(*, run: str, out: Path, as_json: bool, **data: Any) -> int:
    """Make RUN again from the data, and compare its ranking, judgements, scores and id.

    Exit 0 if all are as stored, 1 if one differs, with the ten largest differences. Code, models and servers that the
    folder names are used only with --allow.
    """
    verification = verify(find_run(run, out), **data)
    if as_json:
        print_json({"holds": verification.holds, **asdict(verification)})
    else:
        for line in tables.verification_lines(verification):
            print_paragraph(line)
        if not verification.holds:
            print_table(tables.verification_table(verification))
    return 0 if verification.holds else 1
