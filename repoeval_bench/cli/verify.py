"""`verify`: whether a run folder is what it claims."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from repoeval_bench.api.verification import verify
from repoeval_bench.cli.completion import run_argument
from repoeval_bench.cli.console import print_json, print_paragraph, print_table
from repoeval_bench.cli.options import (
    allow_option,
    details_option,
    home_option,
    json_option,
    request_options,
    runs_folder,
    say,
)
from repoeval_bench.report.verification import verification_lines, verification_table
from repoeval_bench.runs.naming import find_run
from repoeval_bench.runs.request import DataRequest


@click.command("verify")
@run_argument()
@allow_option
@request_options(DataRequest, only=["source", "questions"])
@home_option
@runs_folder
@json_option
@details_option
def verify_command(*, run: str, out: Path, as_json: bool, details: bool, **asked: Any) -> int:
    """Compute chunks, qrels, ranking, measures, means and intervals of RUN again, from the data and the stored request.

    Exit 0 where all are what the folder says, 1 where a value differs or a file is broken, 2 where it cannot be tried.
    Nothing in the folder is believed but the texts that a model wrote, and the ranking where its model is not here. No
    code or server that the folder names is used without --allow.
    """
    found = verify(find_run(run, out), **asked, notify=say)
    if as_json:
        print_json({"holds": found.holds, **asdict(found)})
    else:
        for line in verification_lines(found):
            print_paragraph(line)
        if not found.holds:
            print_table(verification_table(found, every=details))
    return 0 if found.holds else 1
