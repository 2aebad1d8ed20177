"""The sections of one run's pipeline in their order, and those of time and cost."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from repoeval_bench.plugins.logs.figures import Section, Statistic, quantile_of
from repoeval_bench.plugins.logs.judged_log import JudgedLog, resolve_depth
from repoeval_bench.plugins.logs.pipeline.stages import (
    entity_linking,
    false_evidence,
    freshness,
    reranker,
    rewriting,
    router,
)
from repoeval_bench.runs.config import NO_EMBEDDER
from repoeval_bench.runs.records import EMBED_STEP, MANIFEST, IndexCost
from repoeval_bench.runs.view import RunView


def latency(
    times: Mapping[str, Mapping[str, float]],
    clusters: Mapping[str, Hashable],
    *,
    search_only: bool = False,
    reranked: bool = False,
) -> Section:
    """Median and p90 of each step, and of all steps together, with 95 % intervals.

    `times` is query_id -> step -> milliseconds. `clusters` is query_id -> its cluster; a query without one is a cluster
    of its own. `search_only`: `retrieve` does not include embedding the query. `reranked`: every query had a step
    `rerank`, with or without a known time.
    """
    title = "latency, milliseconds"
    steps = list(dict.fromkeys(step for of_query in times.values() for step in of_query))
    if not steps:
        return Section("latency", title, missing="no row has latency_ms, milliseconds of retrieve and rerank")
    columns = {step: {q: of_query[step] for q, of_query in times.items() if step in of_query} for step in steps}
    if len(steps) > 1:
        whole = {q: sum(of_query.values()) for q, of_query in times.items() if len(of_query) == len(steps)}
        columns |= {"together": whole} if whole else {}
    figures = [
        quantile_of(f"{step}, {name}", list(column.values()), [clusters.get(query, query) for query in column], q)
        for step, column in columns.items()
        for name, q in (("median", 0.5), ("p90", 0.9))
    ]
    notes = []
    if any(figure.ci is not None and None in figure.ci for figure in figures):
        notes.append("an open end means that there are too few queries to set it")
    if search_only and "retrieve" in steps:
        notes.append("retrieve is the search alone, without embedding the query")
    if untimed := sum("rerank" not in of_query for of_query in times.values()) if reranked else 0:
        notes.append(
            f"what reranking takes is not known of {untimed} of {len(times)} queries: their scores were in the cache"
        )
    return Section("latency", title, figures=tuple(figures), notes=tuple(notes))


def cost(
    index: IndexCost | None, encoded: tuple[int, float] | None, query_tokens: Sequence[int], version: str
) -> Section:
    """Vectors, tokens embedded, size of the index, vectors per second; tokens of a query where they are logged.

    `index` is what the log or the run says about the index `version`, or None. `encoded` is (vectors made, seconds).
    """
    figures: list[Statistic] = []
    notes: list[str] = []
    if index is not None:
        known = (("vectors", index.vectors), ("tokens embedded", index.tokens), ("index bytes", index.bytes))
        figures += [Statistic(name, "number", float(n), n=1, of="index") for name, n in known if n is not None]
        if index.vectors and index.bytes:
            figures.append(Statistic("bytes per vector", "number", index.bytes / index.vectors, n=1, of="index"))
    if encoded is not None and encoded[0] and encoded[1]:
        rate = encoded[0] / encoded[1]
        figures.append(Statistic("vectors per second", "number", rate, n=encoded[0], of="vectors"))
    elif index is not None:
        notes.append("vectors per second are not known: none was made in this run, or no seconds are logged")
    if query_tokens:
        for name, value in zip(("median", "p90"), np.quantile(query_tokens, (0.5, 0.9)).tolist(), strict=True):
            figures.append(Statistic(f"tokens of a query, {name}", "number", value, n=len(query_tokens)))
    title = f"cost of index {version}"
    if not figures:
        return Section("cost", title, missing="no row has index (vectors, tokens, bytes, seconds) or query_tokens")
    return Section("cost", title, figures=tuple(figures), notes=tuple(notes))


SECTIONS = ("reranker", "router", "rewriting", "freshness", "no-answer", "entities", "latency", "cost")


@dataclass(frozen=True, slots=True)
class PipelineReport:
    """The sections of a run at depth `k`, and what its queries are clustered by."""

    run: str
    k: int
    sections: tuple[Section, ...]
    clustered_by: str


def pipeline_report(
    run: RunView,
    *,
    k: int | None = None,
    sections: Sequence[str] = SECTIONS,
    raw: RunView | None = None,
) -> PipelineReport:
    """Measure the stages of the system that wrote a run's log.

    `k` is the number of results read (10 unless given). `raw` is the raw retriever's run, for a log without `raw_topk`;
    by default it is the first stage that the run names, if it is in the same folder. A depth that the run does not have
    and a raw run of other data are a UsageError.
    """
    depth = resolve_depth([run], k)
    log = JudgedLog.read(run, raw or _first_stage(run))
    makers = {
        "reranker": partial(reranker, log, depth),
        "router": partial(router, log, depth),
        "rewriting": partial(rewriting, log, depth),
        "freshness": partial(freshness, log, depth),
        "no-answer": partial(false_evidence, log),
        "entities": partial(entity_linking, log, depth),
        "latency": partial(_latency, run, log),
        "cost": partial(_cost, run, log),
    }
    result = tuple(makers[name]() for name in dict.fromkeys(sections))
    return PipelineReport(run.run_id, depth, result, log.clustered_by)


def _first_stage(run: RunView) -> RunView | None:
    """Return the run of the raw retriever that a reranked run names in its manifest, if it is in the same folder."""
    named = run.manifest.first_stage
    folder = run.folder.parent / named.run_id if named else None
    return RunView.open(folder) if folder is not None and (folder / MANIFEST).is_file() else None


def _latency(run: RunView, log: JudgedLog) -> Section:
    return latency(
        run.timings.queries,
        dict(zip(log.query_ids, log.clusters, strict=True)),
        search_only=not run.metrics.imported and run.metrics.embedder != NO_EMBEDDER,
        reranked=run.manifest.first_stage is not None,
    )


def _cost(run: RunView, log: JudgedLog) -> Section:
    tokens = [row.query_tokens for row in log.rows.values() if row.query_tokens is not None]
    logged = next((row.index for row in log.rows.values() if row.index is not None), None)
    encoded = None
    if logged is not None and logged.vectors and logged.seconds:
        encoded = logged.vectors, logged.seconds
    elif logged is None and (step := run.timings.step(EMBED_STEP)) is not None:
        encoded = step.encoded or 0, step.seconds or 0.0
    index = run.manifest.index if logged is None else logged
    return cost(index, encoded if index is not None else None, tokens, run.manifest.index_version)
