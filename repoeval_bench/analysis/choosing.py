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
    from repoeval_bench.analysis.sign_flips import FloatArray
    from repoeval_bench.runs.records import Headline
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
    unit, run_costs = costs(distinct)
    measure, over = headline_measure(distinct), distinct[0].metrics.headline
    joined = together([run.scores for run in distinct])
    candidates = [
        Candidate(run=name, run_id=run.run_id, mean=run.metrics.over(over)[measure], cost=cost)
        for name, run, cost in zip(run_names(distinct), distinct, run_costs, strict=True)
    ]
    if not any(comparison.measure == measure for comparison in comparisons):
        comparisons = _best_leads(distinct, joined, candidates, measure, seed)
    return choice_of(
        np.column_stack([comparison.values[measure] for comparison in joined]),
        joined[0],
        candidates,
        comparisons,
        measure=measure,
        over=over,
        protocol=distinct[0].metrics.protocol,
        cost_unit=unit,
        seed=seed,
    )


def verdict_on(runs: Sequence[RunView], comparisons: Sequence[Comparison] = ()) -> Verdict:
    """Decide what the tests say of one or more different runs of one question.

    The measure of the first of `comparisons` decides, else the protocol's headline. `comparisons` are those of all
    pairs, or of all runs with one baseline. Without any, the best run is compared with all others, and p is adjusted
    over all pairs.
    """
    measure = comparisons[0].measure if comparisons else headline_measure(runs)
    first = runs[0].metrics
    _, run_costs = costs(runs)
    candidates = [
        Candidate(run=name, run_id=run.run_id, mean=run.metrics.over(first.headline)[measure], cost=cost)
        for name, run, cost in zip(run_names(runs), runs, run_costs, strict=True)
    ]
    if not comparisons and len(runs) > 1:
        comparisons = _best_leads(runs, together([run.scores for run in runs]), candidates, measure, SEED)
    return decide(
        _scored(ranked(candidates, measure)), comparisons, protocol=first.protocol, measure=measure, over=first.headline
    )


def ranked(candidates: Sequence[Candidate], measure: str) -> list[Candidate]:
    """Sort candidates by mean, the best first; equal means by cost, then by id."""
    sign = 1 if lower_is_better(measure) else -1
    return sorted(
        candidates,
        key=lambda candidate: (sign * round(candidate.mean, _DIGITS), candidate.cost or 0.0, candidate.run_id),
    )


def _scored(candidates: Sequence[Candidate]) -> list[ScoredRun]:
    return [ScoredRun(name=candidate.run, run_id=candidate.run_id, mean=candidate.mean) for candidate in candidates]


def _best_leads(
    runs: Sequence[RunView], joined: Sequence[QueryScores], candidates: Sequence[Candidate], measure: str, seed: int
) -> Sequence[Comparison]:
    best = candidates.index(ranked(candidates, measure)[0])
    return leads_of(runs, joined, [candidate.run for candidate in candidates], best, measure=measure, seed=seed)


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


def choice_of(
    table: FloatArray,
    scores: QueryScores,
    candidates: Sequence[Candidate],
    comparisons: Sequence[Comparison] = (),
    *,
    measure: str,
    over: Headline,
    protocol: str = "",
    cost_unit: str = "",
    seed: int = SEED,
) -> Choice:
    """Choose among runs given as a table of scores.

    `table` is float64 (n_queries, n_runs), its rows the queries of `scores`. `candidates` are the runs in the order of
    the columns, and `comparisons` use their names. Without `comparisons` they are computed here.
    """
    order = [candidates.index(candidate) for candidate in ranked(candidates, measure)]
    if not comparisons:
        names = [candidate.run for candidate in candidates]
        comparisons = leads(table, scores, names, order[0], measure=measure, over=over, seed=seed)
    verdict = decide(
        _scored([candidates[index] for index in order]), comparisons, protocol=protocol, measure=measure, over=over
    )
    return Choice(
        verdict=verdict,
        cost_unit=cost_unit,
        candidates=tuple(candidates[index] for index in order),
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
