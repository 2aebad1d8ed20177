"""`verify`: check that a run folder is what it claims."""

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
def verify_command(*, run: str, out: Path, as_json: bool, details: bool, **data: Any) -> int:
    """Compute chunks, qrels, ranking, measures, means and intervals of RUN again, from the data and the stored request.

    Exit 0 if all values are as stored, 1 if one differs or a file is broken, 2 if they cannot be computed. Two things
    are taken from the folder as they are: texts that a model wrote, and the ranking if its model is not installed. Code
    and servers that the folder names are used only with --allow.
    """
    verification = verify(find_run(run, out), **data)
    if as_json:
        print_json({"holds": verification.holds, **asdict(verification)})
    else:
        for line in verification_lines(verification):
            print_paragraph(line)
        if not verification.holds:
            print_table(verification_table(verification, every=details))
    return 0 if verification.holds else 1
