"""`eval`: run chunkers, store their runs, print their table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from repoeval_bench.cli.answer import print_answer, unmade_rows
from repoeval_bench.cli.console import print_json
from repoeval_bench.cli.echo import echo
from repoeval_bench.cli.options import details_option, requests_of, run_options
from repoeval_bench.dataset.shipped import PROTOCOLS, edition_of, shipped_pack
from repoeval_bench.runs.executors import ProcessPool
from repoeval_bench.runs.runner import Runner

if TYPE_CHECKING:
    from repoeval_bench.runs.view import RunView


@click.command("eval")
@run_options
@details_option
def evaluate_command(
    *,
    chunker: tuple[str, ...],
    out: Path,
    home: Path | None,
    as_json: bool,
    details: bool,
    **fields: Any,
) -> None:
    """Chunk, embed, retrieve and score with each --chunker, store the runs, and print the scores.

    With a shipped pack as --source and without --protocol, four protocols are run: uses, docstring, body and context.
    """
    requests = [
        request for protocol in _protocols(fields) for request in requests_of(chunker, fields | {"protocol": protocol})
    ]
    with ProcessPool() as pool:
        runner = Runner(requests, out=out, home=home, executor=pool)
        runs_by_setting = [[run for run in runner.run(setting, reuse=False) if run] for setting in runner.settings]
    if as_json:
        contents = [run.metrics.as_json() for runs in runs_by_setting for run in runs] + unmade_rows(runner)
        print_json(contents[0] if len(contents) == 1 else contents)
    else:
        _print(runner, runs_by_setting, out, details=details)
    runner.check()


def _print(runner: Runner, runs_by_setting: Sequence[Sequence[RunView]], out: Path, *, details: bool) -> None:
    """Print the runs of each setting, below the name of its protocol if there are several."""
    for number, (setting, runs) in enumerate(zip(runner.settings, runs_by_setting, strict=True)):
        if len(runs_by_setting) > 1:
            echo(("\n" if number else "") + f"protocol {setting.resolved_protocol().name}\n")
        skipped, failed = runner.skipped_of(setting), len(runner.failed_of(setting))
        print_answer(runs, out, details=details, failed=failed, skipped=skipped, remembered=False)


def _protocols(fields: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the protocol that was given; without one, all that suit a shipped pack, the deciding one first."""
    is_given = click.get_current_context().get_parameter_source("protocol") is not ParameterSource.DEFAULT
    shipped = edition_of(fields["pack"]) or shipped_pack(fields["source"])
    return (fields["protocol"],) if is_given or not shipped else PROTOCOLS
