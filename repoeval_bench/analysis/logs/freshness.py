"""Whether a query was answered with what had been written when it was asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from repoeval_bench.analysis.logs.figures import Section, changes_of, share_of
from repoeval_bench.analysis.logs.stages import left_out
from repoeval_bench.runs.log import moment

if TYPE_CHECKING:
    from repoeval_bench.analysis.logs.judged_log import JudgedLog
    from repoeval_bench.core.run import Qrels
    from repoeval_bench.runs.log import Moment, Retrieved

TITLE = "freshness"


def is_newer(chunk: Retrieved, as_of: Moment) -> bool | None:
    """Whether a chunk's doc_version is later than the query's as_of; None where it is no date."""
    written = moment(chunk.doc_version) if chunk.doc_version is not None else None
    return None if written is None else written.is_after(as_of)


def freshness(log: JudgedLog, k: int) -> Section:
    """Share of retrieved chunks not newer than their query's `as_of`, and every measure without the newer ones.

    What a query could not know of counts neither as retrieved nor as relevant, as far as the log dates it. Measures
    are those of the run that need ranks alone.
    """
    part = log.where(lambda row: row.as_of is not None)
    if not len(part):
        return Section("freshness", TITLE, missing="no row has as_of, the time a query may know of")
    newer: dict[str, set[str]] = {}
    answers: dict[str, list[float]] = {"top": [], "all": []}
    clusters: dict[str, list[object]] = {"top": [], "all": []}
    undated = 0
    # The gold of one query may be dated by another query's results.
    dated = {
        each.chunk_id: written
        for row in log.rows.values()
        for each in row.topk
        if each.doc_version is not None and (written := moment(each.doc_version)) is not None
    }
    qrels: Qrels = {}
    for query_id, cluster, row in zip(part.query_ids, part.clusters, part.scored_rows(), strict=True):
        as_of = moment(row.as_of or "")
        assert as_of is not None, "the contract lets no other as_of pass"
        found = newer[query_id] = set()
        for each in row.topk:
            late = is_newer(each, as_of)
            if late is None:
                undated += 1
                continue
            if late:
                found.add(each.chunk_id)
            for depth in ("top", "all") if each.rank <= k else ("all",):
                answers[depth].append(0.0 if late else 1.0)
                clusters[depth].append(cluster)
        gold = part.qrels[query_id]
        qrels[query_id] = {
            c: gain for c, gain in gold.items() if c not in found and not (c in dated and dated[c].is_after(as_of))
        }
    if not answers["all"]:
        return Section("freshness", TITLE, missing="no retrieved chunk has a doc_version that is an ISO 8601 date")
    names = {"top": f"chunks of the first {k} not newer than as_of", "all": "retrieved chunks not newer than as_of"}
    figures = [share_of(names[d], answers[d], clusters[d], "chunks") for d in names if answers[d]]
    given = [bool(newer[query_id]) for query_id in part.query_ids]
    figures.append(share_of("queries that were given a newer chunk", given, part.clusters))
    before = part.scores(part.ranked, part.measures)
    after = part.scores(
        lambda query_id: [c for c in part.ranked(query_id) if c not in newer[query_id]], part.measures, qrels
    )
    if part.measures:
        figures += changes_of(before, after, part.clusters)
    notes = left_out(log, part, "as_of")
    if undated:
        notes += (f"retrieved chunks without a dated doc_version, taken for not newer in the measures: {undated}",)
    if dropped := sum(len(part.qrels[q]) - len(qrels[q]) for q in part.query_ids):
        notes += (f"relevant chunks newer than their query, left out of its gold too: {dropped}",)
    return Section("freshness", TITLE, tuple(figures), ("as retrieved", "without newer"), notes)
