"""Whether queries were sent to the source that holds their answer, and what each source then found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from repoeval_bench.analysis.logs.figures import Section, mean_of, share_of

if TYPE_CHECKING:
    from repoeval_bench.analysis.logs.judged_log import JudgedLog

TITLE = "router"


def router(log: JudgedLog, k: int) -> Section:
    """Coverage (share of queries that were routed), misroutes (share of the routed sent elsewhere), recall per source.

    A source's queries are those it holds the answer to (`expected_source`); where the log does not know, those that
    were sent to it.
    """
    logged = log.where(lambda row: row.source is not None or row.expected_source is not None)
    routed = log.where(lambda row: row.source is not None)
    if not len(logged):
        return Section("router", TITLE, missing="no row has a source, where the query was routed to")
    sources = {row.query_id: row.source for row in routed.scored_rows()}
    figures = [share_of("coverage: queries routed to a source", [q in sources for q in log.query_ids], log.clusters)]
    notes: list[str] = []
    known = routed.where(lambda row: row.expected_source is not None)
    if len(known):
        wrong = [row.source != row.expected_source for row in known.scored_rows()]
        figures.append(share_of("misroutes: routed to another source", wrong, known.clusters))
        if len(known) < len(routed):
            notes.append(
                f"routed queries without expected_source, whose route is not judged: {len(routed) - len(known)}"
            )
    else:
        notes.append("no row has both source and expected_source: misroutes are not known")
    by_expected = any(row.expected_source is not None for row in logged.scored_rows())
    field = "expected_source" if by_expected else "source"
    for name in sorted({value for row in logged.scored_rows() if (value := getattr(row, field)) is not None}):
        part = log.where(lambda row, name=name: getattr(row, field) == name)  # type: ignore[misc]
        recall = part.scores(part.ranked, (f"recall@{k}",))[f"recall@{k}"]
        whose = "with their answer in" if by_expected else "routed to"
        figures.append(mean_of(f"recall@{k} of queries {whose} {name}", recall, part.clusters))
    return Section("router", TITLE, tuple(figures), notes=tuple(notes))
