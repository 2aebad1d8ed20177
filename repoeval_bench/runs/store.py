"""Write run folders, `results/<run id>/`: each file as a whole, the manifest last.

`records` defines the content of the files; `view` reads them. A second identical run writes the same bytes except for
timings.jsonl and the manifest's `created`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from repoeval_bench.core.errors import ResultError, os_errors_as
from repoeval_bench.core.files import check_writable as check_place
from repoeval_bench.core.files import packed, sha256_text, short_hash, write_atomic
from repoeval_bench.core.source import readable
from repoeval_bench.core.spec import Spec
from repoeval_bench.runs import records
from repoeval_bench.runs.provenance import code_state, versions
from repoeval_bench.runs.query_scores import SOURCE_FILE
from repoeval_bench.runs.records import QueryRow, TimeRow
from repoeval_bench.runs.results import results_at
from repoeval_bench.runs.trec import format_qrels

if TYPE_CHECKING:
    from repoeval_bench.core.benchmark import Benchmark
    from repoeval_bench.core.run import Fact, Run
    from repoeval_bench.core.source import Chunk
    from repoeval_bench.metrics import RunScores
    from repoeval_bench.runs.judgements import JudgedCorpus
    from repoeval_bench.runs.planning import Plan

# The encoder of all lines; `json.dumps` would make a new one for each line.
_ENCODER = json.JSONEncoder(ensure_ascii=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """A finished run, ready to be written: its ranking, judgements, scores and costs."""

    config: records.RunConfig
    planned: Plan
    judgements: JudgedCorpus
    run: Run
    scores: RunScores
    ceilings: RunScores
    gold_in_query: Mapping[str, float]
    """query_id -> share."""
    facts: Mapping[str, Mapping[str, Fact]]
    """query_id -> fact -> value."""
    counts: records.Counts
    chunk_tokens: records.Sizes | None
    """Sizes in the model's tokens, None without a model."""
    first_stage: records.FirstStage | None
    inspection: Mapping[str, bytes]
    """File name -> content."""

    @property
    def index_version(self) -> str:
        """Hash of the dataset, chunker and embedder of the index."""
        config = self.config
        parts = (config.fingerprint, config.chunker, config.embedder_identity)
        return short_hash(json.dumps(parts, sort_keys=True), 12)


def save(outcome: RunOutcome, results: Path, *, created: str) -> Path:
    """Write a run's folder and return it; ResultError if that fails. `created` is an ISO 8601 time."""
    qrels, gain_factor = format_qrels(outcome.judgements.qrels)
    dataset = _dataset(outcome.planned.benchmark)
    manifest = records.Manifest(
        schema=records.SCHEMA,
        run_id=outcome.config.run_id,
        created=created,
        dataset=dataset,
        config=outcome.config,
        first_stage=outcome.first_stage,
        counts=outcome.counts,
        skipped=tuple(outcome.planned.corpus.skipped),
        undecodable=tuple(outcome.planned.benchmark.undecodable),
        qrels_gain_factor=gain_factor,
        index_version=outcome.index_version,
        code=code_state(),
        versions=versions(),
    )
    return write_folder(
        results / outcome.config.run_id,
        manifest=manifest,
        metrics=_metrics(outcome, dataset),
        queries=_query_rows(outcome),
        timings=_time_rows(outcome),
        qrels=qrels,
        log=_log_lines(outcome),
        others=outcome.inspection,
    )


