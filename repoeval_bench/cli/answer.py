"""Printing the answer: the verdict, one table and at most three notes; with --details everything."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from repoeval_bench.analysis.comparison import compare
from repoeval_bench.cli.console import print_lines, print_paragraph, print_table, print_tables
from repoeval_bench.cli.echo import echo
from repoeval_bench.report.answer import MOST_NOTES, answer_table, skipped_notes
from repoeval_bench.report.comparison import comparison_tables
from repoeval_bench.report.scores import run_notes, score_tables
from repoeval_bench.report.verdict import WordedVerdict, verdict
from repoeval_bench.runs.parts import RESULTS, shown_place
from repoeval_bench.runs.request import shell_line

if TYPE_CHECKING:
    from repoeval_bench.analysis.records import Comparison
    from repoeval_bench.runs.runner import Runner
    from repoeval_bench.runs.view import RunView


def answer_to(
    runs: Sequence[RunView],
    comparisons: Sequence[Comparison] = (),
    *,
    failed: int = 0,
) -> tuple[list[RunView], WordedVerdict]:
    """Return the runs without duplicates, and the verdict on them; without `comparisons` every pair is compared.

    `failed`: how many further runs could not be made.
    """
    different = list({run.folder: run for run in runs}.values())
    comparisons = comparisons or (compare(different) if len(different) > 1 else ())
    return different, verdict(different, comparisons, failed=failed)


def print_answer(
    runs: Sequence[RunView],
    out: Path,
    comparisons: Sequence[Comparison] = (),
    *,
    details: bool = False,
    failed: int = 0,
    skipped: Iterable[str] = (),
    remembered: bool = True,
) -> None:
    """Print the verdict on the runs, one table, notes with the `skipped` chunkers, and where the runs are stored.

    `details`: every note, and the tables of scores and `comparisons`. `remembered`: `report` finds these runs without
    their names. `failed` is as in `answer_to`.
    """
    different, worded = answer_to(runs, comparisons, failed=failed)
    print_paragraph(worded.text)
    echo()
    table = answer_table(different, worded, skipped)
    print_table(replace(table, notes=()))
    # The notes on single runs follow with the tables of their scores.
    for note in [*skipped_notes(skipped), *worded.notes, *worded.tests] if details else table.notes[:MOST_NOTES]:
        print_paragraph(note, indent="  ")
    if table.notes:  # a table without notes ends in a blank line
        echo()
    if details:
        scored = [run for run in different if not run.metrics.imported]  # an imported run has no table of its own
        print_tables(score_tables(scored) if len(different) > 1 else [])
        print_tables(comparison_tables(comparisons))
        print_lines(run_notes(scored) if len(different) == 1 else [])
        echo()
    # `report` finds runs outside `out` by their folders alone.
    here = [run for run in different if run.folder.resolve().parent == out.resolve()]
    names = [run.run_id if run in here else str(run.folder) for run in different]
    report = shell_line(["report", *(() if here and remembered else names)], out=out if here else RESULTS)
    echo("stored in " + "\n          ".join(shown_place(run.folder) for run in different))
    echo(f"{'' if details else 'for every measure, test and note add --details; '}for a page: {report}")


def unmade_rows(runner: Runner) -> list[dict[str, str]]:
    """Return a JSON row for each skipped chunker, and for each run that failed."""
    skipped = [{"chunker": name, "left_out": reason} for name, reason in runner.skipped.items()]
    return skipped + [
        {"chunker": name, "protocol": setting.resolved_protocol().name, "left_out": str(error)}
        for setting, errors in runner.failed.items()
        for name, error in errors.items()
    ]
