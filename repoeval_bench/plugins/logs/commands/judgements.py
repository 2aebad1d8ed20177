"""`pool` and `bounds`: write chunks for a judge, and bound a run's scores with the judge's grades."""

from __future__ import annotations

from pathlib import Path

import click

from repoeval_bench.cli.console import print_json, print_lines, print_table
from repoeval_bench.cli.echo import echo
from repoeval_bench.cli.options import depth_option, json_option, runs_folder
from repoeval_bench.cli.output import INPUT, OUTPUT, measures_option, plain, title_of, write_rows
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.words import count
from repoeval_bench.plugins.logs.judgements.bounds import bounds
from repoeval_bench.plugins.logs.judgements.pooling import pool
from repoeval_bench.plugins.logs.tables import agreement_lines, bounds_table, corrected_lines
from repoeval_bench.runs.naming import find_run, find_runs

_JUDGEMENTS = "JSONL: query_id, chunk_id, grade 2, 1 or 0, as repoeval-bench logs pool writes it."
_CALIBRATION = "JSONL: gold and judge, both 2, 1 or 0, of chunks that a trusted person graded too."
_GOLD = "Write gold plus judge as gold for `logs import`; chunks that are not relevant get gain 0."


@click.command("bounds")
@click.argument("run")
@click.option("--judgements", required=True, type=INPUT, metavar="FILE", help=_JUDGEMENTS)
@click.option("--calibration", type=INPUT, metavar="FILE", help=_CALIBRATION)
@depth_option("The depth of the precision that is corrected.")
@measures_option("Only this measure; repeat it. All measures of ranks if not given.")
@click.option("--write-gold", type=OUTPUT, metavar="FILE", help=_GOLD)
@runs_folder
@json_option
def bounds_command(
    *,
    run: str,
    judgements: Path,
    calibration: Path | None,
    k: int | None,
    measures: tuple[str, ...],
    write_gold: Path | None,
    out: Path,
    as_json: bool,
) -> None:
    """Print RUN's scores by the gold alone, by gold plus judge, and the bounds between which the truth lies.

    With --calibration the judge's precision is corrected by its sensitivity and specificity (Rogan-Gladen).
    """
    stored = find_run(run, out)
    result = bounds(stored, judgements, measures=measures, k=k, calibration=calibration)
    if write_gold:
        rows = [
            {"query_id": query_id, "chunk_id": chunk_id, "gain": gain}
            for query_id, gains in result.qrels.items()
            for chunk_id, gain in gains.items()
        ]
        write_rows(write_gold, rows)
    if as_json:
        print_json(plain(result, "k", "qrels"))
        return
    print_table(bounds_table(result.bounds, title_of(stored)))
    print_lines(agreement_lines(result.agreement, result.k, result.without_grade))
    if result.corrected:
        print_lines(corrected_lines(result.corrected))
    elif calibration:
        echo(f"note: no chunk of the top {result.k} has a grade, so no precision can be corrected")


@click.command("pool")
@click.argument("runs", nargs=-1, required=True, metavar="RUN…")
@depth_option("Number of chunks of each ranking.")
@click.option("-o", "--output", required=True, type=OUTPUT, metavar="FILE", help="Where to write the pool (JSONL).")
@runs_folder
@json_option
def pool_command(*, runs: tuple[str, ...], k: int | None, output: Path, out: Path, as_json: bool) -> None:
    """Pool the first k chunks of each RUN into a file to judge: write 2, 1 or 0 as the `grade` of each row.

    The file hides the systems and the gold from the judge. `logs bounds RUN --judgements FILE` reads it.
    """
    stored = list({run.folder: run for run in find_runs(runs, out)}.values())
    if output.exists():
        raise UsageError(f"{output} exists already, perhaps with judgements; take another name or delete it")
    depth, rows = pool(stored, k)
    write_rows(output, rows)
    queries = len({row["query_id"] for row in rows})
    if as_json:
        run_ids = [run.run_id for run in stored]
        print_json({"written": str(output), "runs": run_ids, "k": depth, "chunks": len(rows), "queries": queries})
        return
    echo(
        f"{count(len(rows), 'chunk')} of {count(queries, 'query')} to be judged, "
        f"from the top {depth} of {count(len(stored), 'run')}"
    )
