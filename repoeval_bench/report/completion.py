"""Completed runs as tables: what their texts score, and which measure of retrieval predicts that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from repoeval_bench.metrics import TEXT_MEASURES
from repoeval_bench.report.table import Table, figures, make_table, spec_column, with_notes
from repoeval_bench.report.text import cluster_count, heading, interval

if TYPE_CHECKING:
    from repoeval_bench.analysis.records import Interval
    from repoeval_bench.analysis.validity import Target, Validity
    from repoeval_bench.runs.view import RunView


def completion_table(runs: Sequence[RunView]) -> Table:
    """A row for each completed run: means over the protocol's own mean, fragments shown, answers that were cut off."""
    measures = [name for name in TEXT_MEASURES if any(name in run.metrics.micro for run in runs)]
    rows = []
    notes = []
    done = [run.manifest.completion for run in runs if run.manifest.completion]
    for run, completed in zip(runs, done, strict=True):
        means = run.metrics.headline_means
        shown = float(np.mean([float(n or 0) for n in run.scores.facts["fragments"]]))
        scored = (len(run.scores), *(means.get(name) for name in measures), shown, completed.cut_off)
        rows.append((run.metrics.chunker, completed.context, *scored))
    if any(each.cut_off for each in done):
        notes.append("cut off: answers that ended at the limit of tokens; max_tokens=N in the model's spec gives more")
    columns = [
        spec_column("chunker"),
        spec_column("context"),
        *figures("tasks", number=","),
        *figures(*map(heading, measures)),
        *figures("fragments", number=".1f"),
        *figures("cut off", number=","),
    ]
    first = runs[0].metrics
    title = f"{done[0].model} · {first.dataset.label} · {first.headline} means"
    return make_table(columns, rows, title=title, notes=dict.fromkeys(notes))


def validity_tables(found: Validity) -> list[Table]:
    """A table for each measure of completions, the best predictor first; limits are noted below the last one."""
    tables = [_table(target, found) for target in found.targets]
    return with_notes(tables, _notes(found))


def _table(target: Target, found: Validity) -> Table:
    rows = [
        (
            heading(each.measure),
            each.within,
            _interval(each.within_ci),
            None if each.first_in is None else f"{each.first_in:.0%}",
            each.over,
            _interval(each.over_ci),
        )
        for each in target.predictors
    ]
    columns = [
        spec_column("measure"),
        *figures("within queries", number="+.3f"),
        spec_column("95 %"),
        *figures("first in"),
        *figures("over runs", number="+.3f"),
        spec_column("95 % of these"),
    ]
    title = (
        f"what predicts {heading(target.measure)}: rank correlations over {len(found.runs)} runs, "
        f"{target.varying} of {found.n_queries} queries with completions that differ"
    )
    return make_table(columns, rows, title=title)


def _interval(ends: Interval) -> str:
    return "-" if ends is None else interval(ends, "+.3f")


def _notes(found: Validity) -> list[str]:
    among = cluster_count(found.n_clusters, found.clustered_by)
    return [
        f"model {found.model}; runs: {', '.join(found.runs)}.",
        "within queries: does the run with the higher value for a query have its better completion too? Ranks of the "
        "runs, centred in each query. A query whose completions score alike counts against a measure that differs. "
        f"over runs: Spearman's correlation of the runs' {found.mean} means.",
        f"Intervals are expanded percentiles of a bootstrap over {among}; first in: share of resamples "
        "in which the measure predicts best within queries.",
        f"limits: {len(found.runs)} runs that share texts are few for a correlation over runs. The measure at the top "
        "was picked as the best of all of these. Another model, budget or protocol can order them otherwise.",
    ]
