"""Store a run log of another system as a run folder, so that every command reads it like a run made here."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any, Self

from repoeval_bench.core import json_reader
from repoeval_bench.core.benchmark import Query
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.files import sha256_text
from repoeval_bench.core.spec import short_hash, slug
from repoeval_bench.core.visible import one_line
from repoeval_bench.core.words import count
from repoeval_bench.metrics import DEFAULT_MEASURES, LINE_MEASURES, ChunkPlace, RunScores, inputs_of, score_run
from repoeval_bench.plugins.logs.import_formats import log_rows
from repoeval_bench.plugins.logs.import_gold import (
    Groups,
    Judgements,
    by_file,
    group,
    judge_log,
    names_of,
    places_of,
    read_log,
)
from repoeval_bench.plugins.logs.import_lines import INPUTS, LineInputs, add_place
from repoeval_bench.plugins.logs.records import RANKINGS, read_rows
from repoeval_bench.protocols.query_gold_overlap import gold_in_query
from repoeval_bench.runs.log import LoggedChunk, LogRow
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
from repoeval_bench.runs.trec import format_qrels, run_lines
from repoeval_bench.runs.view import RunView

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
    gold that share nothing that could match, or contradict each other, are a ResultError.
    """
    places = {chunk.chunk_id: chunk for _, chunk in read_rows(corpus, LoggedChunk)} if corpus else None

    def rows() -> Iterator[LogRow]:
        return read_log(log, log_rows(log, places, depth))

    read = _Log.read(rows(), cluster_by, names_chunks=corpus is None, places_chunks=files is not None)
    chunks = None if places is None else by_file(places.values())
    judgements = judge_log(read.shown, gold, chunks, read.unanswerable, cluster_by)
    known = judgements.known(read.rows.keys(), read.ids.keys(), gold, log, corpus=corpus is not None)
    lines = _lines(read, judgements, places or {}, files)
    imported = _Import(
        path=log,
        gold=gold,
        log=read,
        judgements=judgements,
        lines=lines,
        measures=_resolved_measures(measures, lines, judgements),
        cluster_by=cluster_by,
        latencies=_latencies(timings),
        known=known,
        digests=[_digest(path) if path else None for path in (log, gold, corpus, timings)],
    )
    # The log is read again for its rows: in memory they take many times their bytes.
    return imported.store(results, created, rows())


