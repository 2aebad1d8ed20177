"""`runs`: the stored runs, the newest first, with the names by which commands find them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from repoeval_bench.analysis.comparable import headline_measure
from repoeval_bench.cli.cache import show_size
from repoeval_bench.cli.console import print_json, print_table
from repoeval_bench.cli.echo import echo
from repoeval_bench.cli.options import json_option, note, refuse_unread, runs_folder
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.files import bytes_in
from repoeval_bench.core.words import count, few
from repoeval_bench.report.scores import unanswered_notes
from repoeval_bench.report.table import figures, make_table, spec_column
from repoeval_bench.report.text import heading
from repoeval_bench.runs.naming import stored_runs, unfinished_runs
from repoeval_bench.runs.pruning import prunable, remove

if TYPE_CHECKING:
    from repoeval_bench.runs.view import RunView


@click.command("runs")
@click.option(
    "--prune",
    multiple=True,
    metavar="all|unfinished|RUN",
    help="Remove all runs and built packs, the runs that no command can read, or one run; repeat it.",
)
@click.option("--dry-run", is_flag=True, help="With --prune: name what would be removed, and remove nothing.")
@click.option("--yes", is_flag=True, help="With --prune: remove without asking.")
@runs_folder
@json_option
def runs_command(*, out: Path, prune: tuple[str, ...], dry_run: bool, yes: bool, as_json: bool) -> None:
    """List the runs in --out, the newest first; or remove some of them.

    A RUN in any command is a folder, an id, or a part of an id that no other run has. It is also a chunker (ast,
    fixed:max_nws=800) or an age: latest, @1, @2, …

    Runs that are unfinished or broken are named below the table. --prune asks first, and removes only run folders and
    packs that recommend built.
    """
    if prune:
        _prune(out, prune, dry_run=dry_run, yes=yes, as_json=as_json)
        return
    refuse_unread({"dry_run", "yes"}, "without --prune")
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


def _prune(out: Path, names: Sequence[str], *, dry_run: bool, yes: bool, as_json: bool) -> None:
    folders = prunable(out, names)
    sizes = [bytes_in(folder) for folder in folders]
    what = f"{count(len(folders), 'folder')} of {out}, {show_size(bytes_in(*folders))}"
    if folders and not dry_run:
        if not yes and not sys.stdin.isatty():
            raise UsageError("--prune needs an answer, and standard input is no terminal; give --yes, or --dry-run")
        if not yes:
            note(few([folder.name for folder in folders], 10))
            if not click.confirm(f"remove {what}?", err=True):
                raise UsageError("nothing was removed")
        remove(folders, out)
    if as_json:
        rows = [{"folder": str(folder), "bytes": size} for folder, size in zip(folders, sizes, strict=True)]
        print_json({"removed": not dry_run, "folders": rows})
        return
    for folder, size in zip(folders, sizes, strict=True):
        echo(f"{folder}: {show_size(size)}")
    echo(f"{'would remove' if dry_run else 'removed'} {what}")


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
