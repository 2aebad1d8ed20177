"""`pool` and `bounds`: write chunks for a judge, and bound a run's scores with the judge's grades."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from repoeval_bench.cli.console import print_json, print_lines, print_table
from repoeval_bench.cli.echo import echo
from repoeval_bench.cli.options import depth_option, json_option, runs_folder
from repoeval_bench.cli.output import INPUT, OUTPUT, measures_option, plain, title_of, write_rows
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.words import count
from repoeval_bench.plugins.logs.judgements.bounds import bounds
from repoeval_bench.plugins.logs.judgements.pooling import pool
from repoeval_bench.report.table import Estimate, Table, figures, make_table
from repoeval_bench.report.text import heading, with_interval
from repoeval_bench.runs.naming import find_run, find_runs

if TYPE_CHECKING:
    from repoeval_bench.plugins.logs.judgements.bounds import Bounds, Corrected, JudgeAgreement

_JUDGEMENTS = "JSONL: query_id, chunk_id, grade 2, 1 or 0, as repoeval-bench logs pool writes it."
_CALIBRATION = "JSONL: gold and judge, both 2, 1 or 0, of chunks that a trusted person graded too."
_GOLD = "Write gold plus judge as gold for `logs import`; chunks that are not relevant get gain 0."


@click.command("bounds")
@click.argument("run")
@click.option("--judgements", required=True, type=INPUT, metavar="FILE", help=_JUDGEMENTS)
@click.option("--calibration", type=INPUT, metavar="FILE", help=_CALIBRATION)
@depth_option("The depth of the precision that is corrected.")
@measures_option("Only this measure; may be repeated. All measures of ranks if not given.")
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
    print_table(_bounds_table(result.bounds, title_of(stored)))
    print_lines(_agreement_lines(result.agreement, result.k, result.without_grade))
    if result.corrected:
        print_lines(_corrected_lines(result.corrected))
    elif calibration:
        echo(f"note: no chunk of the top {result.k} has a grade, so no precision can be corrected")


def _bounds_table(all_bounds: Sequence[Bounds], title: str) -> Table:
    """One row per measure: by gold alone, the ends of the truth, by gold plus judge."""
    names = ("gold alone", "lower bound, 95 % CI", "upper bound, 95 % CI", "gold plus judge")
    rows = [
        (
            heading(of_measure.measure),
            of_measure.gold.value,
            *(Estimate(bound.value, bound.ci) for bound in (of_measure.lower, of_measure.upper)),
            of_measure.both.value,
        )
        for of_measure in all_bounds
    ]
    return make_table(["measure", *figures(*names)], rows, title=title)


def _agreement_lines(agreement: JudgeAgreement, k: int, without_grade: int) -> list[str]:
    """Return what the judgements cover, in sentences."""
    lines = [
        f"{count(agreement.judged, 'judgement')} of the run's queries: the judge adds {agreement.added} relevant "
        f"chunks; {agreement.gold_refused} of the {agreement.gold_judged} gold chunks it saw it calls not relevant "
        "(they stay gold)"
    ]
    if agreement.unjudged_top:
        lines.append(
            f"note: {agreement.unjudged_top} of the {agreement.top} chunks in the top {k} are in neither: they count "
            "as not relevant, so the upper bounds are too low"
        )
    if without_grade:
        verb = "has" if without_grade == 1 else "have"
        lines.append(f"note: {count(without_grade, 'row')} of the file {verb} no grade yet")
    return lines


def _corrected_lines(corrected: Corrected) -> list[str]:
    """Return the correction and its inputs, in sentences."""
    used = corrected.calibration
    lines = [
        f"precision@{corrected.k} as the judge sees it: {corrected.apparent:.4f} over {count(corrected.n, 'chunk')}",
        f"the judge: sensitivity {used.sensitivity:.3f} over {used.n_relevant}, specificity {used.specificity:.3f} "
        f"over {used.n_other} calibrated chunks",
        f"corrected (Rogan-Gladen): {with_interval(corrected.value, corrected.ci)}",
    ]
    if corrected.n_unjudged:
        lines.append(f"note: {count(corrected.n_unjudged, 'chunk')} of the top {corrected.k} without a grade left out")
    return lines


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
