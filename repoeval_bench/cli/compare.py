"""`compare`: which differences between runs are significant."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from repoeval_bench.cli import options
from repoeval_bench.cli.options import refuse_unread
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.words import count
from repoeval_bench.runs.executors import start_server
from repoeval_bench.runs.request import ComparisonRequest, ExecutionRequest, RunRequest

if TYPE_CHECKING:
    from repoeval_bench.runs.view import RunView


@click.command("compare")
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@options.run_options
@options.request_options(ComparisonRequest)
@options.execution_options
@options.details_option
@options.name_option
@options.summary_option
def compare_command(  # longer than 60 lines: each option has its line
    *,
    runs: tuple[str, ...],
    chunker: tuple[str, ...],
    baseline: str | None,
    equivalence: float | None,
    execution: ExecutionRequest,
    out: Path,
    home: Path | None,
    as_json: bool,
    details: bool,
    names: tuple[str, ...],
    summary: Path | None,
    **fields: Any,
) -> None:
    """Compare stored RUNs and --chunkers, query by query; runs that are missing are made first.

    A RUN is a folder, an id, a chunker, `latest`, or `@2` (the run before the latest).

    Without --baseline every pair is tested. The table shows each run minus the best; --details shows each run minus
    every earlier one.
    """
    # If every chunker has some run in `out`, all runs may be stored already, and no worker is needed.
    folders = [path.name for path in out.iterdir()] if out.is_dir() else []
    missing = [spec for spec in chunker if not any(name.startswith(spec.partition(":")[0]) for name in folders)]
    if len(chunker) > 1 and missing and fields["limit"] is None and execution.executor is None:
        start_server(chunker)
    # These take as long to import as the server to start, so they are imported while it does.
    from repoeval_bench.analysis.comparison import check_margin, compare
    from repoeval_bench.analysis.verdicts import choose
    from repoeval_bench.cli.console import print_json
    from repoeval_bench.cli.evaluate import answer_to, print_answer
    from repoeval_bench.report.comparison import ComparedRow, answer_markdown
    from repoeval_bench.report.scores import unanswered_notes
    from repoeval_bench.runs.naming import find_runs, full_spec, is_chunker, remember_compared
    from repoeval_bench.runs.results import results_at
    from repoeval_bench.runs.runner import runner_on

    check_margin(equivalence)
    if not chunker:
        of_runs = {*RunRequest.model_fields, *ExecutionRequest.model_fields, "home"} - {"measures"}
        refuse_unread(of_runs, "without --chunker: stored runs are compared as they are", "or add --chunker")
    if runs or baseline:
        results_at(out).fetch()
    stored = find_runs(runs, out)
    # Refused before the first run: making one can take minutes.
    refuse_fewer_than_two(len(stored) + len(chunker) + bool(baseline))
    if baseline and not any(is_chunker(baseline, full_spec(spec) or spec) for spec in chunker):
        baseline_of(stored, baseline, out)
    with ExitStack() as stack:
        skipped, failed = dict[str, str](), dict[str, str]()
        if chunker:
            runner = stack.enter_context(runner_on(execution, options.requests_of(chunker, fields), out=out, home=home))
            (setting,) = runner.settings
            stored += [run for run in runner.run(setting, reuse=True) if run]
            skipped, failed = runner.skipped_of(setting), runner.failed_of(setting)
        base = baseline_of(stored, baseline, out)
        n_runs = len(stored) + (base is not None and base not in stored)
        if n_runs < 2 and chunker:
            runner.check()  # its error names the runs that were not made
        refuse_fewer_than_two(n_runs)
        stored, base = labelled(stored, base, names, out)
        comparisons = compare(stored, base, measures=fields["measures"], equivalence=equivalence)
        # The answer is also about a baseline that is none of the runs.
        compared = stored if base is None or base in stored else [base, *stored]
        remembered = remember_compared(compared, out)
        if summary:
            options.append_summary(
                summary,
                answer_markdown(*answer_to(compared, comparisons, failed=len(failed)), skipped),
            )
        if as_json:
            notes = unanswered_notes(compared)
            record = ComparedRow(
                comparisons=comparisons,
                choice=choose(stored, comparisons) if base is None else None,
                left_out=skipped | failed,
                **({"notes": notes} if notes else {}),
            )
            print_json(record.as_json())
        else:
            about: dict[str, Any] = {"skipped": skipped, "failed": failed, "details": details}
            print_answer(stored, out, comparisons, base, **about, remembered=remembered)


def refuse_fewer_than_two(n_runs: int) -> None:
    """Raise UsageError where nothing is left to compare a run with."""
    if n_runs < 2:
        raise UsageError(f"{count(n_runs, 'run')} to compare; give two or more RUNs or --chunker specs")


def baseline_of(stored: Sequence[RunView], name: str | None, out: Path) -> RunView | None:
    """Return the run that `name` means: a run's id or folder, or a chunker spec; None for None.

    A run of exactly this spec, with defaults for the options that it leaves open, comes before a run with other values
    for these. A spec that fits two runs is a UsageError.
    """
    return None if name is None else _named(stored, name, out, f"--baseline {name}")


def labelled(
    stored: Sequence[RunView], base: RunView | None, names: Sequence[str], out: Path
) -> tuple[list[RunView], RunView | None]:
    """Return runs and baseline with the labels of `--name`; UsageError for a label or a run that is given twice."""
    labels: dict[Path, str] = {}
    runs = [*stored, *([base] if base and base not in stored else [])]
    for text in names:
        label, _, target = (piece.strip() for piece in text.partition("="))
        if not label or not target:
            raise UsageError(f"--name {text!r} is not LABEL=RUN; write it as mine=ast")
        run = _named(runs, target, out, f"--name {text}")
        if run not in runs:
            raise UsageError(f"--name {text}: {run.run_id} is none of the runs shown; name one of these")
        if run.folder in labels or label in labels.values():
            raise UsageError(f"--name {text}: {label!r} or {run.run_id} already has a name; give each run one label")
        labels[run.folder] = label
    by_folder = {run.folder: replace(run, label=labels[run.folder]) if run.folder in labels else run for run in runs}
    return [by_folder[run.folder] for run in stored], base and by_folder[base.folder]


def _named(stored: Sequence[RunView], name: str, out: Path, option: str) -> RunView:
    from repoeval_bench.runs.naming import find_run, full_spec, is_chunker

    exact = {name, full_spec(name)}
    matches = [run for run in stored if exact & {run.run_id, str(run.folder), run.metrics.chunker}]
    matches = matches or [run for run in stored if is_chunker(name, run.metrics.chunker)]
    if len(matches) > 1:
        raise UsageError(f"{option} fits {', '.join(run.metrics.chunker for run in matches)}; name one")
    return matches[0] if matches else find_run(name, out)
