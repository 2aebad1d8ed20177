"""Compare a stored run with the same request run again: its id, ranking, judgements and scores."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from repoeval_bench.core.run import Qrels, Ranking
from repoeval_bench.retrieval.ranking import differing_ranks
from repoeval_bench.runs.query_scores import SAME
from repoeval_bench.runs.view import RunView

# Another processor may sum in another order. Two runs that hold are then the same to each test, which adds up to four
# such errors.
TOLERANCE = SAME / 4

SHOWN = 10
"""The most differences that are listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A stored value that is not the computed one; None where one of the two has no such value."""

    what: str
    stored: str | float | None
    computed: str | float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """A stored run compared with the same request run again on `data`.

    `compared` counts the values by kind: id, ranking, judgements, scores. `differences` are the largest of
    `n_differences`. `reordered` are the queries whose scores, and the means, are then not compared.
    """

    run_id: str
    data: str
    compared: Mapping[str, int]
    n_differences: int
    differences: tuple[Difference, ...]
    tolerance: float
    reordered: int

    @property
    def holds(self) -> bool:
        """Return whether nothing differs."""
        return self.n_differences == 0


def compare_runs(stored: RunView, computed: RunView, data: str, tolerance: float) -> Verification:
    """Compare a stored run with the run that its request gives now."""
    rankings = stored.ranked(), computed.ranked()
    # Scores of a ranking may differ by the tolerance between machines, so nearly equal ones may change places.
    reordered = {
        query_id for query_id, ranking in rankings[1].items() if _moved(rankings[0], query_id, ranking, tolerance)
    }
    scores = _scores(stored, reordered), _scores(computed, reordered)
    qrels = _gains(stored.qrels()), _gains(computed.qrels())
    other_id = Difference(what="id", stored=stored.run_id, computed=computed.run_id)
    differences = [
        *([(math.inf, other_id)] if stored.run_id != computed.run_id else []),
        *_ranking_differences(*rankings, tolerance),
        *_differences(*qrels),
        *_differences(*scores),
    ]
    # A value that only one of the two has counts as infinitely far off, so these come first.
    largest = sorted(differences, key=lambda sized: -sized[0])[:SHOWN]
    return Verification(
        run_id=stored.run_id,
        data=data,
        compared={
            "id": 1,
            "ranking": sum(map(len, rankings[1].values())),
            "judgements": len(qrels[1]),
            "scores": len(scores[1]),
        },
        n_differences=len(differences),
        differences=tuple(difference for _, difference in largest),
        tolerance=tolerance,
        reordered=len(reordered),
    )


def _moved(stored: Mapping[str, Ranking], query_id: str, ranking: Ranking, tolerance: float) -> bool:
    """Return whether nearly equal chunks of a query change places, and nothing else of its ranking differs."""
    theirs = stored.get(query_id, ())
    ids = [chunk_id for chunk_id, _ in theirs], [chunk_id for chunk_id, _ in ranking]
    return ids[0] != ids[1] and not differing_ranks(theirs, ranking, tolerance)


def _ranking_differences(
    stored: Mapping[str, Ranking], computed: Mapping[str, Ranking], tolerance: float
) -> Iterator[tuple[float, Difference]]:
    for query_id in dict.fromkeys((*stored, *computed)):
        theirs, ours = stored.get(query_id, ()), computed.get(query_id, ())
        for index in differing_ranks(theirs, ours, tolerance):
            hits = [ranking[index] if index < len(ranking) else None for ranking in (theirs, ours)]
            scores = [hit[1] for hit in hits if hit]
            texts = [f"{hit[0]} {hit[1]}" if hit else None for hit in hits]
            difference = Difference(what=f"{query_id} rank {index + 1}", stored=texts[0], computed=texts[1])
            yield abs(scores[0] - scores[1]) if len(scores) == 2 else math.inf, difference


def _gains(qrels: Qrels) -> dict[str, float]:
    return {f"gain of {chunk} for {query}": gain for query, gains in qrels.items() for chunk, gain in gains.items()}


def _scores(run: RunView, left_out: set[str]) -> dict[str, float]:
    """Return name -> score of each query that is not left out; if none is, also the means."""
    rows = (row for row in run.query_rows() if row.query_id not in left_out)
    scores = {f"{name} of {row.query_id}": value for row in rows for name, value in row.measures.items()}
    if not left_out:
        means = {"micro": run.metrics.micro, "macro": run.metrics.macro, **run.metrics.per_repo}
        scores |= {f"mean {name} ({over})": value for over, values in means.items() for name, value in values.items()}
    return scores


def _differences(stored: Mapping[str, float], computed: Mapping[str, float]) -> Iterator[tuple[float, Difference]]:
    for what in dict.fromkeys((*stored, *computed)):
        theirs, ours = stored.get(what), computed.get(what)
        size = math.inf if theirs is None or ours is None else abs(theirs - ours)
        if size > TOLERANCE * max(1.0, abs(ours or 0.0)):
            yield size, Difference(what=what, stored=theirs, computed=ours)
