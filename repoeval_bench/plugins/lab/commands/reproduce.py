"""`lab reproduce`: measure published numbers again, on one page."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path

import click

from repoeval_bench.cli.console import print_json
from repoeval_bench.cli.echo import echo
from repoeval_bench.cli.options import home_option, json_option, request_options
from repoeval_bench.cli.output import OUTPUT_FOLDER
from repoeval_bench.core.files import write_named
from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.plugins.lab.report.reproduction import format_page
from repoeval_bench.plugins.lab.reproduction import reproduce
from repoeval_bench.runs.parts import RESULTS
from repoeval_bench.runs.request import DataRequest
from repoeval_bench.runs.store import check_writable


@click.command("reproduce")
@click.option(
    "--embedder",
    "embedders",
    multiple=True,
    metavar="SPEC",
    help="A model to add to the CodeRAG-Bench table, such as st:BAAI/bge-base-en-v1.5; may be repeated.",
)
@request_options(DataRequest, only=["source"])
@click.option(
    "--out",
    type=OUTPUT_FOLDER,
    default=RESULTS / "reproduce",
    show_default=True,
    help="Where the runs and the page are written.",
)
@home_option
@json_option
def reproduce_command(*, embedders: tuple[str, ...], source: str, out: Path, home: Path | None, as_json: bool) -> None:
    """Measure every published number again, and print a page of tables, verdicts, causes and commands.

    The page is also written to reproduction.md in --out, its rows to reproduction.json. Vectors and runs are kept, so a
    repeated command resumes. For a model that is not available, the row says so.
    """
    check_writable(out)
    # The commands of the page need no --source that `eval` finds by itself.
    named = "" if source in ("auto", os.environ.get("REPOEVAL_SOURCE")) else source
    benchmark = load_benchmark(source, home=home)
    measured, repositories = reproduce(benchmark, out, embedders=embedders, source=named, home=home)
    page = format_page(benchmark.label, measured, repositories)
    rows = [asdict(row) for row in measured]
    for name, content in (("json", json.dumps(rows, indent=2) + "\n"), ("md", page)):
        write_named(out / f"reproduction.{name}", content, "another folder with --out")
    if as_json:
        print_json(rows)
    else:
        echo(page, nl=False)
