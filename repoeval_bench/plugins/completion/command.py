"""`complete`: what a language model writes with what stored runs retrieved."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from repoeval_bench.cli.completion import run_argument
from repoeval_bench.cli.console import print_json, print_table
from repoeval_bench.cli.echo import echo
from repoeval_bench.cli.options import home_option, json_option, request_options, runs_folder, say
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.files import sha256_text
from repoeval_bench.plugins.completion.complete import check_request, complete, prompts_of
from repoeval_bench.plugins.completion.folder import base_run
from repoeval_bench.plugins.completion.request import CompletionRequest
from repoeval_bench.plugins.completion.table import completion_table
from repoeval_bench.runs.naming import find_run, find_runs
from repoeval_bench.runs.parts import shown_place
from repoeval_bench.runs.replay import benchmark_of
from repoeval_bench.runs.request import DataRequest

if TYPE_CHECKING:
    from repoeval_bench.core.benchmark import Benchmark
    from repoeval_bench.runs.view import RunView


@click.command("run")
@run_argument("runs", nargs=-1, required=True, metavar="RUN...")
@request_options(CompletionRequest)
@request_options(DataRequest, only=("source",))
@runs_folder
@home_option
@json_option
def run_command(
    *, runs: tuple[str, ...], source: str, out: Path, home: Path | None, as_json: bool, **asked: Any
) -> None:
    """Send the prompts of each RUN's tasks with what it retrieved, and store the scored completions as a run."""
    request = CompletionRequest.of(asked, typed=True)
    check_request(request)
    stored = list(map(base_run, find_runs(runs, out)))
    loaded: dict[tuple[str, str], Benchmark] = {}

    def data_of(run: RunView) -> Benchmark:
        key = (run.metrics.dataset.fingerprint, run.metrics.protocol)
        if key not in loaded:
            loaded[key] = benchmark_of(run, source, home=home, notify=say)
        return loaded[key]

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


@click.command("prompt")
@run_argument()
@click.option("--task", metavar="ID", help="Which task's prompt; the first if not given.")
@request_options(CompletionRequest, only=("shown", "budget"))
@request_options(DataRequest, only=("source",))
@runs_folder
@home_option
@json_option
def prompt_command(
    *, run: str, task: str | None, source: str, out: Path, home: Path | None, as_json: bool, **asked: Any
) -> None:
    """Print the prompt of one task of RUN; its tokens and SHA-256 on standard error."""
    request = CompletionRequest.of(asked, typed=True)
    if len(request.shown) > 1:
        raise UsageError("one prompt is printed; name one --context")
    base = base_run(find_run(run, out))
    prompted = prompts_of(base, benchmark_of(base, source, home=home, notify=say), request, request.shown[0])
    found = next((each for each in prompted if task in (None, each.task.task_id)), None)
    if found is None:
        raise UsageError(f"{base.run_id} has no task {task!r}; its first is {prompted[0].task.task_id}")
    digest = sha256_text(found.prompt.text)
    if as_json:
        print_json({"query_id": found.task.task_id, "prompt_sha256": digest, "prompt": found.prompt.text})
        return
    echo(found.prompt.text, nl=False)
    say(
        f"{found.task.task_id}: {found.prompt.tokens:,} tokens, {found.prompt.context_tokens:,} of them for "
        f"{len(found.prompt.shown)} fragments; {found.hidden} beside the hole passed over; SHA-256 {digest}"
    )
