"""The sections of one run's pipeline, in their order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from repoeval_bench.analysis.judged_log import JudgedLog, chosen_depth
from repoeval_bench.analysis.pipeline.answers import entity_linking, false_evidence, freshness
from repoeval_bench.analysis.pipeline.cost import cost, latency
from repoeval_bench.analysis.pipeline.stages import reranker, rewriting, router
from repoeval_bench.runs.config import NO_EMBEDDER
from repoeval_bench.runs.records import EMBED_STEP, MANIFEST
from repoeval_bench.runs.view import RunView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from repoeval_bench.analysis.figures import Section

SECTIONS = ("reranker", "router", "rewriting", "freshness", "no-answer", "entities", "latency", "cost")


@dataclass(frozen=True, slots=True)
class PipelineReport:
    """The sections of a run, `k` deep, and what its queries are clustered by."""

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
    evidence_score: float | None = None,
) -> PipelineReport:
    """What the log of a run says of each stage of its system.

    `k` is how many results are read (10 unless given), `raw` the run of the raw retriever where the log has no
    `raw_topk` (the first stage that the run names, if it is in the same folder), `evidence_score` what a chunk must
    score to count as evidence. A depth that the run does not have and a raw run of other data are a UsageError.
    """
    depth = chosen_depth([run], k)
    log = JudgedLog.read(run, raw or _first_stage(run))
    makers = {
        "reranker": partial(reranker, log, depth),
        "router": partial(router, log, depth),
        "rewriting": partial(rewriting, log, depth),
        "freshness": partial(freshness, log, depth),
        "no-answer": partial(false_evidence, log, evidence_score),
        "entities": partial(entity_linking, log, depth),
        "latency": partial(_latency, run, log),
        "cost": partial(_cost, run, log),
    }
    found = tuple(makers[name]() for name in dict.fromkeys(sections))
    return PipelineReport(run.run_id, depth, found, log.clustered_by)


def _first_stage(run: RunView) -> RunView | None:
    """The run of the raw retriever that a reranked one names in its manifest, if it is in the same folder."""
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
