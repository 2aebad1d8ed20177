"""The folder of a completed run: that of the run which only retrieves, under another id, with what was written.

Where tests leave tasks out, these are left out of every file, so that all measures are over the same queries.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.spec import short_hash, slug
from repoeval_bench.runs.inspection import CHUNKS, QUERIES, SOURCES
from repoeval_bench.runs.provenance import code_state, versions
from repoeval_bench.runs.records import MANIFEST, QRELS, RETRIEVED, RUN, Averages, Completed, Means, Metrics
from repoeval_bench.runs.row_records import COMPLETIONS, CompletionRow, QueryRow, TimeRow
from repoeval_bench.runs.store import RunFiles, jsonl, write_folder
from repoeval_bench.runs.trec import as_field
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
    """The run that only retrieves: the run itself, or that whose tasks it completes; a UsageError where it is gone."""
    done = run.manifest.completion
    if done is None:
        return run
    folder = run.folder.parent / done.base
    if not (folder / MANIFEST).is_file():
        raise UsageError(f"{run.run_id} is the completed {done.base}, which is not beside it; complete that one")
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
    """Write what was completed of a run; `name` is that of the model, for the run's id and for tables."""
    asked = {key: value for key, value in settings.as_json().items() if key != "cut_off"}
    digest = short_hash(json.dumps(asked, sort_keys=True))
    how = f"{settings.context}-executed" if settings.executed else settings.context
    run_id = f"{settings.base.rpartition('-')[0]}_{slug(name, 32)}-{how}-{digest}"
    queries = _queries(run, rows, scores)
    metrics = _metrics(run.metrics, queries).model_copy(update={"run_id": run_id, "completion": f"{name} {how}"})
    manifest = run.manifest.model_copy(
        update={
            "run_id": run_id,
            "created": created,
            "completion": settings,
            "counts": metrics.counts,
            "code": code_state(),
            "versions": versions(),
        }
    )
    kept = {as_field(row.query_id, "query id") for row in rows}
    timing = TimeRow(step=STEP, seconds=round(spent.seconds, 4), encoded=spent.sent, usage=dict(spent.usage))
    asked_for = {row.query_id for row in rows}
    times = [
        TimeRow(query_id=query_id, latency_ms=dict(milliseconds))
        for query_id, milliseconds in run.timings.queries.items()
        if query_id in asked_for
    ]
    stored = {each: (run.folder / each).read_bytes() for each in (SOURCES, CHUNKS, QUERIES)}
    files = RunFiles(
        manifest=manifest,
        metrics=metrics,
        queries=queries,
        timings=[*run.timings.steps, timing, *times],
        run=_of(kept, run.text(RUN)),
        qrels=_of(kept, run.text(QRELS)),
        log=_logged(asked_for, run.text(RETRIEVED)),
        inspection=stored | {COMPLETIONS: jsonl(row.as_json() for row in rows).encode()},
    )
    return RunView(write_folder(out / run_id, files))


def _queries(run: RunView, rows: Sequence[CompletionRow], scores: RunScores) -> list[QueryRow]:
    """The rows of the queries that were completed, with their measures of texts and how much was shown."""
    columns = {name: values.tolist() for name, values in scores.values.items()}
    by_id = {row.query_id: row for row in run.query_rows()}
    found = []
    for at, row in enumerate(rows):
        query = by_id[row.query_id]
        facts = {**query.facts, "fragments": len(row.fragments), "prompt_tokens": row.prompt_tokens}
        measures = query.measures | {name: column[at] for name, column in columns.items()}
        found.append(query.model_copy(update={"facts": facts, "measures": measures}))
    return found


def _metrics(metrics: Metrics, queries: Sequence[QueryRow]) -> Metrics:
    """The means over these queries."""
    repos = [row.repo or "all" for row in queries]

    def means(rows: Sequence[Mapping[str, float]]) -> Means:
        return Means.of({name: [row[name] for row in rows] for name in rows[0]}, repos)

    found = means([row.measures for row in queries])
    leak = means([row.leak for row in queries])
    counts = metrics.counts
    if len(queries) < counts.queries:
        unknown = dict.fromkeys(("queries_truncated", "queries_tokens", "queries_tokens_lost", "queries_not_read"))
        without = sum(row.n_relevant == 0 for row in queries)
        counts = counts.model_copy(
            update={"queries": len(queries), "queries_without_relevant": without}
            | {name: value for name, value in unknown.items() if name in counts.model_fields_set}
        )
    return metrics.model_copy(
        update={
            "counts": counts,
            "micro": found.micro,
            "macro": found.macro,
            "per_repo": found.per_repo,
            "ceilings": means([row.ceilings for row in queries]),
            "leak": Averages(micro=leak.micro, macro=leak.macro),
        }
    )


def _of(kept: set[str], text: str) -> str:
    """The lines of a TREC file that are about these queries."""
    return "".join(line for line in text.splitlines(keepends=True) if line.partition(" ")[0] in kept)


def _logged(kept: set[str], text: str) -> str:
    """The rows of a run log that are about these queries."""
    return "".join(f"{line}\n" for line in text.split("\n") if line and json.loads(line)["query_id"] in kept)
