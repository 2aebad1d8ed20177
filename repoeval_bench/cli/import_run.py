"""`import-run`: judge what another system retrieved, and store it like a run made here."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from repoeval_bench.cli.console import print_json
from repoeval_bench.cli.echo import echo
from repoeval_bench.cli.options import json_option, out_option, say
from repoeval_bench.cli.output import FILE, measures_option
from repoeval_bench.metrics import DEFAULT_MEASURES, Measure
from repoeval_bench.report.text import heading
from repoeval_bench.runs.import_log import import_run
from repoeval_bench.runs.log import schema
from repoeval_bench.runs.records import TIMINGS

if TYPE_CHECKING:
    from pathlib import Path


def _print_schema(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        echo(schema(), nl=False)
        context.exit()


@click.command("import-run", short_help="Score a run log of another system.")
@click.argument("log", metavar="LOG.jsonl", type=FILE)
@click.option(
    "--gold",
    required=True,
    type=FILE,
    metavar="FILE",
    help="JSONL: query_id with a chunk_id, a file, or a file and its lines.",
)
@click.option(
    "--corpus",
    type=FILE,
    metavar="FILE",
    help="JSONL: every chunk_id with its file and lines; else the log's are taken for all.",
)
@click.option(
    "--timings",
    type=FILE,
    metavar="FILE",
    help="Latencies to be joined by query_id; timings.jsonl beside the log if not given.",
)
@measures_option("A measure such as ndcg@10 instead of the default ones; repeat it.")
@out_option
@json_option
@click.option(
    "--schema",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_schema,
    help="Print the JSON Schema of a log's rows, and judge nothing.",
)
def import_run_command(
    *,
    log: Path,
    gold: Path,
    corpus: Path | None,
    timings: Path | None,
    measures: tuple[str, ...],
    out: Path,
    as_json: bool,
) -> None:
    """Judge LOG.jsonl (--schema prints its contract) against a gold file, and store it as a run.

    The run can then be compared, segmented, gated and exported like any other.
    """
    beside = log.with_name(TIMINGS)
    run = import_run(
        log,
        gold,
        out,
        measures=[str(Measure.parse(name)) for name in measures or DEFAULT_MEASURES],
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        corpus=corpus,
        timings=timings or (beside if beside.is_file() else None),
    )
    say(f"{run.metrics.retriever} -> {run.folder}")
    if as_json:
        print_json(run.metrics.as_json())
        return
    counts = run.counts
    echo(f"{run.metrics.dataset.label} · {run.metrics.protocol}")
    for name, value in run.metrics.micro.items():
        echo(f"{heading(name):<14} {value:.4f}")
    notes = {
        "queries of the gold are not in the log and score 0": counts.queries_not_in_log,
        "queries have no relevant chunk and score 0": counts.queries_without_relevant,
        "queries of the log have no gold and are not scored": counts.queries_without_gold,
        "queries have no answer and are not scored; retrieval says what was found for them": counts.queries_no_answer,
    }
    for what, number in notes.items():
        if number:
            echo(f"note: {number} {what}")
    if run.manifest.imported and run.manifest.imported.pooled:
        echo("note: relevant chunks the log does not show are not counted: recall is too high without --corpus")
