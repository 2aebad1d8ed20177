"""`verify`: run a stored request again, and compare."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from repoeval_bench.api.stored_runs import verify
from repoeval_bench.cli.console import print_json, print_paragraph, print_table
from repoeval_bench.cli.options import allow_option, home_option, json_option, request_options, runs_folder
from repoeval_bench.report.diff import verification_lines, verification_table
from repoeval_bench.runs.naming import find_run
from repoeval_bench.runs.request import DataRequest


@click.command("verify")
@click.argument("run")
@allow_option
@request_options(DataRequest, only=["source", "questions"])
@home_option
@runs_folder
@json_option
def verify_command(*, run: str, out: Path, as_json: bool, **data: Any) -> int:
    """Make RUN again from the data, and compare its ranking, judgements, scores and id.

    Exit 0 if all are as stored, 1 if one differs, with the ten largest differences. Code, models and servers that the
    folder names are used only with --allow.
    """
    verification = verify(find_run(run, out), **data)
    if as_json:
        print_json({"holds": verification.holds, **asdict(verification)})
    else:
        for line in verification_lines(verification):
            print_paragraph(line)
        if not verification.holds:
            print_table(verification_table(verification))
    return 0 if verification.holds else 1
