"""A run log of another system as a run folder, so that every command reads it like a run made here."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, NamedTuple

from repoeval_bench.core.errors import ResultError
from repoeval_bench.core.spec import short_hash, slug
from repoeval_bench.metrics import score_run
from repoeval_bench.metrics.condensed import bpref, judged_at
from repoeval_bench.runs.import_gold import judge_log, places_of, read_log
from repoeval_bench.runs.log import read_rows
from repoeval_bench.runs.provenance import code_state, versions
from repoeval_bench.runs.records import (
    SCHEMA,
    Counts,
    DatasetRecord,
    ImportSource,
    Manifest,
    Means,
    Metrics,
    QueryRow,
    TimeRow,
)
from repoeval_bench.runs.store import RunFiles, jsonl, write_folder
from repoeval_bench.runs.trec import format_qrels, run_lines
from repoeval_bench.runs.view import RunView

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import Self, TextIO

    from repoeval_bench.metrics import RunScores
    from repoeval_bench.runs.import_gold import ByFile, Judgements
    from repoeval_bench.runs.log import LogRow


def import_run(
    log: Path,
    gold: Path,
    results: Path,
    *,
    measures: Sequence[str],
    created: str,
    corpus: Path | None = None,
    timings: Path | None = None,
) -> RunView:
    """Judge a log and store it as a run.

    Every query of the gold is scored: 0 where the log lacks it. Queries of the log without gold are left out and
    counted; those that are `no_answer` are kept in the log and not scored, for there is nothing to be found.
    `timings` holds rows with query_id and latency_ms; the log's own take precedence. Beside `measures`, judged@5,
    judged@10 and bpref are scored. A log and a gold that share no query, and an answer to a query that is
    `no_answer`, are a ResultError.
    """
    try:
        # What is read of a log takes many times its bytes in memory, so that it waits on disk to be written.
        with _spool() as rows, _spool() as run:
            read = _Log.read(log, rows, shown=corpus is None)
            result = _JudgedLog.of(read, judge_log(read.shown, gold, corpus, read.unanswerable), gold, measures)
            # Before anything is written: scores that rise are refused.
            run.writelines(run_lines(result.rankings, read.first.system))
            run.seek(0)
            qrels, factor = format_qrels(result.judged.gains)
            files = RunFiles(
                manifest=result.manifest(created, factor),
                metrics=result.metrics(),
                queries=result.query_rows(),
                timings=_time_rows(result, timings),
                run=run,
                qrels=qrels,
                log=(line for _, line in read.lines(result.kept)),
            )
            return RunView(write_folder(results / result.run_id, files))
    except OSError as error:
        raise ResultError(f"{error}; make room for a copy of {log}, or name another folder with TMPDIR") from error


def _spool() -> TextIO:
    return TemporaryFile("w+", encoding="utf-8", newline="\n")


class _Row(NamedTuple):
    """What of a log's row is used when its rankings are known."""

    facts: dict[str, Any]
    conversation: str | None
    as_of: str | None
    latency_ms: dict[str, float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Log:
    """A log read once: `rows` and `rankings` by query, the places that are `shown`, and every row as it is stored.

    `first` is the first row. `spool` holds the rows' lines in the order of `rows`.
    """

    path: Path
    rows: dict[str, _Row]
    rankings: dict[str, list[tuple[str, float]]]
    shown: ByFile
    first: LogRow
    spool: TextIO

    @classmethod
    def read(cls, path: Path, spool: TextIO, *, shown: bool) -> Self:
        """Read and check the log; the place of every chunk is kept if it is to be `shown`."""
        rows: dict[str, _Row] = {}
        rankings: dict[str, list[tuple[str, float]]] = {}
        ids: dict[str, str] = {}
        first: LogRow | None = None

        def spooled() -> Iterator[LogRow]:
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

        places = places_of(spooled()) if shown else {}
        if not shown:
            for _ in spooled():
                pass
        assert first is not None
        return cls(path=path, rows=rows, rankings=rankings, shown=places, first=first, spool=spool)

    @property
    def unanswerable(self) -> frozenset[str]:
        """The queries that are known to have no answer."""
        return frozenset(query_id for query_id, row in self.rows.items() if row.facts.get("no_answer"))

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


@dataclass(frozen=True, slots=True, kw_only=True)
class _JudgedLog:
    """A log beside its judgements; `values` is measure -> one value per query, `kept` are the rows that are stored."""

    log: _Log
    gold: Path
    judged: Judgements
    scores: RunScores
    values: Mapping[str, list[float]]
    kept: Mapping[str, _Row]
    run_id: str
    dataset: DatasetRecord

    @classmethod
    def of(cls, log: _Log, judged: Judgements, gold: Path, measures: Sequence[str]) -> Self:
        """Score the log; a ResultError where it shares no query with the gold."""
        if not judged.gains.keys() & log.rows.keys():
            raise ResultError(f"{log.path} and {gold} share no query; check their query_id")
        relevant = {query_id: {c: g for c, g in gains.items() if g > 0} for query_id, gains in judged.gains.items()}
        scores = score_run(log.rankings, relevant, measures)
        values = {name: column.tolist() for name, column in scores.values.items()}
        kept = {q: row for q, row in log.rows.items() if q in judged.gains or q in log.unanswerable}
        n = len(judged.gains)
        fingerprint = short_hash(json.dumps(judged.gains if judged.kind == "chunks" else _gold_lines(gold)), 12)
        return cls(
            log=log,
            gold=gold,
            judged=judged,
            scores=scores,
            values=values | _over_judged(judged, log.rankings),
            kept=kept,
            run_id=f"imported-{fingerprint}_{slug(log.first.system)}-{log.digest(kept)}",
            dataset=DatasetRecord(
                name=f"imported-{gold.stem}",
                fingerprint=fingerprint,
                label=f"imported, {n} queries · {fingerprint}",
                tasks=n,
            ),
        )

    @property
    def rankings(self) -> dict[str, list[tuple[str, float]]]:
        """The rankings of queries with gold, in the log's order."""
        return {q: ranking for q, ranking in self.log.rankings.items() if q in self.judged.gains}

    @property
    def counts(self) -> Counts:
        """How many queries are scored, and how many are not."""
        return Counts(
            queries=len(self.judged.gains),
            queries_without_relevant=self.scores.without_relevant,
            queries_not_in_log=self.scores.missing,
            queries_without_gold=len(self.log.rows.keys() - self.judged.gains.keys() - self.log.unanswerable),
            queries_no_answer=len(self.log.unanswerable),
        )

    def metrics(self) -> Metrics:
        """The content of metrics.json: one group of queries, so that macro and micro are the same."""
        first = self.log.first
        parameters = ",".join(f"{key}={value}" for key, value in first.chunker.parameters.items())
        means = Means.of(self.values, ["all"] * len(self.judged.gains))
        return Metrics(
            run_id=self.run_id,
            imported=True,
            dataset=self.dataset,
            protocol=f"imported+gold={self.judged.kind}" + ("+pooled" if self.judged.pooled else ""),
            headline="micro",
            chunker=first.chunker.algo + (f":{parameters}" if parameters else ""),
            embedder=f"index {first.index_version}",
            retriever=first.system,
            k=first.k_raw,
            counts=self.counts,
            micro=means.micro,
            macro=means.macro,
            per_repo=means.per_repo,
        )

    def manifest(self, created: str, gain_factor: int) -> Manifest:
        """The content of manifest.json."""
        as_ofs = sorted(row.as_of for row in self.kept.values() if row.as_of)
        return Manifest(
            schema=SCHEMA,
            run_id=self.run_id,
            created=created,
            imported=ImportSource(
                log=self.log.path.name, gold=self.gold.name, gold_kind=self.judged.kind, pooled=self.judged.pooled
            ),
            dataset=self.dataset,
            counts=self.counts,
            qrels_gain_factor=gain_factor,
            index_version=self.log.first.index_version,
            as_of=(as_ofs[0], as_ofs[-1]) if as_ofs else None,
            code=code_state(),
            versions=versions(),
        )

    def query_rows(self) -> Iterator[QueryRow]:
        """The rows of per_query.jsonl.

        All queries are clustered in the same way: by their gold's first file, else by conversation, else each alone.
        """
        judged, rows = self.judged, self.log.rows
        by_file = len(judged.files) == len(judged.gains)
        talks = {query_id: row.conversation for query_id, row in rows.items() if row.conversation}
        by_talk = not by_file and judged.gains.keys() <= talks.keys()
        for i, (query_id, gains) in enumerate(judged.gains.items()):
            yield QueryRow(
                query_id=query_id,
                path=judged.files[query_id][0] if by_file else None,
                cluster=talks[query_id] if by_talk else None,
                cluster_by="conversation" if by_talk else None,
                n_relevant=sum(gain > 0 for gain in gains.values()),
                facts=rows[query_id].facts if query_id in rows else {},
                measures={name: column[i] for name, column in self.values.items()},
            )


def _gold_lines(gold: Path) -> list[str]:
    return sorted(line.strip() for line in gold.read_text(encoding="utf-8-sig").splitlines() if line.strip())


def _over_judged(judged: Judgements, rankings: Mapping[str, Sequence[tuple[str, float]]]) -> dict[str, list[float]]:
    """The measures that look at judged chunks alone."""
    found: dict[str, list[float]] = {"judged@5": [], "judged@10": [], "bpref": []}
    for query_id, gains in judged.gains.items():
        ids = [chunk_id for chunk_id, _ in rankings.get(query_id, ())]
        found["judged@5"].append(judged_at(ids, gains, 5))
        found["judged@10"].append(judged_at(ids, gains, 10))
        found["bpref"].append(bpref(ids, gains))
    return found


def _time_rows(result: _JudgedLog, path: Path | None) -> Iterator[TimeRow]:
    rows = (row for _, row in read_rows(path, TimeRow)) if path else ()
    joined = {row.query_id: row.latency_ms for row in rows if row.query_id is not None}
    for query_id, row in result.kept.items():
        if latency := {**joined.get(query_id, {}), **(row.latency_ms or {})}:
            yield TimeRow(query_id=query_id, latency_ms=latency)
