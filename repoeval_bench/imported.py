"""A run log of another system as a run folder, so that every command reads it like a run made here."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from repoeval_bench.errors import ResultError
from repoeval_bench.foreign import judge_log, read_log
from repoeval_bench.incomplete import bpref, judged_at
from repoeval_bench.metrics import score_run
from repoeval_bench.provenance import code_state, versions
from repoeval_bench.spec import short_hash, slug
from repoeval_bench.store import (
    METRICS,
    PER_QUERY,
    QRELS,
    RETRIEVED,
    RUN,
    SCHEMA,
    TIMINGS,
    jsonl,
    means,
    pretty,
    write_folder,
)
from repoeval_bench.trec import format_qrels, format_run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    from repoeval_bench.foreign import Judgements
    from repoeval_bench.runlog import LogRow
    from repoeval_bench.store import StoredRun


def import_run(
    log: Path,
    gold: Path,
    results: Path,
    *,
    measures: Sequence[str],
    created: str,
    corpus: Path | None = None,
    timings: Path | None = None,
) -> StoredRun:
    """Judge a log and store it as a run.

    Every query of the gold is scored: 0 where the log lacks it. Queries of the log without gold are left out and
    counted; those that are `no_answer` are kept in the log and not scored, for there is nothing to be found.
    `timings` holds rows with query_id and latency_ms, which the log's own go before. Beside `measures`, judged@5,
    judged@10 and bpref are scored. A log and a gold that share no query, and an answer to a query that is
    `no_answer`, are a ResultError.
    """
    rows = {row.query_id: row for row in read_log(log)}
    unanswerable = {query_id for query_id, row in rows.items() if row.no_answer}
    judged = _answerable(judge_log(rows.values(), gold, corpus), unanswerable, log, gold)
    if not judged.gains.keys() & rows.keys():
        raise ResultError(f"{log} and {gold} share no query; check their query_id")
    rankings = {query_id: [(each.chunk_id, each.score) for each in row.topk] for query_id, row in rows.items()}
    relevant = {query_id: {c: g for c, g in gains.items() if g > 0} for query_id, gains in judged.gains.items()}
    scores = score_run(rankings, relevant, measures)
    values = {name: column.tolist() for name, column in scores.values.items()} | _incomplete(judged, rankings)
    first = next(iter(rows.values()))
    parameters = ",".join(f"{key}={value}" for key, value in first.chunker.parameters.items())
    chunker = first.chunker.algo + (f":{parameters}" if parameters else "")
    fingerprint = short_hash(json.dumps(judged.gains if judged.kind == "chunks" else _gold_text(gold)), 12)
    kept = [row for query_id, row in rows.items() if query_id in judged.gains or query_id in unanswerable]
    # Without empty fields, so that a field more in the contract gives no run another name.
    log_rows = [row.model_dump(exclude_none=True) for row in kept]
    digest = short_hash(json.dumps(log_rows, sort_keys=True, ensure_ascii=False))
    run_id = f"imported-{fingerprint}_{slug(first.system)}-{digest}"
    n = len(judged.gains)
    dataset = {
        "name": f"imported-{gold.stem}",
        "fingerprint": fingerprint,
        "label": f"imported, {n} queries · {fingerprint}",
        "tasks": n,
    }
    counts = {
        "queries": n,
        "queries_without_relevant": scores.without_relevant,
        "queries_not_in_log": scores.missing,
        "queries_without_gold": len(rows.keys() - judged.gains.keys() - unanswerable),
        "queries_no_answer": len(unanswerable),
    }
    metrics = {
        "run_id": run_id,
        "imported": True,
        "dataset": dataset,
        "protocol": f"imported+gold={judged.kind}" + ("+pooled" if judged.pooled else ""),
        "headline": "micro",
        "chunker": chunker,
        "embedder": f"index {first.index_version}",
        "retriever": first.system,
        "k": first.k_raw,
        "counts": counts,
        **means(values, ["all"] * n),
    }
    text, factor = format_qrels(judged.gains)
    as_ofs = sorted(row.as_of for row in kept if row.as_of)
    manifest = {
        "schema": SCHEMA,
        "run_id": run_id,
        "created": created,
        "imported": {"log": log.name, "gold": gold.name, "gold_kind": judged.kind, "pooled": judged.pooled},
        "dataset": dataset,
        "counts": counts,
        "qrels_gain_factor": factor,
        "index_version": first.index_version,
        "as_of": [as_ofs[0], as_ofs[-1]] if as_ofs else None,
        "code": code_state(),
        "versions": versions(),
    }
    files = {
        METRICS: pretty(metrics),
        PER_QUERY: jsonl(_per_query(judged, rows, values)),
        RUN: format_run({q: rankings[q] for q in rows if q in judged.gains}, first.system),
        QRELS: text,
        RETRIEVED: jsonl(row.model_dump(exclude_none=True, exclude={"latency_ms"}) for row in kept),
        TIMINGS: jsonl(_timings(kept, timings)),
    }
    return write_folder(results / run_id, files, manifest)


def _answerable(judged: Judgements, unanswerable: AbstractSet[str], log: Path, gold: Path) -> Judgements:
    """The judgements without those of queries that are known to have no answer."""
    for query_id in sorted(unanswerable & judged.gains.keys()):
        if query_id in judged.files or any(gain > 0 for gain in judged.gains[query_id].values()):
            raise ResultError(
                f"query {query_id!r} is no_answer in {log}, but {gold} has an answer to it; mend one of them"
            )
    return replace(judged, gains={q: gains for q, gains in judged.gains.items() if q not in unanswerable})


def _gold_text(gold: Path) -> list[str]:
    return sorted(line.strip() for line in gold.read_text(encoding="utf-8-sig").splitlines() if line.strip())


def _incomplete(judged: Judgements, rankings: Mapping[str, Sequence[tuple[str, float]]]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {"judged@5": [], "judged@10": [], "bpref": []}
    for query_id, gains in judged.gains.items():
        ids = [chunk_id for chunk_id, _ in rankings.get(query_id, ())]
        found["judged@5"].append(judged_at(ids, gains, 5))
        found["judged@10"].append(judged_at(ids, gains, 10))
        found["bpref"].append(bpref(ids, gains))
    return found


def _per_query(
    judged: Judgements, rows: Mapping[str, LogRow], values: Mapping[str, Sequence[float]]
) -> Iterator[dict[str, Any]]:
    queries = list(judged.gains)
    # All queries are clustered alike: by their gold's file, else by conversation, else each stands alone.
    by_file = len(judged.files) == len(queries)
    by_talk = all((row := rows.get(query_id)) is not None and row.conversation for query_id in queries)
    for i, query_id in enumerate(queries):
        row = rows.get(query_id)
        facts = (
            {} if row is None else row.model_dump(include={"source", "no_answer", "query_tokens"}, exclude_none=True)
        )
        cluster: dict[str, Any] = {}
        if by_file:
            cluster = {"path": judged.files[query_id]}
        elif by_talk and row is not None:
            cluster = {"cluster": row.conversation, "cluster_by": "conversation"}
        yield {
            "query_id": query_id,
            "repo": None,
            **cluster,
            "n_relevant": sum(gain > 0 for gain in judged.gains[query_id].values()),
            "facts": facts,
            "metrics": {name: column[i] for name, column in values.items()},
        }


def _timings(rows: Sequence[LogRow], path: Path | None) -> Iterator[dict[str, Any]]:
    joined = {} if path is None else _read_timings(path)
    for row in rows:
        own = row.latency_ms.model_dump(exclude_none=True) if row.latency_ms else {}
        if latency := {**joined.get(row.query_id, {}), **own}:
            yield {"query_id": row.query_id, "latency_ms": latency}


def _read_timings(path: Path) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ResultError(f"{path} cannot be read ({error}); give a JSONL file with --timings") from error
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
            if "query_id" in row:
                found[row["query_id"]] = {step: float(ms) for step, ms in row["latency_ms"].items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ResultError(f"{path}:{number}: no row with query_id and latency_ms ({error})") from error
    return found
