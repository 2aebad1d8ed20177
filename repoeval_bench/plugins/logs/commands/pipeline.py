"""`pipeline` and `hard-negatives`: measure the stages of a logged system, and the loss by misleading chunks."""

from __future__ import annotations

from pathlib import Path

import click

from repoeval_bench.cli.console import print_json, print_lines, print_paragraph, print_tables
from repoeval_bench.cli.echo import echo
from repoeval_bench.cli.options import depth_option, json_option, runs_folder
from repoeval_bench.cli.output import INPUT, plain, title_of
from repoeval_bench.plugins.logs.pipeline.hard_negatives import NUMBERS, hard_negatives
from repoeval_bench.plugins.logs.pipeline.report import SECTIONS, pipeline_report
from repoeval_bench.plugins.logs.tables import section_tables
from repoeval_bench.runs.naming import find_run

_FILE = "JSONL with query_id and chunk_id, hardest first; by default chunks that no query retrieved."


@click.command("pipeline")
@click.argument("run")
@depth_option("Number of results to read.")
@click.option("--section", "sections", multiple=True, type=click.Choice(SECTIONS), help="Only this section; repeat it.")
@click.option("--raw", metavar="RUN", help="The raw retriever's run, if the log has no raw_topk.")
@runs_folder
@json_option
def pipeline_command(
    *,
    run: str,
    k: int | None,
    sections: tuple[str, ...],
    raw: str | None,
    out: Path,
    as_json: bool,
) -> None:
    """Print the effect of RUN's stages: raw retriever against reranker, router, query rewriting, freshness,
    queries without an answer, entity linking, latency and cost. A section says so if the log lacks its fields.

    docs/logs.md has an example of each.
    """  # noqa: D205 - click prints the first paragraph as it is
    stored = find_run(run, out)
    first = find_run(raw, out) if raw else None
    result = pipeline_report(stored, k=k, sections=sections or SECTIONS, raw=first)
    if as_json:
        print_json(plain(result, "clustered_by"))
        return
    clusters = f"clustered by {result.clustered_by}" if result.clustered_by != "query" else "each query by itself"
    print_paragraph(f"{title_of(stored)} · means over queries, {clusters}")
    for section in result.sections:
        echo()
        if section.missing:
            echo(f"{section.title}: not in this log ({section.missing})")
        else:
            print_tables(section_tables(section))
            print_lines(f"note: {note}" for note in section.notes)


@click.command("hard-negatives")
@click.argument("run")
@click.option(
    "-n",
    "numbers",
    multiple=True,
    type=click.IntRange(min=1),
    default=NUMBERS,
    show_default=True,
    help="Number of negatives; repeat it.",
)
@click.option("--negatives", type=INPUT, metavar="FILE", help=_FILE)
@runs_folder
@json_option
def hard_negatives_command(
    *, run: str, numbers: tuple[int, ...], negatives: Path | None, out: Path, as_json: bool
) -> None:
    """Insert hard negatives at ranks 1..n of every ranking of RUN, and print each measure's loss."""
    stored = find_run(run, out)
    result = hard_negatives(stored, numbers, negatives)
    if as_json:
        print_json(plain(result))
        return
    print_paragraph(title_of(stored))
    for section in result.sections:
        print_tables(section_tables(section))
        print_lines(f"note: {note}" for note in section.notes)
