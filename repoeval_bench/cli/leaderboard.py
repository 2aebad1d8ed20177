"""`leaderboard`: all runs of a folder in order, only against those that answer the same question."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from repoeval_bench.analysis.leaderboard import leaderboard
from repoeval_bench.cli.console import print_tables
from repoeval_bench.cli.echo import echo
from repoeval_bench.cli.options import say
from repoeval_bench.cli.output import FILE
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.files import write_named
from repoeval_bench.runs.parts import RESULTS

if TYPE_CHECKING:
    from repoeval_bench.analysis.leaderboard import Leaderboard

ENDINGS = {".html": "html", ".md": "markdown", ".csv": "csv", ".json": "json"}
_OUTPUT = "Where to write; a table on standard output if neither this nor --format is given."


@click.command("leaderboard", short_help="Rank all runs of a folder.")
@click.argument("results", type=click.Path(path_type=Path), default=RESULTS)
@click.option("-o", "--output", type=FILE, metavar="FILE", help=_OUTPUT)
@click.option(
    "--format",
    "form",
    type=click.Choice(sorted(ENDINGS.values())),
    help="What to write; by FILE's ending if not given.",
)
def leaderboard_command(*, results: Path, output: Path | None, form: str | None) -> None:
    """Rank the runs in the folder RESULTS by protocol and data, never across them.

    Folders that hold no whole run of this version are named with their reasons.
    """
    from repoeval_bench.report.leaderboard import leaderboard_tables, summary

    if output is not None and form is None:
        form = ENDINGS.get(output.suffix.lower())
        if form is None:
            raise UsageError(f"{output} does not end in {', '.join(ENDINGS)}; say with --format what to write")
    found = leaderboard(results)
    if form is None:
        print_tables(leaderboard_tables(found))
        echo(summary(found))
    elif output is None:
        echo(_content(found, form), nl=False)
    else:
        write_named(output, _content(found, form))
        say(f"wrote {output}: {summary(found)}")


def _content(found: Leaderboard, form: str) -> str:
    from repoeval_bench.report.formats import markdown
    from repoeval_bench.report.leaderboard import leaderboard_csv, leaderboard_records, leaderboard_tables

    if form == "json":
        return json.dumps(leaderboard_records(found), indent=2, ensure_ascii=False) + "\n"
    if form == "csv":
        return leaderboard_csv(found)
    if form == "markdown":
        return markdown(leaderboard_tables(found))
    from repoeval_bench.report.page.leaderboard import leaderboard_page

    return leaderboard_page(found)
