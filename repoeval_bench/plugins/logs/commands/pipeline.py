"""`pipeline` and `hard-negatives`: measure the stages of a logged system, and the loss by misleading chunks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from repoeval_bench.cli.console import print_json, print_lines, print_paragraph, print_tables
from repoeval_bench.cli.echo import echo
from repoeval_bench.cli.options import depth_option, json_option, runs_folder
from repoeval_bench.cli.output import INPUT, plain, title_of
from repoeval_bench.core.words import count
from repoeval_bench.plugins.logs.pipeline.hard_negatives import NUMBERS, hard_negatives
from repoeval_bench.plugins.logs.pipeline.stages import SECTIONS, pipeline_report
from repoeval_bench.report.table import P_VALUE, Column, Estimate, Table, figures, make_table
from repoeval_bench.report.text import heading, interval
from repoeval_bench.runs.naming import find_run

if TYPE_CHECKING:
    from repoeval_bench.plugins.logs.figures import Section, Statistic

_FILE = "JSONL with query_id and chunk_id, hardest first; by default chunks that no query retrieved."


@click.command("pipeline")
@click.argument("run")
@depth_option("Number of results to read.")
@click.option(
    "--section", "sections", multiple=True, type=click.Choice(SECTIONS), help="Only this section; may be repeated."
)
@runs_folder
@json_option
def pipeline_command(*, run: str, k: int | None, sections: tuple[str, ...], out: Path, as_json: bool) -> None:
    """Print the effect of RUN's stages: raw retriever against reranker, router, freshness, queries without
    an answer, and latency. A section says so if the log lacks its fields.

    docs/logs.md has an example of each.
    """  # noqa: D205 - click prints the first paragraph as it is
    stored = find_run(run, out)
    result = pipeline_report(stored, k=k, sections=sections or SECTIONS)
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
            print_tables(_tables(section))
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
    help="Number of negatives; may be repeated.",
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
        print_tables(_tables(section))
        print_lines(f"note: {note}" for note in section.notes)


def _tables(section: Section) -> list[Table]:
    """A table of the section's figures and one of its changes, each if there are any."""
    tables = []
    changes = [figure for figure in section.figures if figure.kind == "change"]
    others = [figure for figure in section.figures if figure.kind != "change"]
    if others:
        has_ci = any(figure.kind != "milliseconds" for figure in others)
        names = ("value", "95 % CI", "of") if has_ci else ("value", "of")
        rows = [
            (
                _name(figure.name),
                format(figure.value, _format(figure)),
                *([interval(figure.ci, _format(figure))] if has_ci else []),
                _of(figure),
            )
            for figure in others
        ]
        columns = [Column(name="", width=64), *figures(*names, missing="")]
        tables.append(make_table(columns, rows, title=section.title))
    if changes:
        columns = [
            Column(name=""),
            *figures(*section.stages),
            *figures("change, 95 % CI", number="+.4f"),
            *figures("of"),
            *figures("p (Holm)", number=P_VALUE),
        ]
        change_rows = [
            (
                _name(figure.name),
                *(figure.before, figure.after, Estimate(figure.value, figure.ci), _of(figure)),
                figure.p or 0.0,
            )
            for figure in changes
        ]
        tables.append(make_table(columns, change_rows, title="" if others else section.title))
    return tables


def _name(name: str) -> str:
    """A figure's name with its measure in the usual spelling: `nDCG@10 raw`."""
    measure, blank, rest = name.partition(" ")
    return heading(measure) + blank + rest if "@" in measure or not blank else name


def _of(figure: Statistic) -> str:
    one = f"{figure.of.removesuffix('queries')}query" if figure.of.endswith("queries") else figure.of.removesuffix("s")
    return count(figure.n, one, figure.of)


def _format(figure: Statistic) -> str:
    """Return how a figure of its kind is written."""
    match figure.kind:
        case "change":
            return "+.4f"
        case "milliseconds":
            return ".2f"
        case _:
            return ".4f"
