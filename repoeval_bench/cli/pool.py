"""`pool`: the top k of several runs as one file for a judge."""

from __future__ import annotations

from pathlib import Path

import click

from repoeval_bench.analysis.judgements.pooling import pool
from repoeval_bench.cli.completion import run_argument
from repoeval_bench.cli.console import print_json
from repoeval_bench.cli.echo import echo
from repoeval_bench.cli.options import depth_option, json_option, runs_folder
from repoeval_bench.cli.output import OUTPUT, write_rows
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.words import count
from repoeval_bench.runs.naming import find_run


@click.command("pool", short_help="Write the top of several runs into one file to judge.")
@run_argument("runs", nargs=-1, required=True, metavar="RUN…")
@depth_option("How many chunks of each ranking.")
@click.option("--skip-gold", is_flag=True, help="Leave out what the gold calls relevant.")
@click.option("-o", "--output", required=True, type=OUTPUT, metavar="FILE", help="Where to write the pool (JSONL).")
@runs_folder
@json_option
def pool_command(
    *, runs: tuple[str, ...], k: int | None, skip_gold: bool, output: Path, out: Path, as_json: bool
) -> None:
    """Pool the first k chunks of each RUN into a file to judge: write 2, 1 or 0 as the `grade` of each row.

    The file does not say who retrieved a chunk, nor what the gold says of it. Read it back with
    repoeval-bench bounds RUN --judgements FILE.
    """
    stored = [find_run(name, out) for name in runs]
    if output.exists():
        raise UsageError(f"{output} exists already, perhaps with judgements; take another name or delete it")
    found = pool(stored, k, skip_gold=skip_gold)
    write_rows(output, [row.as_json() for row in found.rows])
    queries = len({row.query_id for row in found.rows})
    if as_json:
        run_ids = [run.run_id for run in stored]
        print_json(
            {"written": str(output), "runs": run_ids, "k": found.k, "chunks": len(found.rows), "queries": queries}
        )
        return
    echo(
        f"{count(len(found.rows), 'chunk')} of {count(queries, 'query')} to be judged, "
        f"from the top {found.k} of {count(len(runs), 'run')}"
    )
