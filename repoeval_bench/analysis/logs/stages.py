"""What a stage of the system bought: the reranker, and the rewriting of queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from repoeval_bench.analysis.logs.figures import Figure, Section, changes_of, mean_of

if TYPE_CHECKING:
    from repoeval_bench.analysis.logs.judged_log import JudgedLog

RAW_DEPTH = 50


def reranker(log: JudgedLog, k: int) -> Section:
    """Raw retriever against reranker: recall@50 and MRR@50 before; nDCG, precision and MRR at k before and after.

    Recall at 50 bounds whatever a reranker of 50 can reach. Queries without `raw_topk` are left out and counted.
    """
    title = "raw retriever against reranker"
    part = log.where(lambda row: row.raw_topk is not None)
    if not len(part):
        return Section("reranker", title, missing="no row has raw_topk, the ranking before the reranker")
    raw = {row.query_id: [each.chunk_id for each in row.raw_topk or ()] for row in part.scored_rows()}
    deep = (f"recall@{RAW_DEPTH}", f"mrr@{RAW_DEPTH}")
    shallow = (f"ndcg@{k}", f"precision@{k}", f"mrr@{k}")
    before = part.scores(raw.__getitem__, (*deep, *shallow))
    after = part.scores(part.ranked, shallow)
    figures: list[Figure] = [mean_of(f"{name} raw", before[name], part.clusters) for name in deep]
    figures += changes_of({name: before[name] for name in shallow}, after, part.clusters)
    longest = max(map(len, raw.values()))
    notes = left_out(log, part, "raw_topk")
    if longest < RAW_DEPTH:
        notes += (f"the raw rankings hold at most {longest} chunks: recall@{RAW_DEPTH} is recall@{longest}",)
    return Section("reranker", title, tuple(figures), ("raw", "reranked"), notes)


def rewriting(log: JudgedLog, k: int) -> Section:
    """Recall of the query as it was asked against the rewritten one, for the queries that log both rankings."""
    title = "query rewriting"
    part = log.where(lambda row: row.original_topk is not None)
    if not len(part):
        rewritten = len(log.where(lambda row: row.rewritten_query is not None))
        why = f"; rewritten_query is there, in {rewritten}" if rewritten else ""
        return Section(
            "rewriting", title, missing=f"no row has original_topk, what the query as it was asked retrieves{why}"
        )
    original = {row.query_id: [each.chunk_id for each in row.original_topk or ()] for row in part.scored_rows()}
    names = (f"recall@{k}", f"mrr@{k}")
    figures = changes_of(part.scores(original.__getitem__, names), part.scores(part.ranked, names), part.clusters)
    notes = left_out(log, part, "original_topk")
    return Section("rewriting", title, tuple(figures), ("original", "rewritten"), notes)


def left_out(log: JudgedLog, part: JudgedLog, field: str) -> tuple[str, ...]:
    """The note that counts the queries whose row lacks a field; none where all have it."""
    n = len(log) - len(part)
    return (f"queries without {field}, left out: {n} of {len(log)}",) if n else ()