def write_folder(
    folder: Path,
    *,
    manifest: records.Manifest,
    metrics: records.Metrics,
    queries: Iterable[QueryRow],
    timings: Iterable[TimeRow],
    qrels: str,
    log: str | Iterable[str],
    others: Mapping[str, bytes] = MappingProxyType({}),
) -> Path:
    """Write a run's files; ResultError if that fails. A run in the cache of a store is put into the store too."""
    content: dict[str, str | bytes | Iterable[str | bytes]] = {
        records.METRICS: pretty(metrics),
        records.PER_QUERY: packed(_line(row) for row in queries),
        records.QRELS: packed(qrels),
        records.RETRIEVED: packed(log),
        records.TIMINGS: (_line(row) for row in timings),
        **others,
    }
    with os_errors_as(ResultError, f"the run folder {folder} cannot be written", "choose another with --out"):
        (folder / records.MANIFEST).unlink(missing_ok=True)
        for name, text in content.items():
            write_atomic(folder / name, text)
        # Last, as a folder without one is not a run.
        write_atomic(folder / records.MANIFEST, pretty(manifest))
    results_at(folder.parent).put(folder)
    return folder


def check_writable(results: Path) -> None:
    """Fail before hours of work, not after: UsageError unless files can be written to `results`.

    If that is the cache of a store, StoreError unless objects can be put there.
    """
    check_place(results, "another results folder with --out", folder=True)
    results_at(results).check_writable()


def _dataset(benchmark: Benchmark) -> records.DatasetRecord:
    return records.DatasetRecord(
        name=benchmark.name,
        fingerprint=benchmark.fingerprint,
        label=benchmark.label,
        source=benchmark.source,
        tasks=len(benchmark.tasks),
        repositories=tuple(benchmark.files),
        **_part(benchmark),
    )


def _part(benchmark: Benchmark) -> dict[str, records.PartRecord]:
    """Return the field `part` if a part of the data was requested."""
    fields: dict[str, Any] = {
        "repositories": benchmark.repos,
        "limit": benchmark.limit,
        "sample": benchmark.sample,
        "tests": None if benchmark.tests == "all" else benchmark.tests,
        "extensions": benchmark.extensions,
    }
    stated = {name: value for name, value in fields.items() if value}
    return {"part": records.PartRecord(**stated)} if stated else {}


def _metrics(outcome: RunOutcome, dataset: records.DatasetRecord) -> records.Metrics:
    config, planned = outcome.config, outcome.planned
    repos = [query.repo for query in planned.queries]
    means = records.Means.of({name: values.tolist() for name, values in outcome.scores.values.items()}, repos)
    overlap = records.Means.of({"gold_lines_in_query": list(outcome.gold_in_query.values())}, repos)
    return records.Metrics(
        run_id=config.run_id,
        dataset=dataset,
        protocol=config.protocol,
        headline=config.choices.headline,
        headline_measure=planned.protocol.headline_measure,
        chunker=config.chunker,
        embedder=config.embedder,
        retriever=config.retriever,
        k=config.k,
        counts=outcome.counts,
        chunk_nws=records.Sizes.model_validate(planned.corpus.sizes()),
        chunk_tokens=outcome.chunk_tokens,
        **dict(means),
        ceilings=records.Means.of({name: values.tolist() for name, values in outcome.ceilings.values.items()}, repos),
        query_gold_overlap=records.Averages(micro=overlap.micro, macro=overlap.macro),
    )


def _query_rows(outcome: RunOutcome) -> Iterator[QueryRow]:
    planned, judgements = outcome.planned, outcome.judgements
    columns = {name: values.tolist() for name, values in outcome.scores.values.items()}
    ceilings = {name: values.tolist() for name, values in outcome.ceilings.values.items()}
    position = {query_id: i for i, query_id in enumerate(outcome.scores.query_ids)}
    hashes = {query.query_id: sha256_text(query.text) for query in planned.queries}
    for task in planned.benchmark.tasks:
        row = position[task.task_id]
        # A query is text of its own file, so it resembles the queries of that file too. Gold that is definitions is all
        # over a repository, and would make one cluster of its queries.
        gold = () if planned.protocol.of_definitions else judgements.gold[task.task_id]
        other_files = {location.file for location in gold} - {task.file}
        files: dict[str, Any] = {"gold_files": (task.file, *sorted(other_files))} if other_files else {}
        # Tests of one file resemble each other, and their gold is all over a repository.
        # A commit's file is one in all windows of its history, under its newest path.
        by = {"tests": "test file", "commits": SOURCE_FILE}.get(planned.protocol.tasks)
        asker = task.change.file if task.change else (task.function_name or "").partition("::")[0]
        repo = task.repo.partition("@")[0] if task.change else task.repo
        cluster: dict[str, Any] = {"cluster": f"{repo}/{asker}", "cluster_by": by} if by else {}
        yield QueryRow(
            query_id=task.task_id,
            repo=task.repo,
            path=task.path,
            **files,
            **cluster,
            query_sha256=hashes[task.task_id],
            n_relevant=len(judgements.qrels[task.task_id]),
            facts=dict(outcome.facts[task.task_id]),
            measures={name: column[row] for name, column in columns.items()},
            ceilings={name: column[row] for name, column in ceilings.items()},
        )


