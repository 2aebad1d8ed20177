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
    from repoeval_bench.types import Embedder


@click.command("eval", short_help="Run chunkers and print the nDCG/Recall table.")
@run_options
@click.option("--dry-run", is_flag=True, help="Print what would be embedded, and compute nothing.")
def evaluate_command(*, chunkers: tuple[str, ...], as_json: bool, dry_run: bool, **options: Any) -> None:
    """Chunk, embed, retrieve and score with each --chunker, store the runs, and print one table.

    Example: repoeval-bench eval --chunker ast --chunker fixed --source FOLDER
    """
    prepared = Prepared.make(chunkers, options)
    if dry_run:
        if prepared.embedder is None:
            raise UsageError(f"retriever {options['retriever']} embeds nothing; leave out --dry-run")
        _dry_run(prepared, prepared.embedder)
        return
    runs = [prepared.evaluate(chunker) for chunker in prepared.chunkers]
    if as_json:
        contents = [run.metrics for run in runs]
        click.echo(json.dumps(contents[0] if len(contents) == 1 else contents, indent=2, ensure_ascii=False))
    else:
        print_scores(runs)


def _dry_run(prepared: Prepared, embedder: Embedder) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(title=f"would embed · {prepared.benchmark.label}", title_justify="left", box=SIMPLE_HEAD)
    for column in ("chunker", "texts", "count", "distinct", "cached", "tokens", "tokens read"):
        table.add_column(column, justify="left" if column in {"chunker", "texts"} else "right", no_wrap=True)
    for chunker in prepared.chunkers:
        planned = api.plan_run(
            prepared.benchmark, chunker, protocol=prepared.protocol, skip_errors=prepared.options["skip_errors"]
        )
        for role, texts in planned.texts().items():
            distinct = list(dict.fromkeys(texts))
            tokens = embedder.count_tokens(distinct, role)
            limit = embedder.max_tokens if embedder.truncates(role) else None
            missing = len(embedder.missing(distinct, role))
            read = sum(tokens if limit is None else (min(count, limit) for count in tokens))
            table.add_row(
                chunker.spec, "queries" if role == "query" else "chunks", str(len(texts)), str(len(distinct)),
                str(len(distinct) - missing), f"{sum(tokens):,}", f"{read:,}",
            )  # fmt: skip
    print_table(table)
