"""Store a run log of another system as a run folder, so that every command reads it like a run made here."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, Self, TextIO

from repoeval_bench.core import json_reader
from repoeval_bench.core.benchmark import Query
from repoeval_bench.core.errors import ResultError, UsageError
from repoeval_bench.core.spec import short_hash, slug
from repoeval_bench.core.visible import one_line
from repoeval_bench.core.words import count
from repoeval_bench.metrics import DEFAULT_MEASURES, LINE_MEASURES, ChunkPlace, RunScores, inputs_of, score_run
from repoeval_bench.plugins.logs.import_formats import log_rows
from repoeval_bench.plugins.logs.import_gold import (
    ByFile,
    Groups,
    Judgements,
    corpus_chunks,
    judge_log,
    names_of,
    places_of,
    read_log,
)
from repoeval_bench.plugins.logs.import_lines import INPUTS, LineInputs, add_place
from repoeval_bench.plugins.logs.import_names import count_known
from repoeval_bench.plugins.logs.records import read_rows
from repoeval_bench.protocols.query_gold_overlap import gold_in_query
from repoeval_bench.runs.provenance import code_state, versions
from repoeval_bench.runs.records import (
    SCHEMA,
    Averages,
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
from repoeval_bench.runs.trec import Fields, format_qrels, run_lines
from repoeval_bench.runs.view import RunView

if TYPE_CHECKING:
    from repoeval_bench.runs.log import LogRow

LINE_HEADLINE = "line_recall_auc"
"""The headline measure of imported runs that have lines."""


def import_run(
    log: Path,
    gold: Path,
    results: Path,
    *,
    created: str,
    measures: Sequence[str] = (),
    corpus: Path | None = None,
    files: Path | None = None,
    cluster_by: str | None = None,
    timings: Path | None = None,
    depth: int | None = None,
) -> RunView:
    """Judge a log, or a TREC run (`import_formats`), and store it as a run.

    Every query of the gold is scored, with 0 if the log lacks it. Queries of the log without gold are skipped and
    counted. `no_answer` queries stay in the log and are not scored, because there is nothing to find. `files` is a
    folder with the sources, or a run's sources.jsonl.gz: with it and with gold of lines, line measures are scored too.
    `cluster_by` is what queries are clustered by: `file`, or a field of gold or log. `timings` holds rows with query_id
    and latency_ms; those of the log take precedence. `depth` is that of a TREC run. Without `measures` the usual ones
    are scored; judged@5, judged@10 and bpref always are. A measure of lines without lines is a UsageError. A log and a
    gold that share nothing that could match (`count_known`), or contradict each other, are a ResultError.
    """
    try:
        # A log takes many times its bytes in memory, so its rows are kept on disk until the run is written.
        with TemporaryFile("w+", encoding="utf-8", newline="\n") as rows:
            entries = read_log(log, log_rows(log, corpus, depth))
            read = _Log.read(log, entries, rows, shown=corpus is None, placed=files is not None, cluster_by=cluster_by)
            judgements = judge_log(read.shown, gold, corpus, read.unanswerable, cluster_by)
            known = count_known(judgements, read.rows.keys(), read.ids.keys(), gold=gold, log=log, corpus=corpus)
            lines = _lines(read, judgements, corpus, files)
            result = _JudgedLog.of(
                read,
                judgements,
                gold=gold,
                measures=_resolved_measures(measures, lines, judgements),
                lines=lines,
                cluster_by=cluster_by,
                latencies=_latencies(timings),
                known=known,
            )
            # What a TREC file cannot hold (scores that rise, ids that become equal) is refused before any writing.
            fields = Fields()
            for _ in run_lines(result.rankings, read.first.system, fields):
                pass
            qrels, factor = format_qrels(result.judgements.gains, fields)
            content = RunFiles(
                manifest=result.manifest(created, factor),
                metrics=result.metrics(),
                queries=result.query_rows(),
                timings=result.times,
                qrels=qrels,
                log=(line for _, line in read.lines(result.stored)),
            )
            return RunView(write_folder(results / result.run_id, content))
    except OSError as error:
        raise ResultError(f"{error}; make room for a copy of {log}, or name another folder with TMPDIR") from error


def _lines(log: _Log, judgements: Judgements, corpus: Path | None, files: Path | None) -> LineInputs | None:
    """Return the inputs of line measures; None without sources, or if the gold names no lines."""
    if files is None or judgements.kind != "lines":
        return None
    places = dict(log.places)
    for chunk in corpus_chunks(corpus) if corpus else ():
        add_place(places, chunk)
    gold = {query_id: judgements.places[query_id] for query_id in judgements.gains}
    return LineInputs.of(log.rankings, places, gold, files)


def _resolved_measures(measures: Sequence[str], lines: LineInputs | None, judgements: Judgements) -> Sequence[str]:
    """Return the measures, or the usual ones; a UsageError if one needs lines and there are none."""
    if not measures:
        return (*LINE_MEASURES, *DEFAULT_MEASURES) if lines else DEFAULT_MEASURES
    if lines is None and (lacking := [name for name in measures if inputs_of([name]) == INPUTS]):
        why = (
            "the size of a line is counted in the sources; name their folder with --files"
            if judgements.kind == "lines"
            else f"the gold names {judgements.kind}; give it as line ranges, and the sources with --files"
        )
        raise UsageError(f"{', '.join(lacking)}: {why}")
    return measures


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """The part of a log's row that stays in memory, besides its ranking."""

    facts: dict[str, Any]
    names: dict[str, str]
    query: str | None
    as_of: str | None
    latency_ms: dict[str, float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Log:
    """A log read once: its `rows` and `rankings` by query.

    `shown` has every chunk by file, `places` is chunk_id -> file and lines of ranked chunks. `ids` are those of chunks
    in any ranking. `first` is the first row.
    `spool` holds each row as it is stored, in the order of `rows`.
    """

    path: Path
    rows: dict[str, _Row]
    rankings: dict[str, list[tuple[str, float]]]
    shown: ByFile
    places: Mapping[str, ChunkPlace]
    ids: Mapping[str, str]
    first: LogRow
    spool: TextIO

    @classmethod
    def read(
        cls, path: Path, log: Iterable[LogRow], spool: TextIO, *, shown: bool, placed: bool, cluster_by: str | None
    ) -> Self:
        """Read the rows of a log.

        With `shown` the file and lines of every chunk are kept. With `placed` those of ranked chunks and the texts of
        queries are kept.
        """
        rows: dict[str, _Row] = {}
        rankings: dict[str, list[tuple[str, float]]] = {}
        ids: dict[str, str] = {}
        ranked: dict[str, ChunkPlace] = {}
        places: dict[str, dict[str, Any]] = {}
        first: LogRow | None = None
        for row in log:
            first = first or row
            rows[row.query_id] = _Row(
                facts=row.model_dump(include={"source", "no_answer", "query_tokens"}, exclude_none=True),
                names=names_of(row, cluster_by),
                query=row.query if placed else None,
                as_of=row.as_of,
                latency_ms=row.latency_ms.model_dump(exclude_none=True) if row.latency_ms else None,
            )
            # A chunk is retrieved for many queries, and its id is kept once.
            rankings[row.query_id] = [
                (ids.setdefault(entry.chunk_id, entry.chunk_id), entry.score) for entry in row.topk
            ]
            for entry in (*(row.raw_topk or ()), *(row.original_topk or ())):
                ids.setdefault(entry.chunk_id, entry.chunk_id)
            for entry in row.topk if placed else ():
                add_place(ranked, entry)
            for file, chunks in places_of([row]).items() if shown else ():
                places.setdefault(file, {}).update(chunks)
            # Empty fields are left out, so that a new field of the contract changes no run's id.
            spool.write(jsonl([row.model_dump(exclude_none=True, exclude={"latency_ms"})]))
        assert first is not None
        return cls(
            path=path, rows=rows, rankings=rankings, shown=places, places=ranked, ids=ids, first=first, spool=spool
        )

    @property
    def unanswerable(self) -> frozenset[str]:
        """The queries that are known to have no answer."""
        return frozenset(query_id for query_id, row in self.rows.items() if row.facts.get("no_answer"))

    def lines(self, query_ids: Collection[str]) -> Iterator[tuple[str, str]]:
        """Yield (query_id, line) for the rows of these queries."""
        self.spool.seek(0)
        for query_id, line in zip(self.rows, self.spool, strict=True):
            if query_id in query_ids:
                yield query_id, line

    def digest(self, query_ids: Collection[str], beside: Any) -> str:
        """Hash the rows of these queries, and plain values that decide the run's numbers beside them."""
        digest = sha256(json.dumps(beside, sort_keys=True).encode())
        for _, line in self.lines(query_ids):
            digest.update(json.dumps(json.loads(line), sort_keys=True).encode())
        return digest.hexdigest()[:8]


@dataclass(frozen=True, slots=True, kw_only=True)
class _JudgedLog:
    """A log beside its judgements; `values` is measure -> one value per query, `stored` the rows to store.

    `times` are the latencies of stored rows. `known` counts the gold's files or chunk ids that log or corpus have.
    """

    log: _Log
    gold: Path
    judgements: Judgements
    scores: RunScores
    values: Mapping[str, list[float]]
    groups: Groups
    lines: LineInputs | None
    stored: Mapping[str, _Row]
    times: Sequence[TimeRow]
    known: int
    run_id: str
    dataset: DatasetRecord

    @classmethod
    def of(
        cls,
        log: _Log,
        judgements: Judgements,
        *,
        gold: Path,
        measures: Sequence[str],
        lines: LineInputs | None,
        cluster_by: str | None,
        latencies: Mapping[str, Mapping[str, float]],
        known: int,
    ) -> Self:
        """Score the log; `latencies` are those beside it: query_id -> step -> milliseconds."""
        relevant = {query_id: {c: g for c, g in gains.items() if g > 0} for query_id, gains in judgements.gains.items()}
        by_lines = [name for name in measures if lines and inputs_of([name]) == INPUTS]
        scores = score_run(log.rankings, relevant, [name for name in measures if name not in by_lines])
        columns = dict(scores.values)
        if lines:
            columns |= score_run(lines.rankings, relevant, by_lines, lines.context).values
        values = {name: columns[name].tolist() for name in measures} | judgements.condensed(log.rankings)
        stored = {q: row for q, row in log.rows.items() if q in judgements.gains or q in log.unanswerable}
        n = len(judgements.gains)
        content = judgements.gains if judgements.kind == "chunks" else _gold_lines(gold)
        fingerprint = short_hash(json.dumps(content, sort_keys=True), 12)
        groups = Groups.of(
            judgements.gains,
            judgements.names,
            {query_id: row.names for query_id, row in log.rows.items()},
            with_files=len(judgements.files) == len(judgements.gains),
            cluster_by=cluster_by,
        )
        times = _time_rows(stored, latencies)
        beside = (
            [*values],
            (judgements.kind, judgements.pooled, judgements.gains, known),
            (groups.repositories, groups.clusters, groups.cluster_by),
            lines and lines.identity(),
            [row.as_json() for row in times],
        )
        return cls(
            log=log,
            gold=gold,
            judgements=judgements,
            scores=scores,
            values=values,
            groups=groups,
            lines=lines,
            stored=stored,
            times=times,
            known=known,
            run_id=f"imported-{fingerprint}_{slug(log.first.system)}-{log.digest(stored, beside)}",
            dataset=DatasetRecord(
                name=f"imported-{gold.stem}",
                fingerprint=fingerprint,
                label=f"imported, {count(n, 'query')} · {fingerprint}",
                tasks=n,
            ),
        )

    @property
    def rankings(self) -> dict[str, list[tuple[str, float]]]:
        """The rankings of queries with gold, in the log's order."""
        return {q: ranking for q, ranking in self.log.rankings.items() if q in self.judgements.gains}

    @property
    def counts(self) -> Counts:
        """Return how many queries are scored and how many are not, and how much of the gold is known, if little."""
        named = len(self.judgements.judged)
        return Counts(
            queries=len(self.judgements.gains),
            queries_without_relevant=self.scores.without_relevant,
            queries_not_in_log=self.scores.missing,
            queries_without_gold=len(self.log.rows.keys() - self.judgements.gains.keys() - self.log.unanswerable),
            queries_no_answer=len(self.log.unanswerable),
            queries_without_cluster=self.groups.alone,
            **({"gold_names": named, "gold_names_known": self.known} if 2 * self.known < named else {}),
            **({"queries_not_read": self.lines.unread} if self.lines else {}),
        )

    @property
    def repos(self) -> list[str]:
        """The repository of each query; `all` for a query that names none."""
        return [self.groups.repositories.get(query_id, "all") for query_id in self.judgements.gains]

    def query_gold_overlap(self) -> Averages | None:
        """Return the share of the gold in the queries of the log; None if a query's text or the sources are missing."""
        rows = {query_id: self.log.rows[query_id] for query_id in self.judgements.gains if query_id in self.log.rows}
        if self.lines is None or any(row.query is None for row in rows.values()):
            return None
        repos = dict(zip(self.judgements.gains, self.repos, strict=True))
        queries = [Query(query_id, repos[query_id], row.query or "") for query_id, row in rows.items()]
        shares = gold_in_query(queries, self.lines.files, self.judgements.places)
        means = Means.of({"gold_lines_in_query": list(shares.values())}, [repos[query_id] for query_id in shares])
        return Averages(micro=means.micro, macro=means.macro)

    def metrics(self) -> Metrics:
        """Return the content of metrics.json; if no repository is named, macro and micro are the same."""
        first = self.log.first
        parameters = ",".join(f"{key}={value}" for key, value in first.chunker.parameters.items())
        means = Means.of(self.values, self.repos)
        return Metrics(
            run_id=self.run_id,
            imported=True,
            dataset=self.dataset,
            protocol=f"imported+gold={self.judgements.kind}" + ("+pooled" if self.judgements.pooled else ""),
            headline="micro",
            headline_measure=LINE_HEADLINE if LINE_HEADLINE in self.values else None,
            chunker=one_line(first.chunker.algo + (f":{parameters}" if parameters else "")),
            embedder=one_line(f"index {first.index_version}"),
            retriever=one_line(first.system),
            k=first.k_raw,
            counts=self.counts,
            **dict(means),
            query_gold_overlap=self.query_gold_overlap(),
        )

    def manifest(self, created: str, gain_factor: int) -> Manifest:
        """The content of manifest.json."""
        as_ofs = sorted(row.as_of for row in self.stored.values() if row.as_of)
        return Manifest(
            schema=SCHEMA,
            run_id=self.run_id,
            created=created,
            imported=ImportSource(
                log=self.log.path.name,
                gold=self.gold.name,
                gold_kind=self.judgements.kind,
                pooled=self.judgements.pooled,
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
        """The rows of per_query.jsonl.gz."""
        judgements, rows, groups = self.judgements, self.log.rows, self.groups
        for i, (query_id, gains) in enumerate(judgements.gains.items()):
            yield QueryRow(
                query_id=query_id,
                repo=groups.repositories.get(query_id),
                gold_files=judgements.files.get(query_id, ()),
                cluster=groups.clusters.get(query_id),
                cluster_by=groups.cluster_by,
                n_relevant=sum(gain > 0 for gain in gains.values()),
                facts=rows[query_id].facts if query_id in rows else {},
                measures={name: column[i] for name, column in self.values.items()},
            )


def _gold_lines(gold: Path) -> list[str]:
    with json_reader.opened(gold) as stream:
        text = stream.read().decode("utf-8-sig")
    return sorted(line.strip() for line in text.splitlines() if line.strip())


def _latencies(path: Path | None) -> dict[str, Mapping[str, float]]:
    """Return query_id -> step -> milliseconds of a file of timings."""
    rows = (row for _, row in read_rows(path, TimeRow)) if path else ()
    return {row.query_id: row.latency_ms for row in rows if row.query_id is not None}


def _time_rows(stored: Mapping[str, _Row], latencies: Mapping[str, Mapping[str, float]]) -> list[TimeRow]:
    joined = {query_id: {**latencies.get(query_id, {}), **(row.latency_ms or {})} for query_id, row in stored.items()}
    return [TimeRow(query_id=query_id, latency_ms=latency) for query_id, latency in joined.items() if latency]
