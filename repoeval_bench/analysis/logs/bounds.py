"""Scores between two judgements: the gold, which misses relevant chunks, and a judge, who may be too kind.

Whatever set between the gold and gold plus judge is the true one, each measure lies between the bounds given here.
For precision, hit and MRR they are the scores by gold alone and by gold plus judge. Recall and nDCG are divided by
what is relevant, so a chunk that the judge found and the run did not pulls them below the score by gold alone; and
counting a chunk that the run ranks low can pull nDCG down. There the bounds are wider than those two scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from repoeval_bench.analysis.logs.figures import Figure, mean_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from repoeval_bench.analysis.logs.judged_log import JudgedLog
    from repoeval_bench.core.run import Qrels

    FloatArray = NDArray[np.float64]

JUDGED_GAIN = 1.0
"""The gain of a chunk that only the judge calls relevant, as that of a gold chunk unless its gold says another."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """A measure's mean by gold alone, by gold plus judge, and the ends between which the truth lies."""

    measure: str
    gold: Figure
    lower: Figure
    upper: Figure
    both: Figure


@dataclass(frozen=True, slots=True)
class Agreement:
    """How the judge stands to the gold: pairs judged, gold pairs judged and called not relevant, pairs added."""

    judged: int
    gold_judged: int
    gold_refused: int
    added: int
    unjudged_top: int
    top: int


def judged_bounds(
    log: JudgedLog, grades: Mapping[str, Mapping[str, int]], measures: Sequence[str], least: int
) -> list[Bounds]:
    """Bounds of each measure over the run's queries; a grade of `least` or more counts as relevant.

    At a given number of relevant chunks a measure is largest where those counted stand highest, and least where they
    stand lowest or were not retrieved. So one order of adding the judge's chunks bounds it from above, the reverse
    from below, and the extremes along the way are those over all sets.
    """
    chains = {query_id: _chain(log, query_id, grades.get(query_id, {}), least) for query_id in log.query_ids}
    longest = max((len(chain) for chain in chains.values()), default=0)
    gold = log.scores(log.ranked, measures)
    lower, upper = dict(gold), dict(gold)
    both = gold
    for size in range(1, longest + 1):
        high = log.scores(log.ranked, measures, _with(log.qrels, {q: chain[:size] for q, chain in chains.items()}))
        low = log.scores(log.ranked, measures, _with(log.qrels, {q: chain[-size:] for q, chain in chains.items()}))
        for name in measures:
            upper[name] = np.maximum(upper[name], high[name])
            lower[name] = np.minimum(lower[name], low[name])
        both = high
    return [
        Bounds(
            name,
            *(mean_of(f"{name} {word}", values[name], log.clusters)
              for word, values in (("gold", gold), ("lower", lower), ("upper", upper), ("gold plus judge", both))),
        )
        for name in measures
    ]  # fmt: skip


def agreement(log: JudgedLog, grades: Mapping[str, Mapping[str, int]], least: int, k: int) -> Agreement:
    """What the judgements cover of the run's queries, and of the first k chunks of each."""
    judged = {(q, c): grade for q in log.query_ids for c, grade in grades.get(q, {}).items()}
    gold = {(q, c) for q in log.query_ids for c in log.qrels[q]}
    top = [(q, c) for q in log.query_ids for c in log.ranked(q)[:k]]
    return Agreement(
        judged=len(judged),
        gold_judged=len(gold & judged.keys()),
        gold_refused=sum(judged[pair] < least for pair in gold & judged.keys()),
        added=sum(grade >= least and pair not in gold for pair, grade in judged.items()),
        unjudged_top=sum(pair not in judged and pair not in gold for pair in top),
        top=len(top),
    )


def gold_plus_judge(log: JudgedLog, grades: Mapping[str, Mapping[str, int]], least: int) -> dict[str, dict[str, float]]:
    """query_id -> chunk_id -> gain of both judgements together, 0 for what was judged not relevant."""
    found: dict[str, dict[str, float]] = {}
    for query_id in log.query_ids:
        judged = {c: JUDGED_GAIN if grade >= least else 0.0 for c, grade in grades.get(query_id, {}).items()}
        found[query_id] = {**judged, **log.qrels[query_id]}
    return found


def _chain(log: JudgedLog, query_id: str, grades: Mapping[str, int], least: int) -> list[str]:
    """What only the judge calls relevant: as it is ranked, then what was not retrieved."""
    added = {c for c, grade in grades.items() if grade >= least and c not in log.qrels[query_id]}
    ranked = [c for c in log.ranked(query_id) if c in added]
    return ranked + sorted(added.difference(ranked))


def _with(qrels: Qrels, added: Mapping[str, Sequence[str]]) -> Qrels:
    return {q: {**gains, **dict.fromkeys(added[q], JUDGED_GAIN)} for q, gains in qrels.items()}
