"""`eval`: run chunkers, store their runs, print their table."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from repoeval_bench import api
from repoeval_bench.cli.console import print_table
from repoeval_bench.cli.prepared import Prepared, print_scores, run_options
from repoeval_bench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from repoeval_bench.types import Chunker, Embedder


@click.command("eval", short_help="Run chunkers and print the nDCG/Recall table.")
@run_options
@click.argument("more_metrics", nargs=-1, metavar="")
@click.option("--dry-run", is_flag=True, help="Print what would be embedded, and compute nothing.")
def evaluate_command(
    *, chunkers: tuple[str, ...], more_metrics: tuple[str, ...], as_json: bool, dry_run: bool, **options: Any
) -> None:
    """Chunk, embed, retrieve and score with each --chunker, store the runs, and print one table.

    Example: repoeval-bench eval --chunker ast --chunker fixed --source FOLDER
    """
    # `--metrics ndcg@10 recall@5`: what stands behind the first one arrives here.
    if more_metrics and not options["metrics"]:
        raise UsageError(f"{more_metrics[0]!r} belongs to no option; name chunkers with --chunker {more_metrics[0]}")
    options["metrics"] = (*options["metrics"], *more_metrics)
    prepared = Prepared.make(chunkers, options)
    if dry_run:
        if prepared.embedder is None:
            raise UsageError(f"retriever {options['retriever']} embeds nothing; leave out --dry-run")
        _dry_run(prepared, prepared.embedder, as_json=as_json)
        return
    runs = prepared.evaluate()
    if as_json:
        contents = [run.metrics for run in runs]
        click.echo(json.dumps(contents[0] if len(contents) == 1 else contents, indent=2, ensure_ascii=False))
    else:
        print_scores(runs)


def _dry_run(prepared: Prepared, embedder: Embedder, *, as_json: bool) -> None:
    rows = [row for chunker in prepared.chunkers for row in _would_embed(prepared, chunker, embedder)]
    if as_json:
        click.echo(json.dumps({"dataset": prepared.benchmark.label, "texts": rows}, indent=2, ensure_ascii=False))
        return
    from repoeval_bench.report.frame import new_table

    table = new_table(f"would embed · {prepared.benchmark.label}")
    for column in rows[0]:
        table.add_column(column.replace("_", " "), justify="left" if column in {"chunker", "texts"} else "right")
    for row in rows:
        table.add_row(*(f"{value:,}" if isinstance(value, int) else value for value in row.values()))
    print_table(table)


def _would_embed(prepared: Prepared, chunker: Chunker, embedder: Embedder) -> Iterator[dict[str, str | int]]:
    """For queries and chunks: texts, distinct ones, those cached, and the tokens of those that are not."""
    planned = api.plan_run(
        prepared.benchmark, chunker, protocol=prepared.protocol, skip_errors=prepared.options["skip_errors"]
    )
    for role, texts in planned.texts().items():
        distinct = list(dict.fromkeys(texts))
        missing = embedder.missing(distinct, role)
        tokens = embedder.count_tokens(missing, role) if embedder.counts_tokens else []
        limit = embedder.max_tokens if embedder.truncates(role) else None
        yield {
            "chunker": chunker.spec,
            "texts": "queries" if role == "query" else "chunks",
            "count": len(texts),
            "distinct": len(distinct),
            "cached": len(distinct) - len(missing),
            "to_embed": len(missing),
            "tokens": sum(tokens),
            "tokens_read": sum(tokens if limit is None else (min(count, limit) for count in tokens)),
        }
