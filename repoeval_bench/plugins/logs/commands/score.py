"""`score`: a run file against a qrels file, from this project or another."""

from __future__ import annotations

from pathlib import Path

import click

from repoeval_bench.cli.console import print_json
from repoeval_bench.cli.echo import echo
from repoeval_bench.cli.options import json_option
from repoeval_bench.cli.output import INPUT, measures_option
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.words import count
from repoeval_bench.metrics import DEFAULT_MEASURES, RunScores, score_run
from repoeval_bench.metrics.measure import parse_measures
from repoeval_bench.runs.trec import read_qrels, read_run


@click.command("score")
@click.argument("run", metavar="RUN.trec", type=INPUT)
@click.argument("qrels", metavar="QRELS.trec", type=INPUT)
@measures_option(f"A measure; repeat it.  [default: {' '.join(DEFAULT_MEASURES)}]")
@click.option("--per-query", "-q", is_flag=True, help="Print every query's value too.")
@json_option
def score_command(*, run: Path, qrels: Path, measures: tuple[str, ...], per_query: bool, as_json: bool) -> None:
    """Score RUN.trec against QRELS.trec: one line per measure, its name and its mean over the queries of the qrels.

    Results are ordered by (score, id), both descending, as trec_eval does.
    """
    parsed = parse_measures(name for text in measures or DEFAULT_MEASURES for name in text.split())
    for measure in parsed:
        if others := sorted(measure.needs - {"ranking"}):
            raise UsageError(
                f"{measure} needs {' and '.join(others)}, which TREC files do not hold; use repoeval-bench eval"
            )
    scores = score_run(read_run(run), read_qrels(qrels), parsed)
    for sentence in _notes(scores):
        echo(sentence, err=True)
    if as_json:
        print_json(_as_json(scores, per_query=per_query))
        return
    if per_query:
        for score in scores.per_query():
            echo(f"{score.query_id}\t{score.measure}\t{score.value:.4f}")
    prefix = "all\t" if per_query else ""
    for name, mean in scores.mean().items():
        echo(f"{prefix}{name}\t{mean:.4f}")


def _notes(scores: RunScores) -> list[str]:
    total = len(scores.query_ids)
    counts = {
        "without a relevant chunk score 0": scores.without_relevant,
        "are not in the run and score 0": scores.missing,
    }
    notes = [f"note: {number} of {total} queries {what}" for what, number in counts.items() if number]
    if scores.unjudged:
        notes.append(f"note: {count(scores.unjudged, 'query')} of the run not in the qrels and not scored")
    return notes


def _as_json(scores: RunScores, *, per_query: bool) -> dict[str, object]:
    report: dict[str, object] = scores.summary()
    if per_query:
        by_query: dict[str, dict[str, float]] = {query_id: {} for query_id in scores.query_ids}
        for score in scores.per_query():
            by_query[score.query_id][score.measure] = score.value
        report["per_query"] = by_query
    return report
