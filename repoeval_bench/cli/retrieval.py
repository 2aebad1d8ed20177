"""`retrieval`: what a retrieval team reads off a run's log beside its scores, section by section."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from repoeval_bench.analysis.logs.cost import cost, latency
from repoeval_bench.analysis.logs.entities import entity_linking
from repoeval_bench.analysis.logs.evidence import false_evidence
from repoeval_bench.analysis.logs.freshness import freshness
from repoeval_bench.analysis.logs.router import router
from repoeval_bench.analysis.logs.stages import reranker, rewriting
from repoeval_bench.cli.console import print_table
from repoeval_bench.cli.judged_run import check_same_queries, chosen_depth, judged_log, log_rows, title_of
from repoeval_bench.cli.options import depth_option, runs_folder
from repoeval_bench.report.retrieval import missing_line, section_tables
from repoeval_bench.runs.config import NO_EMBEDDER
from repoeval_bench.runs.records import EMBED_STEP, MANIFEST
from repoeval_bench.runs.view import RunView, find_run

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from repoeval_bench.analysis.logs.figures import Section
    from repoeval_bench.analysis.logs.judged_log import JudgedLog
    from repoeval_bench.runs.log import LogRow

SECTIONS = ("reranker", "router", "rewriting", "freshness", "no-answer", "entities", "latency", "cost")


@click.command("retrieval", short_help="Say what a log's reranker, router, freshness … come to.")
@click.argument("run")
@depth_option("How many results are read.")
@click.option("--section", "chosen", multiple=True, type=click.Choice(SECTIONS), help="Only this section; repeat it.")
@click.option("--raw", metavar="RUN", help="The raw retriever's run, where the log has no raw_topk.")
@click.option("--evidence-score", type=float, metavar="SCORE",
              help="What a chunk must score to count as evidence (no-answer); any chunk if not given.")  # fmt: skip
@runs_folder
@click.option("--json", "as_json", is_flag=True, help="Print JSON in place of the tables.")
def retrieval_command(
    *,
    run: str,
    k: int | None,
    chosen: tuple[str, ...],
    raw: str | None,
    evidence_score: float | None,
    out: Path,
    as_json: bool,
) -> None:
    """Print of RUN whatever its log supports: raw retriever against reranker, router, query rewriting, freshness,
    queries without an answer, entity linking, latency and cost. What a log does not support says so in one line.

    docs/retrieval.md has an example of each. Example: repoeval-bench retrieval RUN --section latency
    """  # noqa: D205 - click prints the first paragraph as it stands
    stored = find_run(run, out)
    depth = chosen_depth([stored], k)
    rows = log_rows(stored)
    first = find_run(raw, out) if raw else _first_stage(stored)
    if first is not None:
        check_same_queries(stored, first)
        rows = _with_raw(rows, log_rows(first))
    log = judged_log(stored, rows)
    makers: dict[str, Callable[[], Section]] = {
        "reranker": lambda: reranker(log, depth),
        "router": lambda: router(log, depth),
        "rewriting": lambda: rewriting(log, depth),
        "freshness": lambda: freshness(log, depth),
        "no-answer": lambda: false_evidence(log, evidence_score),
        "entities": lambda: entity_linking(log, depth),
        "latency": lambda: latency(
            stored.timings.queries,
            dict(zip(log.query_ids, log.clusters, strict=True)),
            search_only=not stored.metrics.imported and stored.metrics.embedder != NO_EMBEDDER,
            reranked=stored.manifest.first_stage is not None,
        ),
        "cost": lambda: _cost(stored, log),
    }
    sections = [makers[name]() for name in dict.fromkeys(chosen or SECTIONS)]
    if as_json:
        content = {"run": stored.run_id, "k": depth, "sections": [asdict(section) for section in sections]}
        click.echo(json.dumps(content, indent=2, ensure_ascii=False))
        return
    clusters = f"resampled by {log.clustered_by}" if log.clustered_by != "query" else "each query for itself"
    click.echo(f"{title_of(stored)} · means over queries, {clusters}")
    for section in sections:
        click.echo()
        if section.missing:
            click.echo(missing_line(section))
            continue
        for table in section_tables(section):
            print_table(table)
        for note in section.notes:
            click.echo(f"note: {note}")


def _first_stage(run: RunView) -> RunView | None:
    """The run of the raw retriever that a reranked one names in its manifest, if it stands beside it."""
    first = run.manifest.first_stage
    folder = run.folder.parent / first.run_id if first else None
    return RunView.open(folder) if folder and (folder / MANIFEST).is_file() else None


def _with_raw(rows: Mapping[str, LogRow], raw: Mapping[str, LogRow]) -> dict[str, LogRow]:
    return {
        query_id: row.model_copy(update={"raw_topk": raw[query_id].topk})
        if row.raw_topk is None and query_id in raw
        else row
        for query_id, row in rows.items()
    }


def _cost(run: RunView, log: JudgedLog) -> Section:
    version = run.manifest.index_version
    tokens = [row.query_tokens for row in log.rows.values() if row.query_tokens is not None]
    logged = next((row.index for row in log.rows.values() if row.index is not None), None)
    encoded = None
    if logged is not None and logged.vectors and logged.seconds:
        encoded = logged.vectors, logged.seconds
    if logged is None and run.manifest.index:
        logged = run.manifest.index
        step = run.timings.step(EMBED_STEP)
        encoded = (step.encoded or 0, step.seconds or 0.0) if step else None
    return cost(logged, encoded, tokens, version)