def _digest(path: Path) -> str:
    """Hash the content of a file, unpacked."""
    digest = sha256()
    with json_reader.opened(path) as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _lines(
    log: _Log, judgements: Judgements, corpus: Mapping[str, LoggedChunk], files: Path | None
) -> LineInputs | None:
    """Return the inputs of line measures; None without sources, or if the gold names no lines."""
    if files is None or judgements.kind != "lines":
        return None
    places = dict(log.places)
    for chunk in corpus.values():
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

    names: dict[str, str]
    facts: dict[str, Any]
    query: str | None
    as_of: str | None
    latency_ms: dict[str, float]

    @classmethod
    def of(cls, row: LogRow, cluster_by: str | None, *, has_text: bool) -> Self:
        """Take it from a row."""
        return cls(
            names=names_of(row, cluster_by),
            facts=row.model_dump(include={"source", "no_answer", "query_tokens"}, exclude_none=True),
            query=row.query if has_text else None,
            as_of=row.as_of,
            latency_ms=row.latency_ms.model_dump(exclude_none=True) if row.latency_ms else {},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Log:
    """A log read once; `first` is its first row."""

    first: LogRow
    rows: dict[str, _Row]
    rankings: dict[str, list[tuple[str, float]]]
    shown: dict[str, dict[str, Any]]
    """File -> chunk_id -> lines, of every chunk of any ranking; empty unless asked for."""
    places: dict[str, ChunkPlace]
    """chunk_id -> file and lines of ranked chunks; empty unless asked for."""
    ids: dict[str, str]
    """Those of chunks in any ranking, each kept once."""

    @classmethod
    def read(cls, log: Iterator[LogRow], cluster_by: str | None, *, names_chunks: bool, places_chunks: bool) -> Self:
        """Read the rows of a log, of which there is one at least."""
        first = next(log)
        read = cls(first=first, rows={}, rankings={}, shown={}, places={}, ids={})
        for row in chain([first], log):
            for name in RANKINGS:
                for entry in getattr(row, name) or ():
                    read.ids.setdefault(entry.chunk_id, entry.chunk_id)
            read.rankings[row.query_id] = [(read.ids[entry.chunk_id], entry.score) for entry in row.topk]
            for entry in row.topk if places_chunks else ():
                add_place(read.places, entry)
            for file, chunks in places_of([row]).items() if names_chunks else ():
                read.shown.setdefault(file, {}).update(chunks)
            read.rows[row.query_id] = _Row.of(row, cluster_by, has_text=places_chunks)
        return read

    @property
    def unanswerable(self) -> frozenset[str]:
        """The queries that are known to have no answer."""
        return frozenset(query_id for query_id, row in self.rows.items() if row.facts.get("no_answer"))


@dataclass(frozen=True, kw_only=True)
class _Import:
    """A log beside its judgements, and the files of its run."""

    path: Path
    gold: Path
    log: _Log
    judgements: Judgements
    lines: LineInputs | None
    measures: Sequence[str]
    cluster_by: str | None
    latencies: Mapping[str, Mapping[str, float]]
    """Of the file beside the log: query_id -> step -> milliseconds."""
    known: int
    """The gold's files or chunk ids that log or corpus have."""
    digests: Sequence[str | None]
    """The hashes of log, gold, corpus and timings."""

    def store(self, results: Path, created: str, rows: Iterator[LogRow]) -> RunView:
        """Write the run into a folder of results; `rows` are those of the log."""
        # What a TREC file cannot hold, such as scores that rise, is refused before any writing.
        for _ in run_lines(self.rankings, self.log.first.system):
            pass
        qrels, factor = format_qrels(self.judgements.gains)
        content = RunFiles(
            manifest=self.manifest(created, factor),
            metrics=self.metrics(),
            queries=self.query_rows(),
            timings=self.times(),
            qrels=qrels,
            log=(
                jsonl([row.model_dump(exclude_none=True, exclude={"latency_ms"})])
                for row in rows
                if row.query_id in self.stored
            ),
        )
        return RunView(write_folder(results / self.run_id, content))

    @cached_property
    def run_id(self) -> str:
        """The id of the run, over everything that decides its numbers."""
        sources = {name: sha256_text(file.text) for name, file in self.lines.files.items()} if self.lines else {}
        first = self.log.first
        digest = short_hash(json.dumps([self.digests, first.k_raw, [*self.measures], self.cluster_by, sources]))
        return f"imported-{self.dataset.fingerprint}_{slug(first.system)}-{digest[:8]}"

    @cached_property
    def dataset(self) -> DatasetRecord:
        """The gold as a data set; its fingerprint is over chunk ids in any format, or over lines in any order."""
        content: Any = self.judgements.gains
        if self.judgements.kind != "chunks":
            lines = json_reader.read_text(self.gold).splitlines()
            content = sorted(line.strip() for line in lines if line.strip())
        fingerprint, n = short_hash(json.dumps(content, sort_keys=True), 12), len(self.judgements.gains)
        label = f"imported, {count(n, 'query')} · {fingerprint}"
        return DatasetRecord(name=f"imported-{self.gold.stem}", fingerprint=fingerprint, label=label, tasks=n)

    @cached_property
    def groups(self) -> Groups:
        """The repositories and clusters of the queries."""
        return group(
            self.judgements.gains,
            self.judgements.names,
            {query_id: row.names for query_id, row in self.log.rows.items()},
            with_files=len(self.judgements.files) == len(self.judgements.gains),
            cluster_by=self.cluster_by,
        )

    @cached_property
    def stored(self) -> dict[str, _Row]:
        """The rows of the log that are stored: those of queries with gold or without an answer."""
        unanswerable = self.log.unanswerable
        return {q: row for q, row in self.log.rows.items() if q in self.judgements.gains or q in unanswerable}

    @property
    def rankings(self) -> dict[str, list[tuple[str, float]]]:
        """The rankings of queries with gold, in the log's order."""
        return {q: ranking for q, ranking in self.log.rankings.items() if q in self.judgements.gains}

    @cached_property
    def _scored(self) -> tuple[RunScores, dict[str, list[float]]]:
        """Score the rankings; return the scores, and measure -> one value per query."""
        gains = self.judgements.gains
        relevant = {query_id: {c: g for c, g in of_query.items() if g > 0} for query_id, of_query in gains.items()}
        by_lines = [name for name in self.measures if self.lines and inputs_of([name]) == INPUTS]
        scores = score_run(self.log.rankings, relevant, [name for name in self.measures if name not in by_lines])
        columns = dict(scores.values)
        if self.lines:
            columns |= score_run(self.lines.rankings, relevant, by_lines, self.lines.context).values
        condensed = self.judgements.condensed(self.log.rankings)
        return scores, {name: columns[name].tolist() for name in self.measures} | condensed

    @property
    def counts(self) -> Counts:
        """Return how many queries are scored and how many are not, and how much of the gold is known, if little."""
        named, gains = len(self.judgements.judged), self.judgements.gains
        scores, _ = self._scored
        return Counts(
            queries=len(gains),
            queries_without_relevant=scores.without_relevant,
            queries_not_in_log=scores.missing,
            queries_without_gold=len(self.log.rows.keys() - self.stored.keys()),
            queries_no_answer=len(self.log.unanswerable),
            queries_without_cluster=self.groups.alone,
            **({"gold_names": named, "gold_names_known": self.known} if 2 * self.known < named else {}),
            **({"queries_not_read": self.lines.unread} if self.lines else {}),
        )

    def _repository(self, query_id: str) -> str:
        """The repository of a query; `all` if it names none."""
        return self.groups.repositories.get(query_id, "all")

    def query_gold_overlap(self) -> Averages | None:
        """Return the share of the gold in the queries of the log; None if a query's text or the sources are missing."""
        rows = {query_id: self.log.rows[query_id] for query_id in self.judgements.gains if query_id in self.log.rows}
        if self.lines is None or any(row.query is None for row in rows.values()):
            return None
        queries = [Query(query_id, self._repository(query_id), row.query or "") for query_id, row in rows.items()]
        shares = gold_in_query(queries, self.lines.files, self.judgements.places)
        means = Means.of({"gold_lines_in_query": list(shares.values())}, list(map(self._repository, shares)))
        return Averages(micro=means.micro, macro=means.macro)

    def metrics(self) -> Metrics:
        """Return the content of metrics.json; if no repository is named, macro and micro are the same."""
        first, (_, values) = self.log.first, self._scored
        parameters = ",".join(f"{key}={value}" for key, value in first.chunker.parameters.items())
        return Metrics(
            run_id=self.run_id,
            imported=True,
            dataset=self.dataset,
            protocol=f"imported+gold={self.judgements.kind}" + ("+pooled" if self.judgements.pooled else ""),
            headline="micro",
            headline_measure=LINE_HEADLINE if LINE_HEADLINE in values else None,
            chunker=one_line(first.chunker.algo + (f":{parameters}" if parameters else "")),
            embedder=one_line(f"index {first.index_version}"),
            retriever=one_line(first.system),
            k=first.k_raw,
            counts=self.counts,
            **dict(Means.of(values, list(map(self._repository, self.judgements.gains)))),
            query_gold_overlap=self.query_gold_overlap(),
        )

    def manifest(self, created: str, gain_factor: int) -> Manifest:
        """The content of manifest.json."""
        return Manifest(
            schema=SCHEMA,
            run_id=self.run_id,
            created=created,
            imported=ImportSource(
                log=self.path.name,
                gold=self.gold.name,
                gold_kind=self.judgements.kind,
                pooled=self.judgements.pooled,
            ),
            dataset=self.dataset,
            counts=self.counts,
            qrels_gain_factor=gain_factor,
            index_version=self.log.first.index_version,
            code=code_state(),
            versions=versions(),
        )

    def query_rows(self) -> Iterator[QueryRow]:
        """The rows of per_query.jsonl.gz."""
        _, values = self._scored
        for i, (query_id, gains) in enumerate(self.judgements.gains.items()):
            yield QueryRow(
                query_id=query_id,
                repo=self.groups.repositories.get(query_id),
                gold_files=self.judgements.files.get(query_id, ()),
                cluster=self.groups.clusters.get(query_id),
                cluster_by=self.groups.cluster_by,
                n_relevant=sum(gain > 0 for gain in gains.values()),
                facts=self.log.rows[query_id].facts if query_id in self.log.rows else {},
                measures={name: column[i] for name, column in values.items()},
            )

    def times(self) -> list[TimeRow]:
        """The rows of timings.jsonl; times of the log take precedence over those beside it."""
        rows = []
        for query_id, row in self.stored.items():
            if latency := {**self.latencies.get(query_id, {}), **row.latency_ms}:
                rows.append(TimeRow(query_id=query_id, latency_ms=latency))
        return rows


def _latencies(path: Path | None) -> dict[str, Mapping[str, float]]:
    """Return query_id -> step -> milliseconds of a file of timings."""
    rows = (row for _, row in read_rows(path, TimeRow)) if path else ()
    return {row.query_id: row.latency_ms for row in rows if row.query_id is not None}
