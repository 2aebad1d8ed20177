"""A run log of another system as a run folder, so that every command reads it like a run made here."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from hashlib import sha256
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, NamedTuple

from repoeval_bench.core.errors import ResultError
from repoeval_bench.core.spec import short_hash, slug
from repoeval_bench.metrics import score_run
from repoeval_bench.metrics.condensed import bpref, judged_at
from repoeval_bench.runs.log_gold import judge_log, places_of, read_log
from repoeval_bench.runs.provenance import code_state, versions
from repoeval_bench.runs.store import (
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
from repoeval_bench.runs.trec import format_qrels, run_lines

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from pathlib import Path
    from typing import Self, TextIO

    from repoeval_bench.runs.log import LogRow
    from repoeval_bench.runs.log_gold import ByFile, Judgements
    from repoeval_bench.runs.store import StoredRun


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
    try:
        # What is read of a log takes many times its bytes in memory, so that it waits on disk to be written.
        with _waiting() as spool, _waiting() as run_text:
            heard = _Log.read(log, spool, shown=corpus is None)
            return _store(
                heard, run_text, log, gold, results, measures=measures, created=created, corpus=corpus, timings=timings
            )
    except OSError as error:
        raise ResultError(f"{error}; make room for a copy of {log}, or name another folder with TMPDIR") from error


def _waiting() -> TextIO:
    return TemporaryFile("w+", encoding="utf-8", newline="\n")


class _Row(NamedTuple):
    """What of a log's row is looked at when its rankings are known."""

    facts: dict[str, Any]
    conversation: str | None
    as_of: str | None
    latency_ms: dict[str, float] | None


@dataclass(frozen=True, slots=True)
class _Log:
    """A log read once: `rows` and `rankings` by query, the places that are `shown`, and every row as it is stored.

    `first` is the first row. `spool` holds the rows' lines in the order of `rows`.
    """

    rows: dict[str, _Row]
    rankings: dict[str, list[tuple[str, float]]]
    shown: ByFile
    first: LogRow
    spool: TextIO

    @classmethod
    def read(cls, path: Path, spool: TextIO, *, shown: bool) -> Self:
        """Read and check the log; where it stands is gathered of every chunk if that is to be `shown`."""
        rows: dict[str, _Row] = {}
        rankings: dict[str, list[tuple[str, float]]] = {}
        ids: dict[str, str] = {}
        first: LogRow | None = None

        def heard() -> Iterator[LogRow]:
            nonlocal first
            for row in read_log(path):
                first = first or row
                rows[row.query_id] = _Row(
                    row.model_dump(include={"source", "no_answer", "query_tokens"}, exclude_none=True),
                    row.conversation,
                    row.as_of,
                    row.latency_ms.model_dump(exclude_none=True) if row.latency_ms else None,
                )
                # A chunk is retrieved for many queries: its id is held once.
                rankings[row.query_id] = [
                    (ids.setdefault(each.chunk_id, each.chunk_id), each.score) for each in row.topk
                ]
                # Without empty fields, so that a field more in the contract gives no run another name.
                spool.write(jsonl([row.model_dump(exclude_none=True, exclude={"latency_ms"})]))
                yield row

        places = places_of(heard()) if shown else {}
        if not shown:
            for _ in heard():
                pass
        assert first is not None
        return cls(rows, rankings, places, first, spool)

    def lines(self, kept: Collection[str]) -> Iterator[tuple[str, str]]:
        """(query_id, line) of the rows of these queries."""
        self.spool.seek(0)
        for query_id, line in zip(self.rows, self.spool, strict=True):
            if query_id in kept:
                yield query_id, line

    def digest(self, kept: Collection[str]) -> str:
        """A hash of the rows of these queries, with their latencies: what gives the run its name."""
        digest = sha256(b"[")
        separator = ""
        for query_id, line in self.lines(kept):
            latency = self.rows[query_id].latency_ms
            row = json.loads(line) | ({} if latency is None else {"latency_ms": latency})
            digest.update((separator + json.dumps(row, sort_keys=True, ensure_ascii=False)).encode("utf-8"))
            separator = ", "
        digest.update(b"]")
        return digest.hexdigest()[:8]


def _store(
    heard: _Log,
    run_text: TextIO,
    log: Path,
    gold: Path,
    results: Path,
    *,
    measures: Sequence[str],
    created: str,
    corpus: Path | None,
    timings: Path | None,
) -> StoredRun:
    rows, rankings, first = heard.rows, heard.rankings, heard.first
    unanswerable = {query_id for query_id, row in rows.items() if row.facts.get("no_answer")}
    judged = _answerable(judge_log(heard.shown, gold, corpus), unanswerable, log, gold)
    if not judged.gains.keys() & rows.keys():
        raise ResultError(f"{log} and {gold} share no query; check their query_id")
    relevant = {query_id: {c: g for c, g in gains.items() if g > 0} for query_id, gains in judged.gains.items()}
    scores = score_run(rankings, relevant, measures)
    values = {name: column.tolist() for name, column in scores.values.items()} | _incomplete(judged, rankings)
    parameters = ",".join(f"{key}={value}" for key, value in first.chunker.parameters.items())
    chunker = first.chunker.algo + (f":{parameters}" if parameters else "")
    fingerprint = short_hash(json.dumps(judged.gains if judged.kind == "chunks" else _gold_text(gold)), 12)
    kept = {q: row for q, row in rows.items() if q in judged.gains or q in unanswerable}
    digest = heard.digest(kept)
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
    as_ofs = sorted(row.as_of for row in kept.values() if row.as_of)
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
    # Before anything is written: scores that rise are refused.
    run_text.writelines(run_lines({q: rankings[q] for q in rows if q in judged.gains}, first.system))
    run_text.seek(0)
    files: dict[str, str | bytes | Iterable[str]] = {
        METRICS: pretty(metrics),
        PER_QUERY: jsonl(_per_query(judged, rows, values)),
        RUN: run_text,
        QRELS: text,
        RETRIEVED: (line for _, line in heard.lines(kept)),
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
    judged: Judgements, rows: Mapping[str, _Row], values: Mapping[str, Sequence[float]]
) -> Iterator[dict[str, Any]]:
    queries = list(judged.gains)
    # All queries are clustered alike: by their gold's file, else by conversation, else each stands alone.
    by_file = len(judged.files) == len(queries)
    by_talk = all((row := rows.get(query_id)) is not None and row.conversation for query_id in queries)
    for i, query_id in enumerate(queries):
        row = rows.get(query_id)
        facts = {} if row is None else row.facts
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


def _timings(rows: Mapping[str, _Row], path: Path | None) -> Iterator[dict[str, Any]]:
    joined = {} if path is None else _read_timings(path)
    for query_id, row in rows.items():
        if latency := {**joined.get(query_id, {}), **(row.latency_ms or {})}:
            yield {"query_id": query_id, "latency_ms": latency}


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
