"""`report`: stored runs as one HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from repoeval_bench.cli.compare import labelled
from repoeval_bench.cli.completion import run_argument
from repoeval_bench.cli.console import print_json
from repoeval_bench.cli.options import home_option, json_option, note, refuse_unread, runs_folder
from repoeval_bench.cli.output import OUTPUT_HTML, name_option, no_text_option, write_and_say
from repoeval_bench.core.words import count
from repoeval_bench.own.recommend.recommendation import recommended
from repoeval_bench.runs.naming import compared_runs, find_runs
from repoeval_bench.runs.parts import shown_place
from repoeval_bench.runs.replay import data_of
from repoeval_bench.runs.runner import evaluate

if TYPE_CHECKING:
    from repoeval_bench.runs.view import RunView


@click.command("report")
@run_argument("runs", nargs=-1, metavar="[RUN]...")
@click.option(
    "-o",
    "--output",
    type=OUTPUT_HTML,
    default=Path("report.html"),
    show_default=True,
    metavar="FILE",
    help="Where to write the page.",
)
@click.option("--bm25", is_flag=True, help="First make the BM25 run of every chunker that lacks one.")
@click.option(
    "--source",
    envvar="REPOEVAL_SOURCE",
    default="auto",
    show_default=True,
    show_envvar=True,
    help="Where --bm25 takes the data from.",
)
@no_text_option
@name_option
@home_option
@runs_folder
@json_option
def report_command(
    *,
    runs: tuple[str, ...],
    output: Path,
    bm25: bool,
    source: str,
    no_text: bool,
    names: tuple[str, ...],
    home: Path | None,
    out: Path,
    as_json: bool,
) -> None:
    """Write a page about one RUN or several; without RUN, about the last recommendation or comparison.

    The page is one file that needs no network.
    """
    from repoeval_bench.report.html.report import check_page, report_page

    check_page()
    if not bm25:
        refuse_unread({"source", "home"}, "without --bm25", "or add --bm25")
    answer = None if runs else recommended(out)
    shown = [*answer.evidence[0].runs.values()] if answer else [*dict.fromkeys(runs)]
    stored = find_runs(shown, out) if shown else compared_runs(out)
    if bm25:
        _make_bm25(stored, source, home)
    stored, _ = labelled(stored, None, names, out)
    note(f"making a page about {count(len(stored), 'run')}")
    page = report_page(stored, str(output), answer=answer, text=not no_text)
    write_and_say(output, page, "another file with -o")
    if as_json:
        print_json({"written": str(output), "runs": [run.run_id for run in stored]})


def _make_bm25(stored: Sequence[RunView], source: str, home: Path | None) -> None:
    """Rank the chunks of each run by BM25 if no such run is stored, and say for which runs that is impossible."""
    from repoeval_bench.report.html.runs import bm25_beside

    for run in stored:
        if bm25_beside(run) is not None:
            continue
        metrics, dataset, config = run.metrics, run.metrics.dataset, run.manifest.config
        if metrics.imported:
            note(f"{run.run_id} was imported: its chunks are not stored, so BM25 cannot rank them")
            continue
        if config and config.choices.tasks == "questions":
            note(f"{run.run_id} asks questions of a file, which it does not keep: BM25 cannot rank for them")
            continue
        benchmark = data_of(run, source, home=home)
        if benchmark.fingerprint != dataset.fingerprint:
            note(f"{run.run_id} was made from other data than --source {source} has, so BM25 is not shown beside it")
            continue
        chunker = None if config and config.choices.documents == "windows" else metrics.chunker
        by_bm25 = evaluate(
            benchmark,
            chunker,
            protocol=metrics.protocol,
            retriever="bm25",
            k=metrics.k,
            allow_sparse_qrels=True,  # as the run beside it was
            out=run.folder.parent,
            home=home,
        )
        note(f"{metrics.chunker} by BM25 -> {shown_place(by_bm25.folder)}")
