"""`report`: stored runs as one HTML page."""

from __future__ import annotations

from pathlib import Path

import click

from repoeval_bench.cli.compare import labelled
from repoeval_bench.cli.console import print_json
from repoeval_bench.cli.options import json_option, note, runs_folder
from repoeval_bench.cli.output import OUTPUT, name_option, no_text_option, write_and_say
from repoeval_bench.core.words import count
from repoeval_bench.own.recommend.recommendation import recommended
from repoeval_bench.runs.naming import compared_runs, find_runs


@click.command("report")
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option(
    "-o",
    "--output",
    type=OUTPUT,
    default=Path("report.html"),
    show_default=True,
    metavar="FILE",
    help="Where to write the page.",
)
@no_text_option
@name_option
@runs_folder
@json_option
def report_command(
    *,
    runs: tuple[str, ...],
    output: Path,
    no_text: bool,
    names: tuple[str, ...],
    out: Path,
    as_json: bool,
) -> None:
    """Write a page about one RUN or several; without RUN, about the last recommendation or comparison.

    The page is one file that needs no network.
    """
    from repoeval_bench.report.html.report import check_page, report_page

    check_page()
    answer = None if runs else recommended(out)
    shown = [*answer.evidence[0].runs.values()] if answer else [*dict.fromkeys(runs)]
    stored = find_runs(shown, out) if shown else compared_runs(out)
    stored, _ = labelled(stored, None, names, out)
    note(f"making a page about {count(len(stored), 'run')}")
    page = report_page(stored, str(output), answer=answer, text=not no_text)
    write_and_say(output, page, "another file with -o")
    if as_json:
        print_json({"written": str(output), "runs": [run.run_id for run in stored]})
