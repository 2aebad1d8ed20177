"""Entity linking: whether the entities of a query are among those of its results."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from repoeval_bench.analysis.logs.figures import Section, mean_of
from repoeval_bench.analysis.logs.stages import left_out

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from repoeval_bench.analysis.logs.judged_log import JudgedLog

TITLE = "entity linking"


def linking_scores(wanted: AbstractSet[str], linked: AbstractSet[str]) -> tuple[float, float, float]:
    """(precision, recall, F1) of linked entities; precision is 0 where nothing is linked, `wanted` is not empty."""
    shared = len(wanted & linked)
    return (
        shared / len(linked) if linked else 0.0,
        shared / len(wanted),
        2 * shared / (len(wanted) + len(linked)),
    )


def entity_linking(log: JudgedLog, k: int) -> Section:
    """Precision, recall and F1 of the entities of the first k chunks against the query's, beside chunk recall@k.

    Entities are compared as they are written, each counted once. Queries without an entity are left out.
    """
    part = log.where(lambda row: bool(row.entities))
    linked = {row.query_id: [each.entities for each in row.topk[:k]] for row in part.scored_rows()}
    if not any(entities is not None for found in linked.values() for entities in found):
        lacking = "no retrieved chunk has entities" if len(part) else "no query has entities"
        return Section("entities", TITLE, missing=lacking)
    scores = np.array(
        [
            linking_scores(
                set(row.entities or ()), {name for entities in linked[row.query_id] for name in entities or ()}
            )
            for row in part.scored_rows()
        ]
    )
    figures = [
        mean_of(f"entity {name}@{k}", scores[:, column], part.clusters)
        for column, name in enumerate(("precision", "recall", "F1"))
    ]
    recall = part.scores(part.ranked, (f"recall@{k}",))[f"recall@{k}"]
    figures.append(mean_of(f"chunk recall@{k}", recall, part.clusters))
    return Section("entities", TITLE, tuple(figures), notes=left_out(log, part, "entities"))
