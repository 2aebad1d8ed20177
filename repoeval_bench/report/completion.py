"""The table of completed runs: what their texts score, and how much a model was shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from repoeval_bench.metrics import PASSED, TEXT_MEASURES
from repoeval_bench.report.table import figures, make_table, spec_column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from repoeval_bench.report.table import Table
    from repoeval_bench.runs.view import RunView


def completion_table(runs: Sequence[RunView]) -> Table:
    """A row for each completed run, means over the protocol's own mean; notes say what was cut off."""
    measures = [name for name in (*TEXT_MEASURES, PASSED) if any(name in run.metrics.micro for run in runs)]
    rows = []
    notes = []
    for run in runs:
        done, means = run.manifest.completion, run.metrics.headline_means
        assert done is not None, "a completed run says how"
        shown = float(np.mean([float(n or 0) for n in run.scores.facts["fragments"]]))
        rows.append((run.metrics.chunker, done.context, *(means.get(name) for name in measures), shown))
        if done.cut_off:
            notes.append(
                f"note: {run.run_id}: {done.cut_off} of {len(run.scores)} answers ended at the limit of tokens "
                "(max_tokens=N in the model's spec gives more)"
            )
    first = runs[0]
    done = first.manifest.completion
    assert done is not None, "a completed run says how"
    columns = [
        spec_column("chunker"),
        spec_column("context"),
        *figures(*(name.replace("_", " ") for name in measures)),
        *figures("fragments", number=".1f"),
    ]
    title = f"{done.model} · {first.metrics.dataset.label} · {first.metrics.headline} means"
    return make_table(columns, rows, title=title, notes=notes)
