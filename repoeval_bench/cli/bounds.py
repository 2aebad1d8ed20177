"""`bounds`: a run between the gold, which misses chunks, and a judge, who may be too kind."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from repoeval_bench.analysis.logs.bounds import agreement, gold_plus_judge, judged_bounds
from repoeval_bench.analysis.logs.calibration import corrected_precision, read_calibration
from repoeval_bench.analysis.logs.pooling import read_judgements
from repoeval_bench.cli.console import print_table
from repoeval_bench.cli.judged_run import chosen_depth, judged_log, title_of
from repoeval_bench.cli.options import depth_option, runs_folder, say
from repoeval_bench.core.errors import ResultError, UsageError
from repoeval_bench.core.files import write_atomic
from repoeval_bench.metrics import Measure
from repoeval_bench.report.retrieval import agreement_lines, bounds_table, corrected_lines
from repoeval_bench.runs.store import jsonl
from repoeval_bench.runs.view import find_run

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("bounds", short_help="Bound a run's scores with a second set of judgements.")
@click.argument("run")
@click.option("--judgements", required=True, type=_FILE, metavar="FILE",
              help="JSONL: query_id, chunk_id, grade 2, 1 or 0, as repoeval-bench pool writes it.")  # fmt: skip
@click.option("--calibration", type=_FILE, metavar="FILE",
              help="JSONL: gold and judge, both 2, 1 or 0, of chunks that a trusted person graded too.")  # fmt: skip
@click.option("--relevant-from", type=click.IntRange(1, 2), default=1, show_default=True,
              help="The least grade that counts as relevant.")  # fmt: skip
@depth_option("The depth of the precision that is corrected.")
@click.option("--metric", "-m", "metrics", multiple=True, metavar="NAME",
              help="Only this measure; repeat it. All measures of ranks if not given.")  # fmt: skip
@click.option("--write-gold", type=_FILE, metavar="FILE",
              help="Write gold plus judge as gold for import-run, gain 0 for what is not relevant.")  # fmt: skip
@runs_folder
@click.option("--json", "as_json", is_flag=True, help="Print JSON in place of the table.")
def bounds_command(
    *,
    run: str,
    judgements: Path,
    calibration: Path | None,
    relevant_from: int,
    k: int | None,
    metrics: tuple[str, ...],
    write_gold: Path | None,
    out: Path,
    as_json: bool,
) -> None:
    """Print RUN's scores by the gold alone, by gold plus judge, and the bounds between which the truth lies.

    With --calibration the judge's precision is corrected by its sensitivity and specificity (Rogan-Gladen).
    Example: repoeval-bench bounds RUN --judgements pool.jsonl --calibration calibration.jsonl
    """
    stored = find_run(run, out)
    depth = chosen_depth([stored], k)
    log = judged_log(stored)
    measures = tuple(dict.fromkeys(str(Measure.parse(name)) for name in metrics)) or log.measures
    if unknown := [name for name in measures if name not in log.measures]:
        raise UsageError(
            f"{', '.join(unknown)} cannot be bounded; choose from the run's measures of ranks alone: "
            f"{', '.join(log.measures) or 'it has none'}"
        )
    grades, waiting = read_judgements(judgements)
    if not grades.keys() & set(log.query_ids):
        raise UsageError(f"{judgements} judges none of the run's queries, such as {log.query_ids[0]!r}")
    calibrated = read_calibration(calibration, relevant_from) if calibration else None
    found = judged_bounds(log, grades, measures, relevant_from)
    covered = agreement(log, grades, relevant_from, depth)
    corrected = corrected_precision(log, grades, calibrated, depth, relevant_from) if calibrated else None
    if write_gold:
        rows = (
            {"query_id": query_id, "chunk_id": chunk_id, "gain": gain}
            for query_id, gains in gold_plus_judge(log, grades, relevant_from).items()
            for chunk_id, gain in gains.items()
        )
        try:
            write_atomic(write_gold, jsonl(rows))
        except OSError as error:
            raise ResultError(f"{write_gold} cannot be written ({error}); choose another file") from error
        say(f"wrote {write_gold}")
    if as_json:
        content = {
            "run": stored.run_id,
            "relevant_from": relevant_from,
            "bounds": [asdict(each) for each in found],
            "agreement": asdict(covered),
            "without_grade": waiting,
            "corrected": asdict(corrected) if corrected else None,
        }
        click.echo(json.dumps(content, indent=2, ensure_ascii=False))
        return
    print_table(bounds_table(found, title_of(stored)))
    for line in agreement_lines(covered, depth, waiting):
        click.echo(line)
    if corrected:
        for line in corrected_lines(corrected):
            click.echo(line)
    elif calibrated:
        click.echo(f"mind: no chunk of the top {depth} has a grade, so no precision can be corrected")
