"""`export beir`: documents, queries and judgements of runs in the layouts that BEIR, `datasets` and MTEB read."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from repoeval_bench.cli.console import print_json
from repoeval_bench.cli.options import home_option, json_option, note, request_options, runs_folder
from repoeval_bench.cli.output import OUTPUT_FOLDER
from repoeval_bench.core.words import count
from repoeval_bench.runs.beir import export_beir
from repoeval_bench.runs.naming import find_run
from repoeval_bench.runs.replay import data_of
from repoeval_bench.runs.request import DataRequest


@click.command("beir")
@click.argument("run", metavar="RUN")
@click.option(
    "-o",
    "--output",
    type=OUTPUT_FOLDER,
    required=True,
    metavar="FOLDER",
    help="Where to write: a data set for each repository, in a folder of its name.",
)
@runs_folder
@json_option
@request_options(DataRequest, only=["source", "questions"])
@home_option
def export_beir_command(*, run: str, output: Path, out: Path, as_json: bool, **location: Any) -> None:
    """Write corpus.jsonl, queries.jsonl, qrels and README.md for the documents of a RUN.

    A query sees only its own repository, so each repository is a data set, and a subset of FOLDER. Runs store no texts,
    so the chunks are cut again from the data.
    """
    stored = find_run(run, out)
    done = export_beir(stored, data_of(stored, **location), output)
    note(f"wrote {count(len(done.sets), 'data set')} into {output}")
    note(f"{count(done.documents, 'document')}; {done.scored:,} of {count(done.queries, 'query')} with a relevant one")
    if done.restricted:
        restricted = count(done.restricted, "query")
        note(f"note: {restricted} may not see every document: MTEB reads top_ranked.jsonl, BEIR does not")
    if done.left_out:
        skipped = count(len(done.left_out), "repository")
        note(f"left out: {skipped} without a relevant document: {', '.join(done.left_out)}")
    if as_json:
        print_json({"written": str(output), "run": stored.run_id, **asdict(done)})
