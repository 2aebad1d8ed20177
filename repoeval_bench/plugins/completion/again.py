"""A run of completions once more, from the texts that it stores: `verify` compares the two."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from repoeval_bench.core.errors import ResultError
from repoeval_bench.core.extras import require
from repoeval_bench.core.json_reader import JsonFaultError, faults_as, read_rows
from repoeval_bench.core.spec import Spec
from repoeval_bench.plugins.completion.complete import score_texts
from repoeval_bench.plugins.completion.folder import Spent, save
from repoeval_bench.runs.row_records import COMPLETIONS, CompletionRow

if TYPE_CHECKING:
    from repoeval_bench.core.benchmark import Benchmark
    from repoeval_bench.runs.records import Completed
    from repoeval_bench.runs.view import RunView


def completed_again(
    run: RunView, settings: Completed, made: RunView, benchmark: Benchmark, *, into: Path
) -> tuple[RunView, list[tuple[str, str | None, str | None]]]:
    """Return `made`, which only retrieves, completed with a run's stored texts.

    Beside it (query id, claimed, computed) of each task that only one of them has.
    """
    require("complete", "rapidfuzz")
    rows: dict[str, CompletionRow] = {}
    with faults_as(ResultError, run.folder / COMPLETIONS, "complete the run again"):
        for number, row in read_rows(run.folder / COMPLETIONS, CompletionRow):
            if row.query_id in rows:
                raise JsonFaultError(f"{row.query_id!r} appears twice", line=number)
            rows[row.query_id] = row
    tasks = [task.task_id for task in benchmark.tasks]
    other: list[tuple[str, str | None, str | None]] = []
    other += [(query_id, "completed", None) for query_id in sorted(rows.keys() - set(tasks))]
    other += [(query_id, None, "a task") for query_id in tasks if query_id not in rows]
    kept = [rows[query_id] for query_id in tasks if query_id in rows]
    if not kept:
        raise ResultError(f"{run.folder / COMPLETIONS} has no row of a task; complete the run again")
    scores = score_texts(kept, benchmark)
    again = settings.model_copy(update={"base": made.run_id, "measures": tuple(scores.values)})
    name = Spec.parse(settings.model).target or ""
    nothing = Spent(0.0, 0, {})
    return save(made, again, scores, kept, nothing, name=name, out=into, created=run.manifest.created), other
