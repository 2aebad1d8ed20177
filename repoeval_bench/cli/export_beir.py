"""`export beir`: documents, queries and judgements of runs in the layouts that BEIR, `datasets` and MTEB read."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

import click

from repoeval_bench.cli.console import print_json
from repoeval_bench.cli.options import home_option, json_option, note, request_options, runs_folder
from repoeval_bench.cli.output import OUTPUT_FOLDER
from repoeval_bench.core.words import count
from repoeval_bench.runs.beir import Title, export_beir
from repoeval_bench.runs.naming import find_runs
from repoeval_bench.runs.replay import data_of
from repoeval_bench.runs.request import DataRequest


@click.command("beir")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "-o",
    "--output",
    type=OUTPUT_FOLDER,
    required=True,
    metavar="FOLDER",
    help="Where to write: a data set for each repository, in a folder of its name.",
)
@click.option("--pooled", is_flag=True, help="Write one data set, with the documents of all repositories.")
@click.option(
    "--title",
    type=click.Choice(get_args(Title)),
    default="none",
    show_default=True,
    help="A document's title: nothing, or its repository and path. Readers embed it before the text.",
)
@runs_folder
@json_option
@request_options(DataRequest, only=["source", "questions"])
@home_option
def export_beir_command(
    *, runs: tuple[str, ...], output: Path, pooled: bool, title: Title, out: Path, as_json: bool, **location: Any
) -> None:
    """Write corpus.jsonl, queries.jsonl, qrels and README.md for the documents of one or several RUNs.

    A query sees only its own repository, so each repository is a data set, and a subset of FOLDER. Runs store no texts,
    so the chunks are cut again from the data.
    """
    stored = find_runs(runs, out)
    benchmark = data_of(stored[0], **location)
    done = export_beir(stored, benchmark, output, pooled=pooled, title=title)
    note(f"wrote {count(len(done.sets), 'data set')} into {output}")
    note(f"{count(done.documents, 'document')}; {done.scored:,} of {count(done.queries, 'query')} with a relevant one")
    if done.restricted:
        restricted = count(done.restricted, "query")
        note(f"note: {restricted} may not see every document: MTEB reads top_ranked.jsonl, BEIR does not")
    if done.left_out:
        skipped = count(len(done.left_out), "repository")
        note(f"left out: {skipped} without a relevant document: {', '.join(done.left_out)}")
    if as_json:
        print_json({"written": str(output), "runs": [run.run_id for run in stored], **asdict(done)})
