"""`sweep`: every measure against the realised size of the chunks, or against the cutoff k."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from repoeval_bench import api
from repoeval_bench.analysis.segments import knee
from repoeval_bench.cli.console import print_table
from repoeval_bench.cli.gathered import Gathered
from repoeval_bench.cli.prepared import Prepared, run_options
from repoeval_bench.core.errors import UsageError
from repoeval_bench.protocols.protocol import Protocol
from repoeval_bench.runs.executors import ProcessPool

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from repoeval_bench.report.table import Table
    from repoeval_bench.runs.view import RunView

CUTOFFS = (1, 3, 5, 10, 20, 50)
K_MEASURES = (*(f"recall@{k}" for k in CUTOFFS), *(f"ndcg@{k}" for k in CUTOFFS), "recall_auc@50")


def _sizes(first: str | None, further: Sequence[str]) -> tuple[int, ...]:
    """Whole numbers above 0, separated by blanks or commas; the ones behind the first need no quotes."""
    if first is None:
        if further:
            raise UsageError(f"{further[0]!r} belongs to no option; sizes are given as --sizes 500 1000 1500")
        return ()
    words = " ".join((first, *further)).replace(",", " ").split()
    wrong = [word for word in words if not word.isdecimal() or int(word) < 1]
    if wrong or not words:
        no_size = f"{wrong[0]!r} is no size; give" if wrong else "give"
        raise UsageError(f"--sizes {first!r}: {no_size} whole numbers, such as --sizes 500 1000 1500")
    return tuple(map(int, words))


@click.command("sweep", short_help="Show what size alone buys, or how scores grow with k.")
@run_options
@click.option("--sizes", "size", metavar="N …",
              help="Nominal sizes for each chunker's own size option; without it, k is swept.")  # fmt: skip
@click.argument("sizes", nargs=-1, metavar="")
def sweep_command(
    *, chunkers: tuple[str, ...], as_json: bool, size: str | None, sizes: tuple[str, ...], **options: Any
) -> None:
    """Evaluate each --chunker at each of --sizes, and print every measure beside the realised mean size.

    Without --sizes: recall and nDCG at k = 1, 3, 5, 10, 20, 50, the area under recall over k, and the knee, the k
    whose recall stands farthest above a straight line from the first k to the last. Runs that are stored already are
    not made again.

    A chunker's other options stay as they are named, so an overlap is swept by naming several: -c ast:overlap=0 -c
    ast:overlap=5 --sizes 500 1500. `window` keeps the ratio of step to lines.

    Example: repoeval-bench sweep -c fixed -c ast --sizes 500 1000 1500 3000 6000
    """
    found = Gathered()
    nominal: tuple[int, ...] = ()
    with found.about("sizes"):
        nominal = _sizes(size, sizes)
    if size is None and not options["metrics"]:
        options["metrics"] = K_MEASURES
    prepared = Prepared.make(_specs(chunkers, nominal, options, found), options, found)
    with ProcessPool() as pool:
        runs = prepared.evaluate(pool, reuse=True)
    rows = [_row(run) for run in runs]
    if as_json:
        click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    metrics = runs[0].metrics
    click.echo(metrics.dataset.label)
    click.echo(f"protocol {metrics.protocol} · embedder {metrics.embedder} · retriever {metrics.retriever}")
    print_table(_table(rows))


def _specs(chunkers: Sequence[str], nominal: Sequence[int], options: Mapping[str, Any], found: Gathered) -> list[str]:
    """Each chunker at each size, or as it is where none is given; what cannot be of a size is kept in `found`."""
    if not nominal:
        return list(chunkers)
    with found.about("sizes"):
        if options["match_size"]:
            raise UsageError(
                "--match-size sets the size of every chunker, so no --sizes are tried; leave one of them out"
            )
    with found.about("sizes"):
        if Protocol.parse(options["protocol"]).documents == "windows":
            raise UsageError(
                f"protocol {options['protocol']} fixes its documents, so --sizes change nothing; leave them out, or "
                "choose another protocol"
            )
    specs = []
    for spec in chunkers:
        sized = [spec]  # where it has no size: told here, or with all that is told of chunkers
        with found.about("chunkers", spec):
            sized = [api.resize(spec, each) for each in nominal]
        specs += sized
    return specs


def _row(run: RunView) -> dict[str, Any]:
    metrics = run.metrics
    means = metrics.headline_means
    recall = {k: means[f"recall@{k}"] for k in CUTOFFS if f"recall@{k}" in means}
    row = {
        "chunker": metrics.chunker,
        "mean_nws": metrics.chunk_nws.mean if metrics.chunk_nws else None,
        "chunks": metrics.counts.chunks,
    }
    if len(recall) == len(CUTOFFS):
        row["knee"] = knee(list(recall.values()), list(recall))
    return {**row, **means}


def _table(rows: Sequence[dict[str, Any]]) -> Table:
    from repoeval_bench.metrics import CEILING, SHARE
    from repoeval_bench.report.table import figures, make_table, spec_column
    from repoeval_bench.report.text import heading

    names = [name for name in rows[0] if name != "chunker" and not name.endswith((CEILING, SHARE))]
    columns = [spec_column("chunker")]
    for name in names:
        columns += figures(heading(name), number="" if name in {"mean_nws", "chunks", "knee"} else ".4f")
    return make_table(columns, ([row["chunker"], *(row[name] for name in names)] for row in rows))
