"""The folder of a completed run: that of the run which only retrieves, under another id, with the texts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.spec import short_hash, slug
from repoeval_bench.runs.inspection import CHUNKS, QUERIES, SOURCES
from repoeval_bench.runs.provenance import code_state, versions
from repoeval_bench.runs.records import (
    COMPLETIONS,
    MANIFEST,
    QRELS,
    RETRIEVED,
    RUN,
    Completed,
    CompletionRow,
    Means,
    Metrics,
    QueryRow,
    TimeRow,
)
from repoeval_bench.runs.store import RunFiles, jsonl, write_folder
from repoeval_bench.runs.view import RunView

if TYPE_CHECKING:
    from repoeval_bench.metrics import RunScores

STEP = "complete"
"""The step of timings.jsonl: its seconds, requests that were sent, and tokens that the server counted for them."""


class Spent(NamedTuple):
    """Seconds, requests that were sent, and tokens as the server counted them."""

    seconds: float
    sent: int
    usage: Mapping[str, int]


def base_run(run: RunView) -> RunView:
    """Return the run itself, or that whose tasks it completes; a UsageError where it is gone."""
    completed = run.manifest.completion
    if completed is None:
        return run
    folder = run.folder.parent / completed.base
    if not (folder / MANIFEST).is_file():
        raise UsageError(f"{run.run_id} is the completed {completed.base}, which is not beside it; complete that one")
    return RunView.open(folder)


def save(
    run: RunView,
    settings: Completed,
    scores: RunScores,
    rows: Sequence[CompletionRow],
    spent: Spent,
    *,
    name: str,
    out: Path,
    created: str,
) -> RunView:
    """Write the completions of a run; `name` is that of the model, for the run's id and for tables."""
    identity = {key: value for key, value in settings.as_json().items() if key != "cut_off"}
    digest = short_hash(json.dumps(identity, sort_keys=True))
    run_id = f"{settings.base.rpartition('-')[0]}_{slug(name, 32)}-{settings.context}-{digest}"
    queries = _queries(run, rows, scores)
    shown = {"run_id": run_id, "completion": f"{name} {settings.context}"}
    metrics = _metrics(run.metrics, queries).model_copy(update=shown)
    manifest = run.manifest.model_copy(
        update={
            "run_id": run_id,
            "created": created,
            "completion": settings,
            "code": code_state(),
            "versions": versions(),
        }
    )
    timing = TimeRow(step=STEP, seconds=round(spent.seconds, 4), encoded=spent.sent, usage=dict(spent.usage))
    times = [
        TimeRow(query_id=query_id, latency_ms=dict(milliseconds))
        for query_id, milliseconds in run.timings.queries.items()
    ]
    stored = {name: (run.folder / name).read_bytes() for name in (SOURCES, CHUNKS, QUERIES)}
    files = RunFiles(
        manifest=manifest,
        metrics=metrics,
        queries=queries,
        timings=[*run.timings.steps, timing, *times],
        run=run.text(RUN),
        qrels=run.text(QRELS),
        log=run.text(RETRIEVED),
        inspection=stored | {COMPLETIONS: jsonl(row.as_json() for row in rows).encode()},
    )
    return RunView(write_folder(out / run_id, files))


def _queries(run: RunView, rows: Sequence[CompletionRow], scores: RunScores) -> list[QueryRow]:
    """Return the rows of the completed queries, with their measures of texts and how much was shown."""
    columns = {name: values.tolist() for name, values in scores.values.items()}
    by_id = {row.query_id: row for row in run.query_rows()}
    queries = []
    for index, row in enumerate(rows):
        query = by_id[row.query_id]
        facts = {**query.facts, "fragments": len(row.fragments), "prompt_tokens": row.prompt_tokens}
        measures = query.measures | {name: column[index] for name, column in columns.items()}
        queries.append(query.model_copy(update={"facts": facts, "measures": measures}))
    return queries


def _metrics(metrics: Metrics, queries: Sequence[QueryRow]) -> Metrics:
    """Return the metrics of a run with the means of the measures that were added."""
    rows = [row.measures for row in queries]
    means = Means.of({name: [row[name] for row in rows] for name in rows[0]}, [row.repo or "all" for row in queries])
    return metrics.model_copy(update={"micro": means.micro, "macro": means.macro, "per_repo": means.per_repo})
