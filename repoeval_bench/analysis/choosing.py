"""The choice among several runs: the best, what the tests say of the others, and what each costs.

One measure decides, the protocol's headline, over the protocol's own mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from repoeval_bench.analysis.comparable import check_comparable, headline_measure, run_names
from repoeval_bench.analysis.comparison import MEANS, leads
from repoeval_bench.analysis.statistics import SEED
from repoeval_bench.analysis.verdicts import Candidate, Choice, ScoredRun, Verdict, decide
from repoeval_bench.core.errors import UsageError
from repoeval_bench.metrics import lower_is_better
from repoeval_bench.runs.query_scores import QueryScores, together

if TYPE_CHECKING:
    from repoeval_bench.analysis.records import Comparison
    from repoeval_bench.runs.view import RunView

READ = 10
"""Chunks read per query, wherever a query's cost is stated."""

_DIGITS = 12
"""Means are compared at this number of digits: a sum's rounding error must not break a tie."""


def choose(runs: Sequence[RunView], comparisons: Sequence[Comparison] = (), *, seed: int = SEED) -> Choice:
    """Choose among two or more stored runs of one question; `seed` is that of every draw.

    `comparisons` are those of all pairs by the protocol's headline, if they are already computed.

    A UsageError for fewer than two different runs, and for runs that `compare` refuses.
    """
    distinct = list({run.folder: run for run in runs}.values())
    if len(distinct) < 2:
        raise UsageError("nothing to choose from: give at least two different runs")
    check_comparable((distinct[0], run) for run in distinct[1:])
    measure = headline_measure(distinct)
    tested = comparisons if any(comparison.measure == measure for comparison in comparisons) else ()
    return _choice(distinct, tested, measure, seed)


def verdict_on(runs: Sequence[RunView], comparisons: Sequence[Comparison] = ()) -> Verdict:
    """Decide what the tests say of one or more different runs of one question.

    Of the measures of `comparisons` the headline decides, else one by which runs score. `comparisons` are those of all
    pairs, or of all runs with a baseline. Without any, the best run is compared with all others, and p is adjusted over
    all pairs.
    """
    measure = headline_measure(runs, list(dict.fromkeys(pair.measure for pair in comparisons)))
    return _choice(runs, comparisons, measure, SEED).verdict


def _choice(
    runs: Sequence[RunView],
    comparisons: Sequence[Comparison],
    measure: str,
    seed: int,
) -> Choice:
    """Rank different runs by a measure; without `comparisons` the best is compared with all others."""
    metrics, (unit, run_costs), names = runs[0].metrics, costs(runs), run_names(runs)
    candidates = [
        Candidate(run=name, run_id=run.run_id, mean=run.metrics.over(metrics.headline)[measure], cost=cost)
        for name, run, cost in zip(names, runs, run_costs, strict=True)
    ]
    order = ranked(candidates, measure)
    if not comparisons and len(runs) > 1:
        joined = together([run.scores for run in runs])
        comparisons = leads_of(runs, joined, names, candidates.index(order[0]), measure=measure, seed=seed)
    scored = [ScoredRun(name=candidate.run, run_id=candidate.run_id, mean=candidate.mean) for candidate in order]
    verdict = decide(
        scored,
        comparisons,
        protocol=metrics.protocol,
        measure=measure,
        over=metrics.headline,
    )
    return Choice(verdict=verdict, cost_unit=unit, candidates=tuple(order))


def ranked(candidates: Sequence[Candidate], measure: str) -> list[Candidate]:
    """Sort candidates by mean, the best first; equal means by cost, then by id."""
    sign = 1 if lower_is_better(measure) else -1
    return sorted(
        candidates,
        key=lambda candidate: (sign * round(candidate.mean, _DIGITS), candidate.cost or 0.0, candidate.run_id),
    )


def leads_of(
    runs: Sequence[RunView],
    joined: Sequence[QueryScores],
    names: Sequence[str],
    reference: int,
    *,
    measure: str,
    seed: int = SEED,
) -> Sequence[Comparison]:
    """One run's pairs with all others, each as the other minus it, with the numbers of `compare` for all pairs.

    `joined` are the runs' scores of the same queries, `names` what the pairs call them.
    """
    means = {over: [run.metrics.over(over)[measure] for run in runs] for over in MEANS}
    return leads(
        np.column_stack([of_run.values[measure] for of_run in joined]),
        joined[0],
        names,
        reference,
        measure=measure,
        over=runs[0].metrics.headline,
        means=means,
        seed=seed,
    )


def costs(runs: Sequence[RunView]) -> tuple[str, list[float | None]]:
    """Return the unit (`tokens`, `characters` or "") and the size of `READ` chunks of mean size in each run."""
    metrics = [run.metrics for run in runs]
    tokens, nws = [of_run.chunk_tokens for of_run in metrics], [of_run.chunk_nws for of_run in metrics]
    if len({of_run.embedder for of_run in metrics}) == 1 and None not in tokens:
        return "tokens", [None if size is None else READ * size.mean for size in tokens]
    if None not in nws:
        return "characters", [None if size is None else READ * size.mean for size in nws]
    return "", [None] * len(runs)
