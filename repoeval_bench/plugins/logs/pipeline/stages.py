"""The gain of a stage of the system: the reranker, the rewriting of queries, the router."""

from __future__ import annotations

from typing import TYPE_CHECKING

from repoeval_bench.plugins.logs.figures import Figure, Section, changes_of, mean_of, share_of

if TYPE_CHECKING:
    from repoeval_bench.plugins.logs.judged_log import JudgedLog

RAW_DEPTH = 50


def reranker(log: JudgedLog, k: int) -> Section:
    """Raw retriever against reranker: recall@50 and MRR@50 before; nDCG, precision and MRR at k before and after.

    Recall at 50 bounds what a reranker of 50 can reach. Queries without `raw_topk` are left out and counted.
    """
    title = "raw retriever against reranker"
    part = log.where(lambda row: row.raw_topk is not None)
    if not len(part):
        return Section("reranker", title, missing="no row has raw_topk, the ranking before the reranker")
    raw = {row.query_id: [entry.chunk_id for entry in row.raw_topk or ()] for row in part.scored_rows()}
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
    return Section("reranker", title, figures=tuple(figures), stages=("raw", "reranked"), notes=notes)


def rewriting(log: JudgedLog, k: int) -> Section:
    """Recall of the query as it was asked against the rewritten one, for the queries that log both rankings."""
    title = "query rewriting"
    part = log.where(lambda row: row.original_topk is not None)
    if not len(part):
        rewritten = len(log.where(lambda row: row.rewritten_query is not None))
        why = f"; {rewritten} rows have rewritten_query" if rewritten else ""
        missing = f"no row has original_topk, what the original query retrieves{why}"
        return Section("rewriting", title, missing=missing)
    original = {row.query_id: [entry.chunk_id for entry in row.original_topk or ()] for row in part.scored_rows()}
    names = (f"recall@{k}", f"mrr@{k}")
    figures = changes_of(part.scores(original.__getitem__, names), part.scores(part.ranked, names), part.clusters)
    notes = left_out(log, part, "original_topk")
    return Section("rewriting", title, figures=tuple(figures), stages=("original", "rewritten"), notes=notes)


def router(log: JudgedLog, k: int) -> Section:
    """Coverage (share of queries that were routed), misroutes (share of the routed sent elsewhere), recall per source.

    A source's queries are those it holds the answer to (`expected_source`); where the log does not know, those that
    were sent to it.
    """
    logged = log.where(lambda row: row.source is not None or row.expected_source is not None)
    routed = log.where(lambda row: row.source is not None)
    if not len(logged):
        return Section("router", "router", missing="no row has a source, where the query was routed to")
    sources = {row.query_id: row.source for row in routed.scored_rows()}
    figures = [share_of("coverage: queries routed to a source", [q in sources for q in log.query_ids], log.clusters)]
    known = routed.where(lambda row: row.expected_source is not None)
    if len(known):
        wrong = [row.source != row.expected_source for row in known.scored_rows()]
        figures.append(share_of("misroutes: routed to another source", wrong, known.clusters))
        unknown = len(routed) - len(known)
        note = f"routed queries without expected_source, whose route is not judged: {unknown}" if unknown else ""
    else:
        note = "no row has both source and expected_source: misroutes are not known"
    by_expected = any(row.expected_source is not None for row in logged.scored_rows())
    field, whose = ("expected_source", "with their answer in") if by_expected else ("source", "routed to")
    for name in sorted({value for row in logged.scored_rows() if (value := getattr(row, field)) is not None}):
        part = log.where(lambda row, name=name: getattr(row, field) == name)  # type: ignore[misc]
        recall = part.scores(part.ranked, (f"recall@{k}",))[f"recall@{k}"]
        figures.append(mean_of(f"recall@{k} of queries {whose} {name}", recall, part.clusters))
    return Section("router", "router", figures=tuple(figures), notes=(note,) if note else ())


def left_out(log: JudgedLog, part: JudgedLog, field: str) -> tuple[str, ...]:
    """The note that counts the queries whose row lacks a field; none where all have it."""
    n = len(log) - len(part)
    return (f"queries without {field}, left out: {n} of {len(log)}",) if n else ()
