"""Completed runs as a table: what their texts score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from repoeval_bench.metrics import TEXT_MEASURES
from repoeval_bench.report.table import Table, figures, make_table, spec_column
from repoeval_bench.report.text import heading

if TYPE_CHECKING:
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
