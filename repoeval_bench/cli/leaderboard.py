"""`leaderboard`: all runs of a folder in order, only against those that answer the same question."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from repoeval_bench import api
from repoeval_bench.cli.console import print_tables
from repoeval_bench.cli.options import say
from repoeval_bench.core.errors import ResultError, UsageError
from repoeval_bench.core.files import write_atomic
from repoeval_bench.report.leaderboard import rank_folder, summary

if TYPE_CHECKING:
    from repoeval_bench.report.leaderboard import Leaderboard

ENDINGS = {".html": "html", ".md": "markdown", ".csv": "csv", ".json": "json"}


@click.command("leaderboard", short_help="Rank all runs of a folder.")
@click.argument("results", type=click.Path(path_type=Path), default=api.RESULTS)
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Where to write; a table on standard output if neither this nor --format is given.")  # fmt: skip
@click.option("--format", "form", type=click.Choice(sorted(ENDINGS.values())),
              help="What to write; by FILE's ending if not given.")  # fmt: skip
def leaderboard_command(*, results: Path, output: Path | None, form: str | None) -> None:
    """Rank the runs in the folder RESULTS by protocol and data, never across them.

    Folders that hold no whole run of this version are named with their reasons.

    Example: repoeval-bench leaderboard results -o leaderboard.html
    """
    if output is not None and form is None:
        form = ENDINGS.get(output.suffix.lower())
        if form is None:
            raise UsageError(f"{output} does not end in {', '.join(ENDINGS)}; say with --format what to write")
    found = rank_folder(results)
    if form is None:
        _print(found)
        return
    content = _content(found, form)
    if output is None:
        click.echo(content, nl=False)
        return
    try:
        write_atomic(output, content)
    except OSError as error:
        raise ResultError(f"{output} cannot be written ({error}); choose another file with -o") from error
    say(f"wrote {output}: {summary(found)}")


def _print(found: Leaderboard) -> None:
    from repoeval_bench.report.board_tables import leaderboard_tables

    print_tables(leaderboard_tables(found))
    click.echo(summary(found))


def _content(found: Leaderboard, form: str) -> str:
    from repoeval_bench.report.board_tables import leaderboard_csv, leaderboard_records, leaderboard_tables
    from repoeval_bench.report.formats import markdown

    if form == "json":
        return json.dumps(leaderboard_records(found), indent=2, ensure_ascii=False) + "\n"
    if form == "csv":
        return leaderboard_csv(found)
    if form == "markdown":
        return markdown(leaderboard_tables(found))
    from repoeval_bench.report.page.leaderboard import leaderboard_page

    return leaderboard_page(found)