def _log_lines(outcome: RunOutcome) -> Iterator[str]:
    """Yield the lines of the run log (`log.StoredRow`)."""
    config = outcome.config
    spec = Spec.parse(config.chunker)
    chunks = {chunk.chunk_id: chunk for chunk in outcome.planned.corpus}
    numbers: dict[str, int] = {}
    system = config.run_id  # it has a hash of the whole configuration
    k_raw = max(config.k, outcome.first_stage.k_raw if outcome.first_stage else 0)
    last = {
        "index_version": outcome.index_version,
        "chunker": {"algo": f"{spec.name}:{spec.target}" if spec.target else spec.name, "parameters": spec.params},
    }
    last_text = _ENCODER.encode(last)
    unanswerable = outcome.planned.benchmark.unanswerable
    for query in (*outcome.planned.queries, *unanswerable):
        ranking = outcome.run.rankings[query.query_id]
        tokens = outcome.facts.get(query.query_id, {}).get("query_tokens")  # None without a model
        first = {
            "query_id": query.query_id,
            "query": readable(query.text),
            **({"no_answer": True} if query in unanswerable else {}),
            **({} if tokens is None else {"query_tokens": tokens}),
            "query_sha256": sha256_text(query.text),
            "system": system,
            "k_raw": k_raw,
        }
        new = [_logged(chunks[chunk_id]) for chunk_id, _ in ranking if chunk_id not in numbers]
        numbers.update((record["chunk_id"], number) for number, record in enumerate(new, start=len(numbers)))
        columns = {
            "new_chunks": new,
            "chunks": [numbers[chunk_id] for chunk_id, _ in ranking],
            "scores": [score for _, score in ranking],
        }
        yield f"{_ENCODER.encode(first)[:-1]}, {_ENCODER.encode(columns)[1:-1]}, {last_text[1:]}\n"


def _logged(chunk: Chunk) -> dict[str, Any]:
    return {
        "chunk_id": chunk.chunk_id,
        "file": chunk.file,
        "start_line": chunk.lines.start,
        "end_line": chunk.lines.end,
        **({"header_nws": chunk.added_nws} if chunk.header or chunk.rewritten else {}),
    }


def _time_rows(outcome: RunOutcome) -> Iterator[TimeRow]:
    run = outcome.run
    steps = {"retrieve": run.latency_ms, "rerank": run.rerank_ms}
    for query_id in run.latency_ms:
        latency = {step: round(spent[query_id], 4) for step, spent in steps.items() if query_id in spent}
        yield TimeRow(query_id=query_id, latency_ms=latency)


def _line(row: QueryRow | TimeRow) -> str:
    return _ENCODER.encode(row.as_json()) + "\n"


def jsonl(rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows as JSON lines."""
    return "".join(_ENCODER.encode(row) + "\n" for row in rows)


def pretty(record: records.Record) -> str:
    """Return a record as JSON of several lines, with a final line end."""
    return json.dumps(record.as_json(), indent=2, ensure_ascii=False) + "\n"
