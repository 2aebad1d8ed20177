"""`pool`: the top k of several runs as one file for a judge."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from repoeval_bench.analysis.logs.pooling import pool
from repoeval_bench.cli.judged_run import check_same_queries, chosen_depth, log_rows
from repoeval_bench.cli.options import depth_option, runs_folder, say
from repoeval_bench.core.errors import ResultError, UsageError
from repoeval_bench.core.files import write_atomic
from repoeval_bench.report.text import count
from repoeval_bench.runs.store import jsonl
from repoeval_bench.runs.view import RunView, find_run

if TYPE_CHECKING:
    from collections.abc import Sequence


@click.command("pool", short_help="Write the top of several runs into one file to judge.")
@click.argument("runs", nargs=-1, required=True, metavar="RUN…")
@depth_option("How many chunks of each ranking.")
@click.option("--skip-gold", is_flag=True, help="Leave out what the gold calls relevant.")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Where to write the pool (JSONL).")  # fmt: skip
@runs_folder
def pool_command(*, runs: tuple[str, ...], k: int | None, skip_gold: bool, output: Path, out: Path) -> None:
    """Pool the first k chunks of each RUN into a file to judge: write 2, 1 or 0 as the `grade` of each row.

    The file does not say who retrieved a chunk, nor what the gold thinks of it. Read it back with
    repoeval-bench bounds RUN --judgements FILE. Example: repoeval-bench pool RUN RUN -k 10 -o pool.jsonl
    """
    stored = [find_run(name, out) for name in runs]
    depth = chosen_depth(stored, k)
    for run in stored:
        check_same_queries(stored[0], run)
    if output.exists():
        raise UsageError(f"{output} stands already, perhaps with judgements; take another name or delete it")
    qrels = [run.qrels() for run in stored] if skip_gold else []
    rows = list(
        pool(
            [log_rows(run) for run in stored],
            depth,
            stored[0].scores.query_ids,
            leave_out=lambda query_id, chunk_id: any(chunk_id in gold.get(query_id, {}) for gold in qrels),
            texts=_texts(stored),
        )
    )
    try:
        write_atomic(output, jsonl(rows))
    except OSError as error:
        raise ResultError(f"{output} cannot be written ({error}); choose another file with -o") from error
    queries = len({row["query_id"] for row in rows})
    say(f"wrote {output}")
    click.echo(
        f"{count(len(rows), 'chunk')} of {count(queries, 'query', 'queries')} to be judged, "
        f"from the top {depth} of {count(len(runs), 'run')}"
    )


def _texts(runs: Sequence[RunView]) -> dict[str, str]:
    """chunk_id -> text, of the runs that keep their sources."""
    found: dict[str, str] = {}
    for run in runs:
        if (inside := run.inspection) is None:
            continue
        for held in (*inside.chunks.values(), *inside.own.values()):
            found.update({chunk.chunk_id: inside.sources[chunk.file].slice(chunk.chars) for chunk in held})
    return found
