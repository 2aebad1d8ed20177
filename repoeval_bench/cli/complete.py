"""`complete`: what a language model writes with what stored runs retrieved."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from repoeval_bench.cli.completion import run_argument
from repoeval_bench.cli.console import print_json, print_table
from repoeval_bench.cli.echo import echo
from repoeval_bench.cli.options import home_option, json_option, refuse_unread, request_options, runs_folder, say
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.files import sha256_text
from repoeval_bench.report.completion import completion_table
from repoeval_bench.runs.completion.complete import check_request, complete, prompts_of
from repoeval_bench.runs.completion.folder import base_run
from repoeval_bench.runs.naming import find_runs
from repoeval_bench.runs.parts import shown_place
from repoeval_bench.runs.replay import benchmark_of
from repoeval_bench.runs.request import CompletionRequest, DataRequest

if TYPE_CHECKING:
    from repoeval_bench.core.benchmark import Benchmark
    from repoeval_bench.runs.view import RunView


@click.command("complete")
@run_argument("runs", nargs=-1, required=True, metavar="RUN...")
@request_options(CompletionRequest)
@click.option("--show", is_flag=True, help="Print one prompt and its hash, and ask no server.")
@click.option("--task", metavar="ID", help="Which task's prompt --show prints; the first if not given.")
@request_options(DataRequest, only=("source",))
@runs_folder
@home_option
@json_option
def complete_command(
    *,
    runs: tuple[str, ...],
    show: bool,
    task: str | None,
    source: str,
    out: Path,
    home: Path | None,
    as_json: bool,
    **asked: Any,
) -> None:
    """Send the prompts of each RUN's tasks with what it retrieved, and store the scored completions as a run."""
    request = CompletionRequest.of(asked, typed=True)
    _check_read(runs, request, show=show)
    if not show:
        check_request(request)
    stored = list(map(base_run, find_runs(runs, out)))
    loaded: dict[tuple[str, str], Benchmark] = {}

    def data_of(run: RunView) -> Benchmark:
        key = (run.metrics.dataset.fingerprint, run.metrics.protocol)
        if key not in loaded:
            loaded[key] = benchmark_of(run, source, home=home, notify=say)
        return loaded[key]

    if show:
        _show(stored[0], data_of(stored[0]), request, task, as_json=as_json)
        return
    done = []
    for context in request.shown:
        for run in stored:
            created = datetime.now(UTC).isoformat(timespec="seconds")
            completed = complete(run, data_of(run), request, context, out=out, created=created, home=home, notify=say)
            done.append(completed)
            say(f"{run.run_id} · {context} -> {shown_place(done[-1].folder)}")
    if as_json:
        contents = [run.metrics.as_json() for run in done]
        print_json(contents[0] if len(contents) == 1 else contents)
    else:
        print_table(completion_table(done))


_SHOWN = frozenset({"shown", "budget"})
"""Fields of a request that decide a prompt."""


def _check_read(runs: Sequence[str], request: CompletionRequest, *, show: bool) -> None:
    """A UsageError where something is given that is not read."""
    if show:
        refuse_unread(
            set(CompletionRequest.model_fields) - _SHOWN,
            "with --show, which prints a prompt and asks no server",
        )
        if len(runs) > 1 or len(request.shown) > 1:
            raise UsageError("--show prints one prompt; name one RUN and one --context")
        return
    refuse_unread({"task"}, "without --show", "or add --show")


def _show(run: RunView, benchmark: Benchmark, request: CompletionRequest, task: str | None, *, as_json: bool) -> None:
    prompted = prompts_of(run, benchmark, request, request.shown[0])
    found = next((each for each in prompted if task in (None, each.task.task_id)), None)
    if found is None:
        raise UsageError(f"{run.run_id} has no task {task!r}; its first is {prompted[0].task.task_id}")
    digest = sha256_text(found.prompt.text)
    if as_json:
        print_json({"query_id": found.task.task_id, "prompt_sha256": digest, "prompt": found.prompt.text})
        return
    echo(found.prompt.text, nl=False)
    say(
        f"{found.task.task_id}: {found.prompt.tokens:,} tokens, {found.prompt.context_tokens:,} of them for "
        f"{len(found.prompt.shown)} fragments; {found.hidden} beside the hole passed over; SHA-256 {digest}"
    )
