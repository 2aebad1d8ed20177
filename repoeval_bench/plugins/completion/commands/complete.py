"""`complete run`: let a language model complete the tasks of stored runs with the retrieved chunks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import click

from repoeval_bench.cli.console import print_json, print_table
from repoeval_bench.cli.options import home_option, json_option, note, request_options, runs_folder
from repoeval_bench.metrics import TEXT_MEASURES
from repoeval_bench.plugins.completion.complete import CompletionRequest, check_request, complete
from repoeval_bench.report.table import Table, figures, make_table, spec_column
from repoeval_bench.report.text import heading
from repoeval_bench.runs.naming import find_runs
from repoeval_bench.runs.parts import shown_place
from repoeval_bench.runs.replay import benchmark_of
from repoeval_bench.runs.request import DataRequest

if TYPE_CHECKING:
    from repoeval_bench.core.benchmark import Benchmark
    from repoeval_bench.runs.view import RunView


@click.command("run")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@request_options(CompletionRequest)
@request_options(DataRequest, only=("source",))
@runs_folder
@home_option
@json_option
def run_command(
    *, runs: tuple[str, ...], source: str, out: Path, home: Path | None, as_json: bool, **fields: Any
) -> None:
    """Send each RUN's prompts with its retrieved chunks, and store the scored completions as a run."""
    request = CompletionRequest.of(fields, typed=True)
    check_request(request)
    stored = find_runs(runs, out)
    loaded: dict[tuple[str, str], Benchmark] = {}

    def data_of(run: RunView) -> Benchmark:
        key = (run.metrics.dataset.fingerprint, run.metrics.protocol)
        if key not in loaded:
            loaded[key] = benchmark_of(run, source, home=home)
        return loaded[key]

    done = []
    for context in request.shown:
        for run in stored:
            created = datetime.now(UTC).isoformat(timespec="seconds")
            done.append(complete(run, data_of(run), request, context, out=out, created=created, home=home))
            note(f"{run.run_id} · {context} -> {shown_place(done[-1].folder)}")
    if as_json:
        contents = [run.metrics.as_json() for run in done]
        print_json(contents[0] if len(contents) == 1 else contents)
    else:
        print_table(_table(done))


def _table(runs: Sequence[RunView]) -> Table:
    """Tabulate for each completed run the headline means, the fragments shown, and the answers that were cut off."""
    measures = [name for name in TEXT_MEASURES if any(name in run.metrics.micro for run in runs)]
    rows = []
    notes = []
    completions = [run.manifest.completion for run in runs if run.manifest.completion]
    for run, completed in zip(runs, completions, strict=True):
        means = run.metrics.headline_means
        shown = fmean(float(n or 0) for n in run.scores.facts["fragments"])
        scored = (len(run.scores), *(means.get(name) for name in measures), shown, completed.cut_off)
        rows.append((run.metrics.chunker, completed.context, *scored))
    if any(completed.cut_off for completed in completions):
        notes.append("cut off: answers that ended at the limit of tokens; max_tokens=N in the model's spec gives more")
    columns = [
        spec_column("chunker"),
        spec_column("context"),
        *figures("tasks", number=","),
        *figures(*map(heading, measures)),
        *figures("fragments", number=".1f"),
        *figures("cut off", number=","),
    ]
    first = runs[0].metrics
    title = f"{completions[0].model} · {first.dataset.label} · {first.headline} means"
    return make_table(columns, rows, title=title, notes=dict.fromkeys(notes))
