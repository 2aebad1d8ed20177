"""`logs import`: judge what another system retrieved, and store it like a run made here."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from repoeval_bench.cli.console import print_json
from repoeval_bench.cli.echo import echo
from repoeval_bench.cli.options import json_option, note, out_option
from repoeval_bench.cli.output import INPUT, measures_option
from repoeval_bench.core.numbers import EXACT
from repoeval_bench.core.words import count
from repoeval_bench.metrics import Measure
from repoeval_bench.plugins.logs.import_log import import_run
from repoeval_bench.report.text import heading
from repoeval_bench.runs.parts import shown_place
from repoeval_bench.runs.store import check_writable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from repoeval_bench.runs.view import RunView


@click.command("import")
@click.argument("log", metavar="LOG", type=INPUT)
@click.option(
    "--gold",
    required=True,
    type=INPUT,
    metavar="FILE",
    help="JSONL: query_id with a chunk_id, a file, or a file and its lines; or qrels of TREC or BEIR.",
)
@click.option(
    "--corpus",
    type=INPUT,
    metavar="FILE",
    help="JSONL: every chunk_id with its file and lines; without it, the log's chunks count as all.",
)
@click.option(
    "--files",
    type=click.Path(path_type=Path, exists=True),
    metavar="FOLDER",
    help="The sources, named as in gold and log, or a run's sources.jsonl.gz, for line measures.",
)
@click.option(
    "--depth",
    type=click.IntRange(1, EXACT),
    metavar="K",
    help="The depth of a TREC run; by default the length of its longest ranking.",
)
@measures_option("A measure such as ndcg@10 instead of the default ones; may be repeated.")
@out_option
@json_option
def import_command(
    *,
    log: Path,
    gold: Path,
    corpus: Path | None,
    files: Path | None,
    depth: int | None,
    measures: tuple[str, ...],
    out: Path,
    as_json: bool,
) -> None:
    """Judge LOG (JSONL, see docs/logs.md) against a gold file, and store it as a run.

    The run can then be compared, segmented, gated and exported like any other. LOG and gold may also be files of TREC
    (.trec, .txt, .run, .qrels, also .gz).
    """
    check_writable(out)
    run = import_run(
        log,
        gold,
        out,
        measures=[str(Measure.parse(name)) for name in measures],
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        corpus=corpus,
        files=files,
        depth=depth,
    )
    note(f"{run.metrics.retriever} -> {shown_place(run.folder)}")
    notes = [*_notes(run)]
    if as_json:
        print_json(run.metrics.as_json() | {"notes": notes})
        return
    echo(f"{run.metrics.dataset.label} · {run.metrics.protocol}")
    for name, value in run.metrics.micro.items():
        echo(f"{heading(name):<14} {value:.4f}")
    for sentence in notes:
        echo(f"note: {sentence}")


def _notes(run: RunView) -> Iterator[str]:
    """Yield what limits the numbers of an imported run."""
    counts, imported = run.counts, run.manifest.imported
    queries = {
        "of the gold without a row in the log, with the score 0": counts.queries_not_in_log,
        "without a relevant chunk, with the score 0": counts.queries_without_relevant,
        "of the log without gold, not scored": counts.queries_without_gold,
        "that name no cluster, each counted as a cluster of its own": counts.queries_without_cluster,
        "with a chunk of which file or lines are not known: it is read up to there, so line measures are lower "
        "bounds": counts.queries_not_read,
        "without an answer, not scored; `logs pipeline` says what they were given": counts.queries_no_answer,
    }
    yield from (f"{count(number, 'query')} {what}" for what, number in queries.items() if number)
    if counts.gold_names and imported:
        names = "chunk ids" if imported.gold_kind == "chunks" else "files"
        yield (
            f"only {counts.gold_names_known} of the gold's {counts.gold_names} {names} are in the log or the corpus, "
            "so the others are not found; check that they are named alike"
        )
    if counts.queries_not_read is None:
        why = "the sizes of lines are not known; name the folder of the sources with --files"
        if imported and imported.gold_kind != "lines":
            why = f"the gold names {imported.gold_kind}, not lines"
        yield f"no line measures for {count(counts.queries, 'query')}: {why}"
    if imported and imported.gold_kind == "files":
        yield "gold of whole files is blind to chunking: each chunk of them is relevant, wherever it is cut"
    if imported and imported.pooled:
        yield "relevant chunks the log does not show are not counted: recall is too high without --corpus"
