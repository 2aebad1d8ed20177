"""`sweep`: every measure against the realised size of the chunks, or against the cutoff k."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from repoeval_bench.analysis.recall_curves import K_MEASURES, sweep_row
from repoeval_bench.cli.answer import unmade_rows
from repoeval_bench.cli.console import print_json, print_tables
from repoeval_bench.cli.echo import echo
from repoeval_bench.cli.options import execution_options, requests_of, run_options, words_of
from repoeval_bench.metrics import CEILING, SHARE
from repoeval_bench.report.answer import skipped_notes
from repoeval_bench.report.scores import too_short
from repoeval_bench.report.table import Table, figures, make_table, spec_column, with_notes
from repoeval_bench.report.text import heading
from repoeval_bench.runs.problems import Problems, at_sizes
from repoeval_bench.runs.runner import runner_on

if TYPE_CHECKING:
    from repoeval_bench.runs.request import ExecutionRequest
    from repoeval_bench.runs.view import RunView


@click.command("sweep")
@run_options
@execution_options
@click.option(
    "--sizes",
    multiple=True,
    metavar="N,…",
    callback=partial(words_of, kind=int),
    help="Values for each chunker's own size option, such as 500,1000; without --sizes, k is swept.",
)
def sweep_command(
    *,
    chunker: tuple[str, ...],
    out: Path,
    home: Path | None,
    execution: ExecutionRequest,
    as_json: bool,
    sizes: tuple[int, ...] | None,
    **fields: Any,
) -> None:
    """Evaluate each --chunker at each of --sizes, and print every measure beside the mean size of its chunks.

    Without --sizes it prints recall and nDCG at k = 1, 3, 5, 10, 20, 50, the area under recall over k, and the knee.
    The knee is the k whose recall is farthest above a straight line from the first k to the last. Stored runs are
    reused.

    A chunker's other options do not change. To sweep an overlap, name several: -c ast:overlap=0 -c ast:overlap=5
    --sizes 500,1500. `window` keeps the ratio of step to lines.
    """
    problems = Problems()
    if not sizes and not fields["measures"]:
        fields["measures"] = K_MEASURES
    requests = at_sizes(requests_of(chunker, fields), sizes or (), problems)
    with runner_on(execution, requests, out=out, home=home, problems=problems) as runner:
        (setting,) = runner.settings
        runs = [run for run in runner.run(setting, reuse=True) if run]
        _print(runs, runner.skipped_of(setting), unmade_rows(runner), as_json=as_json)


def _print(runs: Sequence[RunView], skipped: Iterable[str], unmade: list[dict[str, str]], *, as_json: bool) -> None:
    rows = [sweep_row(run) for run in runs]
    if as_json:
        print_json([*rows, *unmade])
        return
    if not runs:
        return
    metrics = runs[0].metrics
    echo(metrics.dataset.label)
    echo(f"protocol {metrics.protocol} · embedder {metrics.embedder} · retriever {metrics.retriever}")
    short = [f"{run.metrics.chunker}: {line}" for run in runs if (line := too_short(run.metrics))]
    print_tables(with_notes([_table(rows)], [*short, *skipped_notes(skipped)]))


def _table(rows: Sequence[dict[str, Any]]) -> Table:
    names = [name for name in rows[0] if name != "chunker" and not name.endswith((CEILING, SHARE))]
    columns = [spec_column("chunker")]
    for name in names:
        number = "" if name in {"mean_nws", "chunks", "knee"} else ".4f"
        columns += figures(heading(name).replace("_", " "), number=number)
    return make_table(columns, ([row["chunker"], *(row[name] for name in names)] for row in rows))
