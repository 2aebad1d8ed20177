"""Run folders with chosen scores, as `eval` writes them: what statistics, segments and gates read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from repoeval_bench.runs.store import SCHEMA, StoredRun, means
from repoeval_bench.runs.trec import as_field, format_run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


def write_run(
    folder: Path,
    values: Mapping[str, Sequence[float]],
    *,
    files: Sequence[str] | None = None,
    repos: Sequence[str] | None = None,
    facts: Sequence[Mapping[str, Any]] | None = None,
    query_ids: Sequence[str] | None = None,
    latency: Sequence[float] = (),
    topk: Mapping[str, Sequence[str]] | None = None,
    qrels: Mapping[str, Mapping[str, float]] | None = None,
    **changed: Any,
) -> StoredRun:
    """A run whose query i has values[measure][i], stands in files[i] of repos[i], and has facts[i]."""
    folder.mkdir(parents=True, exist_ok=True)
    n = len(next(iter(values.values())))
    ids = list(query_ids or (f"q{i:06d}" for i in range(n)))
    places = list(repos or ["repo"] * n)
    paths: list[str | None] = list(files) if files else [None] * n
    metrics = {
        "run_id": folder.name,
        "dataset": {"name": "made", "fingerprint": "0" * 12, "label": "made · 0", "tasks": n},
        "protocol": "context",
        "headline": "micro",
        "chunker": folder.name,
        "embedder": "minilm",
        "retriever": "dense",
        "k": 100,
        "counts": {"queries": n},
        "chunk_nws": {"mean": 1.0, "median": 1, "p95": 1},
        **means({name: list(column) for name, column in values.items()}, places),
        "ceilings": means({}, places),
        **changed,
    }
    rows = []
    for i, query_id in enumerate(ids):
        gold = (qrels or {}).get(query_id, {"c": 1.0})
        rows.append(
            {
                "query_id": query_id,
                "repo": places[i],
                "path": paths[i],
                "n_relevant": len(gold),
                "facts": dict(facts[i]) if facts else {},
                "metrics": {name: column[i] for name, column in values.items()},
            }
        )
    _lines(folder / "per_query.jsonl", rows)
    (folder / "metrics.json").write_text(json.dumps(metrics))
    logs = [
        {
            "query_id": query_id,
            "system": folder.name,
            "k_raw": 100,
            "topk": [
                {"rank": r, "chunk_id": c, "score": -r} for r, c in enumerate((topk or {}).get(query_id, ["c"]), 1)
            ],
        }
        for query_id in ids
    ]
    _lines(folder / "retrieved.jsonl", logs)
    ranked = {q: [(c, -float(r)) for r, c in enumerate((topk or {}).get(q, ["c"]), 1)] for q in ids}
    (folder / "run.trec").write_text(format_run(ranked, folder.name))
    lines = [
        f"{as_field(query_id, 'query id')} 0 {chunk} {int(gain)}\n"
        for query_id in ids
        for chunk, gain in ((qrels or {}).get(query_id, {"c": 1.0}) or {"none": 0}).items()
    ]
    (folder / "qrels.trec").write_text("".join(lines))
    timings = [{"query_id": q, "latency_ms": {"retrieve": ms}} for q, ms in zip(ids, latency, strict=False)]
    _lines(folder / "timings.jsonl", [{"step": "judge", "seconds": 1.0}, *timings])
    manifest = {
        "schema": SCHEMA,
        "run_id": folder.name,
        "qrels_gain_factor": 1,
        "config": {"embedder_identity": {"precision": "fp32"}},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return StoredRun(folder)


def _lines(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
