"""The definitions that queries need: which retrieved chunk has each, and what those that none has are like."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from repoeval_bench.protocols.uses import distance
from repoeval_bench.runs.log import first_rank

if TYPE_CHECKING:
    from repoeval_bench.runs.inspection import Inspection
    from repoeval_bench.runs.log import Retrieved


@dataclass(frozen=True, slots=True, kw_only=True)
class Needed:
    """A definition that a query needs; `rank` is that of the first chunk with a gold line of it, None where none has.

    `distance` is 0 in the query's own file, 1 in its folder, and 1 more for each folder up or down.
    """

    query_id: str
    name: str
    kind: str
    tier: str
    distance: int
    rank: int | None


def needed(inspection: Inspection | None, ranked: Mapping[str, Sequence[Retrieved]]) -> tuple[Needed, ...]:
    """Every definition that a query of the run needs; `ranked` is query_id -> its results, best first."""
    queries = inspection.queries if inspection else {}
    return tuple(
        Needed(
            query_id=query_id,
            name=definition.name,
            kind=definition.kind,
            tier=definition.tier,
            distance=distance(query.file, definition.file),
            rank=first_rank(definition.gold, ranked.get(query_id, ())),
        )
        for query_id, query in queries.items()
        for definition in query.definitions
    )


def never_retrieved(needed: Sequence[Needed]) -> dict[str, tuple[int, int]]:
    """Return what definitions are like -> (how many were never retrieved, how many there are).

    All of them, and by kind, distance and tier.
    """
    groups: dict[str, list[Needed]] = defaultdict(list)
    for definition in needed:
        groups["all definitions"].append(definition)
    for what in ("kind", "distance", "tier"):
        for value in sorted({getattr(definition, what) for definition in needed}):
            groups[f"{what} {value}"] = [definition for definition in needed if getattr(definition, what) == value]
    return {name: (sum(definition.rank is None for definition in group), len(group)) for name, group in groups.items()}
