"""`segments`: for whom a run is good, and whether the overall winner loses a part."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from repoeval_bench import api
from repoeval_bench.analysis.comparison import check_comparable, run_names, shared_measures
from repoeval_bench.analysis.segments import (
    distribution,
    knee,
    recall_curves,
    segment_differences,
    segment_means,
    segment_names,
    split,
)
from repoeval_bench.cli.console import print_table
from repoeval_bench.cli.facts import facts_option, with_facts
from repoeval_bench.report.segments import differences_table, distribution_line, few_note, means_table, simpson_note
from repoeval_bench.report.text import count, heading
from repoeval_bench.runs.view import RunView, find_run

if TYPE_CHECKING:
    from repoeval_bench.analysis.segments import Segment
    from repoeval_bench.runs.query_scores import QueryScores


@click.command("segments", short_help="Say for which queries a run is good, or which of two.")
@click.argument("run")
@click.argument("other", metavar="[RUN]", required=False)
@click.option("--by", multiple=True, metavar="FACT",
              help="repo, file, or a fact such as is_method; repeat it. All but files if not given.")  # fmt: skip
@click.option("--metric", "-m", default="recall@10", show_default=True, help="The measure that is looked at.")
@facts_option
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=api.RESULTS, show_default=True,
              help="Where run folders are.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON in place of the tables.")
def segments_command(
    *, run: str, other: str | None, by: tuple[str, ...], metric: str, facts: Path | None, out: Path, as_json: bool
) -> None:
    """Split the queries of RUN by what is known of them; with a second RUN, print the paired differences.

    Example: repoeval-bench segments RUN --by repo --by is_method
    """
    runs = [find_run(name, out) for name in (run, other) if name]
    (measure,) = shared_measures(runs, [metric])
    scored, brought = with_facts(runs[0].scores, facts)
    chosen = by or brought or tuple(name for name in segment_names(scored) if name != scored.clustered_by)
    parts = [segment for name in dict.fromkeys(chosen) for segment in split(scored, name)]
    if len(runs) == 1:
        _one(runs[0], scored, parts, measure, as_json=as_json)
    else:
        check_comparable(*runs)
        _two(runs, scored, parts, measure, as_json=as_json)


def _one(run: RunView, scored: QueryScores, parts: list[Segment], measure: str, *, as_json: bool) -> None:
    found = segment_means(scored, parts, measure)
    curves = recall_curves(scored.query_ids, run.ranked_ids(), run.qrels(), run.metrics.k)
    mean_curves = [curves[segment.positions].mean(axis=0) for segment in parts]
    knees = [knee(curve) for curve in mean_curves]
    shares = distribution(scored.values[measure])
    if as_json:
        segments = [
            {**asdict(segment), "knee": k, "recall_curve": curve.tolist()}
            for segment, k, curve in zip(found, knees, mean_curves, strict=True)
        ]
        content = {"run": run.run_id, "measure": measure, "distribution": shares, "segments": segments}
        click.echo(json.dumps(content, indent=2, ensure_ascii=False))
        return
    at = [(k, float(curve[k - 1]) if k else 0.0) for k, curve in zip(knees, mean_curves, strict=True)]
    title = f"{run_names([run])[0]}: {heading(measure)} over {count(len(scored), 'query', 'queries')}"
    print_table(means_table(found, at, measure, title, scored.clustered_by))
    for line in filter(None, (distribution_line(shares, measure), few_note(found))):
        click.echo(line)
    overall = curves.mean(axis=0)
    bend = knee(overall)
    if bend is not None:
        click.echo(
            f"knee of recall over all queries: k = {bend}, recall {overall[bend - 1]:.2f} "
            f"(at {len(overall)}: {overall[-1]:.2f}); beyond it a further chunk brings less than on the average"
        )


def _two(runs: list[RunView], scored: QueryScores, parts: list[Segment], measure: str, *, as_json: bool) -> None:
    found = segment_differences(scored, runs[1].scores, parts, measure)
    means = [run.metrics.micro[measure] for run in runs]
    names = run_names(runs)
    note = simpson_note(found, means[1] - means[0], names)
    if as_json:
        content = {
            "baseline": names[0],
            "treatment": names[1],
            "measure": measure,
            "difference": means[1] - means[0],
            "note": note,
            "segments": [asdict(segment) for segment in found],
        }
        click.echo(json.dumps(content, indent=2, ensure_ascii=False))
        return
    title = f"{names[1]}\nminus {names[0]}: {heading(measure)} {means[1] - means[0]:+.4f} over all queries"
    print_table(differences_table(found, measure, title, scored.clustered_by))
    click.echo("Facts are those of the first run. Intervals are not adjusted for the number of segments.")
    for line in filter(None, (few_note(found), note)):
        click.echo(line)
