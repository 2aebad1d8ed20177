"""Queries without an answer: how often the system puts evidence forward all the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from repoeval_bench.analysis.logs.figures import Section, share_of

if TYPE_CHECKING:
    from repoeval_bench.analysis.logs.judged_log import JudgedLog
    from repoeval_bench.runs.log import LogRow

TITLE = "queries without an answer"


def false_evidence(log: JudgedLog, least_score: float | None = None) -> Section:
    """False-evidence rate: share of the `no_answer` queries for which a chunk was retrieved.

    With `least_score` only a chunk that scores as much counts as evidence. Beside it stands the share of the
    answerable queries with evidence: a system that always keeps silent has no false evidence either.
    """
    rows = log.unanswerable
    if not rows:
        return Section("no-answer", TITLE, missing="no row is no_answer, known to have no answer in the corpus")
    given = "a chunk" if least_score is None else f"a chunk that scores at least {least_score:g}"

    def evidence(row: LogRow) -> bool:
        return any(least_score is None or each.score >= least_score for each in row.topk)

    # What has no gold has no file: such queries are resampled by conversation, else each by itself.
    clusters = [row.conversation or row.query_id for row in rows]
    answerable = log.where(lambda _: True)
    figures = (
        share_of(f"false-evidence rate: given {given}", [evidence(row) for row in rows], clusters, "no_answer queries"),
        share_of(
            f"answerable queries given {given}", [evidence(row) for row in answerable.scored_rows()],
            answerable.clusters,
        ),
    )  # fmt: skip
    notes: tuple[str, ...] = ()
    if least_score is None and figures[0].value == 1:
        notes = ("every such query was given chunks: with --evidence-score S only a chunk that scores S counts",)
    return Section("no-answer", TITLE, figures, notes=notes)
