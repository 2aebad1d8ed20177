"""`diff`: the queries whose score changed between two runs, and why."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from repoeval_bench import api
from repoeval_bench.analysis.comparison import check_comparable, run_names, shared_measures
from repoeval_bench.analysis.diff import changes
from repoeval_bench.cli.console import print_table
from repoeval_bench.metrics import Measure
from repoeval_bench.metrics.condensed import UNREGISTERED
from repoeval_bench.report.table import Column, figures, make_table, spec_column
from repoeval_bench.report.text import count, heading
from repoeval_bench.runs.view import find_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from repoeval_bench.analysis.diff import Change
    from repoeval_bench.report.table import Table


@click.command("diff", short_help="List the queries whose score changed, and why.")
@click.argument("baseline", metavar="RUN")
@click.argument("treatment", metavar="RUN")
@click.option("--metric", "-m", default="ndcg@10", show_default=True, help="The measure that is looked at.")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="How many to print.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=api.RESULTS, show_default=True,
              help="Where run folders are.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print every changed query as JSON, with its chunks.")
def diff_command(*, baseline: str, treatment: str, metric: str, limit: int, out: Path, as_json: bool) -> None:
    """List the queries whose score differs between two RUNs, the largest change first.

    Example: repoeval-bench diff RUN RUN --metric recall@10
    """
    runs = (find_run(baseline, out), find_run(treatment, out))
    check_comparable(*runs)
    (name,) = shared_measures(runs, [metric])
    first, second = runs
    k = _cutoff(name)
    found = list(
        changes(
            first.scores.query_ids,
            (first.scores.by_query(name), second.scores.by_query(name)),
            (first.ranked_ids(), second.ranked_ids()),
            (first.qrels(), second.qrels()),
            k,
        )
    )
    found.sort(key=lambda change: (-abs(change.change), change.query_id))
    if as_json:
        click.echo(json.dumps([asdict(change) for change in found], indent=2, ensure_ascii=False))
        return
    names = run_names(runs)
    click.echo(f"baseline   {names[0]}\ntreatment  {names[1]}")
    total = len(first.scores)
    if not found:
        click.echo(f"{heading(name)}: no query of {total} changed")
        return
    print_table(_table(name, found[:limit]))
    for line in _summary(name, found, total, limit):
        click.echo(line)


def _cutoff(name: str) -> int | None:
    """The measure's k; None for the whole ranking, where there is none or it counts characters."""
    if name in UNREGISTERED:
        return None
    measure = Measure.parse(name)
    return measure.k if measure.definition.unit == "rank" else None


def _table(name: str, found: Sequence[Change]) -> Table:
    columns = [
        spec_column("query", 50),
        *figures("change", number="+.4f"),
        *figures("value", "relevant", "found", "first at rank", "shared"),
        Column(name="why"),
    ]
    rows = []
    for change in found:
        a, b = change.baseline, change.treatment
        rows.append(
            (
                change.query_id,
                change.change,
                f"{a.value:.4f} -> {b.value:.4f}",
                f"{a.relevant} -> {b.relevant}",
                f"{a.hits} -> {b.hits}",
                f"{a.first_hit or '-'} -> {b.first_hit or '-'}",
                f"{change.shared} of {len(b.top)}",
                change.why,
            )
        )
    return make_table(columns, rows, title=f"{heading(name)}, baseline -> treatment")


def _summary(name: str, found: Sequence[Change], total: int, limit: int) -> list[str]:
    reasons = [change.why for change in found]
    up = sum(change.change > 0 for change in found)
    lines = [
        f"{heading(name)} changed in {len(found)} of {count(total, 'query', 'queries')}: {up} up, {len(found) - up} "
        f"down; {', '.join(f'{why} {reasons.count(why)}' for why in dict.fromkeys(reasons))}"
    ]
    if len(found) > limit:
        lines.append(f"the {limit} largest are shown; --limit N or --json shows more")
    return lines
