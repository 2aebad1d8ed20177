"""Analyse a leaderboard of chunkers: the effect of size, each chunker against `fixed`, the gain of reading more.

Chunkers are compared at equal size. A run has the size of a `fixed` run if their mean chunks are within 10 %. A run
without such a size is ranked, and in none of these comparisons. If several runs of `fixed` have the same mean chunk,
one is the baseline, and the others are only ranked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import log
from typing import TYPE_CHECKING

import numpy as np

from repoeval_bench.analysis.choosing import choice_of
from repoeval_bench.analysis.comparable import shared_measures
from repoeval_bench.analysis.comparison import compare, paired_differences
from repoeval_bench.analysis.pair_verdicts import Outcome
from repoeval_bench.analysis.statistics import mean_intervals
from repoeval_bench.analysis.verdicts import Candidate, Choice
from repoeval_bench.chunkers.tools.sizes import chunker_name, chunker_size
from repoeval_bench.core.languages import language_of
from repoeval_bench.metrics import BUDGETS
from repoeval_bench.plugins.lab.stability import StabilityRow, Updates, updates_of
from repoeval_bench.runs.config import NO_EMBEDDER
from repoeval_bench.runs.inspection import stored_tokens_per_nws
from repoeval_bench.runs.query_scores import together

if TYPE_CHECKING:
    from repoeval_bench.analysis.records import Comparison, Interval
    from repoeval_bench.plugins.lab.leaderboard import Leaderboard
    from repoeval_bench.runs.view import RunView

BASELINE = "fixed"

CLAIMED = ("recall@5",)
"""Measures by which papers compare chunkers. Larger chunks alone raise them, so sizes have to be equal."""

_NEAR = log(1.1)
"""Largest distance of two mean sizes that count as equal, as the logarithm of their ratio."""

_FEWEST = 20
"""The fewest queries for which a language is ranked by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizedRun:
    """A run: the `name` of its chunker, and its `size`: the size of the `fixed` run of equal mean chunk, or None.

    `label` is unique on the leaderboard: `ast at 1,000`. If the run has no such size, or two would have this label, it
    is `ast:max_nws=1300`, else the full spec.
    """

    run_id: str
    spec: str
    name: str
    size: int | None
    nws: float | None
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeEffect:
    """A chunker's mean at each of its sizes, ascending; `difference` is that of the largest size minus the smallest.

    `run_ids` are those of the runs at these sizes.
    """

    chunker: str
    run_ids: Mapping[int, str]
    means: Mapping[int, float]
    difference: float
    ci: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierPoint:
    """The highest recall of a leaderboard's runs within a budget, with its run; `fixed` is the highest of `fixed`.

    `budget` is in nws, `tokens` is the same in tokens of the rule `code`, None if no sources were kept.
    """

    budget: int
    tokens: float | None
    run_id: str
    recall: float
    ci: Interval
    fixed: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderboardAnalysis:
    """A leaderboard with its analysis.

    `against` is run id -> its comparisons with `fixed` of its size, Holm over the runs of that size. The leaderboard's
    measure comes first, then those of `CLAIMED` that the runs have. `recall` is the measure of the frontier.
    `languages` is language -> the choice for its queries, if there are several. `updates` is run id -> its chunker's
    cost of an update, if that was measured on code in a language of its queries.
    """

    leaderboard: Leaderboard
    sized_runs: Mapping[str, SizedRun]
    sizes: tuple[SizeEffect, ...]
    against: Mapping[str, tuple[Comparison, ...]]
    recall: str
    frontier: tuple[FrontierPoint, ...]
    languages: Mapping[str, Choice | None]
    tokens_per_nws: float | None
    updates: Mapping[str, Updates]

    @property
    def ranker(self) -> str:
        """The retriever in one word, with the embedder if there is one."""
        first = self.leaderboard.runs[0].metrics
        name = first.retriever.partition(":")[0]
        return name if first.embedder == NO_EMBEDDER else f"{name}, {first.embedder}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolAgreement:
    """The agreement of two protocols on the ranking of the runs that both have, on the same data by the same retriever.

    Two runs are the same if their chunkers have the same spec, or else the same label with a size. `tau` is Kendall's
    tau-b over the means. `changed` is label -> the verdicts against `fixed` of the same size under the first protocol
    and the second, if these differ.
    """

    dataset: str
    ranker: str
    protocols: tuple[str, str]
    n_rows: int
    tau: float | None
    changed: Mapping[str, tuple[Outcome, Outcome]]
    n_compared: int

    @property
    def turned_round(self) -> int:
        """Return how many runs are better under one protocol and worse under the other."""
        return sum(1 for pair in self.changed.values() if set(pair) == {Outcome.BETTER, Outcome.WORSE})


def analyses(leaderboards: Sequence[Leaderboard], updates: Sequence[StabilityRow] = ()) -> list[LeaderboardAnalysis]:
    """Analyse each leaderboard of two runs or more. `updates` are rows of `read_updates`."""
    ratios: dict[str, float | None] = {}
    results = []
    for leaderboard in leaderboards:
        if len(leaderboard.runs) < 2:
            continue
        data = leaderboard.runs[0].metrics.dataset.name
        if data not in ratios:
            ratios[data] = stored_tokens_per_nws(leaderboard.runs[0].folder)
        results.append(_analysis(leaderboard, ratios[data], updates))
    return results


def agreements(analyses: Sequence[LeaderboardAnalysis]) -> list[ProtocolAgreement]:
    """Return the agreement of every pair of protocols on the same part of a data set by the same retriever."""
    groups: dict[tuple[object, ...], list[LeaderboardAnalysis]] = {}
    for analysis in analyses:
        first = analysis.leaderboard.runs[0].metrics
        groups.setdefault((first.dataset.name, first.dataset.part, first.retriever, analysis.ranker), []).append(
            analysis
        )
    pairs = [pair for group in groups.values() for pair in combinations(group, 2)]
    return [_agreement(a, b) for a, b in pairs if a.leaderboard.protocol != b.leaderboard.protocol]


def _baselines(runs: Sequence[RunView]) -> dict[int, RunView]:
    """Return size option of `fixed` -> its run, ascending; of runs of equal mean chunk, the roundest size."""
    fixed = [run for run in runs if chunker_name(run.metrics.chunker) == BASELINE]
    sizes = [(size, run) for run in fixed if (size := chunker_size(run.metrics.chunker))]
    results: dict[int, RunView] = {}
    for size, run in sorted(sizes, key=lambda sized: (len(str(sized[0]).rstrip("0")), sized[0], sized[1].run_id)):
        if size not in results and _nearest(run, results) is None:
            results[size] = run
    return dict(sorted(results.items()))


def _sized_runs(runs: Sequence[RunView], baselines: Mapping[int, RunView]) -> dict[str, SizedRun]:
    sizes = {run.run_id: _size(run, baselines) for run in runs}
    labels = {run.run_id: _label(run.metrics.chunker, sizes[run.run_id]) for run in runs}
    for longer_label in (
        lambda run: _label(run.metrics.chunker, None),
        lambda run: run.metrics.chunker,
        lambda run: f"{run.metrics.chunker} ({run.run_id})",
    ):
        counts = Counter(labels.values())
        labels |= {run.run_id: longer_label(run) for run in runs if counts[labels[run.run_id]] > 1}
    return {
        run.run_id: SizedRun(
            run_id=run.run_id,
            spec=run.metrics.chunker,
            name=chunker_name(run.metrics.chunker),
            size=sizes[run.run_id],
            nws=mean_nws(run),
            label=labels[run.run_id],
        )
        for run in runs
    }


def _label(spec: str, size: int | None) -> str:
    """Return the chunker with the size of its baseline; alone if it has no size, or no option for one."""
    if size is None or chunker_size(spec) is None:
        return chunker_name(spec, sized=True)
    return f"{chunker_name(spec)} at {size:,}"


def _size(run: RunView, baselines: Mapping[int, RunView]) -> int | None:
    size = _nearest(run, baselines)
    # A second `fixed` of a size is not compared with the first.
    is_fixed = chunker_name(run.metrics.chunker) == BASELINE
    return None if size is not None and is_fixed and baselines[size] is not run else size


def _nearest(run: RunView, baselines: Mapping[int, RunView]) -> int | None:
    """Return the size of the baseline whose mean chunk is nearest; None if none is within 10 %."""
    nws = mean_nws(run)
    distances = {
        size: abs(log(nws / other)) for size, baseline in baselines.items() if nws and (other := mean_nws(baseline))
    }
    nearest = min(distances, key=lambda size: distances[size], default=None)
    return nearest if nearest is not None and distances[nearest] <= _NEAR else None


def mean_nws(run: RunView) -> float | None:
    """Return the mean size of a run's chunks; None if the run does not store it."""
    return run.metrics.chunk_nws.mean if run.metrics.chunk_nws else None


def _analysis(leaderboard: Leaderboard, ratio: float | None, updates: Sequence[StabilityRow]) -> LeaderboardAnalysis:
    baselines = _baselines(leaderboard.runs)
    sized_runs = _sized_runs(leaderboard.runs, baselines)
    languages = _languages(leaderboard, sized_runs)
    recall = "definition_recall" if leaderboard.measure.startswith("definition_") else "line_recall"
    return LeaderboardAnalysis(
        leaderboard=leaderboard,
        sized_runs=sized_runs,
        sizes=_size_effects(leaderboard, sized_runs),
        against=_against(leaderboard, sized_runs, baselines),
        recall=recall,
        frontier=_frontier(leaderboard, sized_runs, recall, ratio),
        languages=languages,
        tokens_per_nws=ratio,
        updates=_updates(leaderboard, sized_runs, baselines, [row for row in updates if row.new.language in languages]),
    )


def _size_effects(leaderboard: Leaderboard, sized_runs: Mapping[str, SizedRun]) -> tuple[SizeEffect, ...]:
    by_name: dict[str, dict[int, RunView]] = {}
    for run in leaderboard.runs:
        sized = sized_runs[run.run_id]
        if sized.size is not None:
            by_name.setdefault(sized.name, {}).setdefault(sized.size, run)
    results = []
    for name, runs in by_name.items():
        if len(runs) < 2:
            continue
        sizes = sorted(runs)
        scores, differences = paired_differences(runs[sizes[0]], [runs[sizes[-1]]], [leaderboard.measure])
        (difference,), (ci,) = mean_intervals(differences, scores.clusters, scores.repos, leaderboard.over)
        means = {size: runs[size].metrics.over(leaderboard.over)[leaderboard.measure] for size in sizes}
        run_ids = {size: runs[size].run_id for size in sizes}
        results.append(SizeEffect(chunker=name, run_ids=run_ids, means=means, difference=difference, ci=ci))
    return tuple(results)


def _against(
    leaderboard: Leaderboard, sized_runs: Mapping[str, SizedRun], baselines: Mapping[int, RunView]
) -> dict[str, tuple[Comparison, ...]]:
    known = shared_measures(leaderboard.runs)
    measures = [leaderboard.measure, *(name for name in CLAIMED if name in known and name != leaderboard.measure)]
    results: dict[str, tuple[Comparison, ...]] = {}
    for size, baseline in baselines.items():
        others = [run for run in leaderboard.runs if sized_runs[run.run_id].size == size and run is not baseline]
        if others:
            compared, n = compare(others, baseline, measures=measures), len(measures)
            results |= {run.run_id: tuple(compared[index * n : (index + 1) * n]) for index, run in enumerate(others)}
    return results


def _updates(
    leaderboard: Leaderboard,
    sized_runs: Mapping[str, SizedRun],
    baselines: Mapping[int, RunView],
    updates: Sequence[StabilityRow],
) -> dict[str, Updates]:
    fixed = {size: run.metrics.chunker for size, run in baselines.items()}
    costs = {
        run.run_id: updates_of(run.metrics.chunker, updates, fixed.get(sized_runs[run.run_id].size or 0))
        for run in leaderboard.runs
    }
    return {run_id: cost for run_id, cost in costs.items() if cost}


def _frontier(
    leaderboard: Leaderboard, sized_runs: Mapping[str, SizedRun], recall: str, ratio: float | None
) -> tuple[FrontierPoint, ...]:
    points = []
    for budget in BUDGETS:
        name = f"{recall}@{budget}"
        means = {run.run_id: run.metrics.over(leaderboard.over).get(name) for run in leaderboard.runs}
        if None in means.values():
            continue
        best = max(leaderboard.runs, key=lambda run: means[run.run_id] or 0.0)
        scores = best.scores
        (mean,), (ci,) = mean_intervals(scores.table([name]), scores.clusters, scores.repos, leaderboard.over)
        fixed = [means[run.run_id] or 0.0 for run in leaderboard.runs if sized_runs[run.run_id].name == BASELINE]
        points.append(
            FrontierPoint(
                budget=budget,
                tokens=None if ratio is None else budget * ratio,
                run_id=best.run_id,
                recall=mean,
                ci=ci,
                fixed=max(fixed, default=None),
            )
        )
    return tuple(points)


def _languages(leaderboard: Leaderboard, sized_runs: Mapping[str, SizedRun]) -> dict[str, Choice | None]:
    """Return language -> its ranking if there are several; None for a language with too few queries."""
    joined = together([run.scores for run in leaderboard.runs])
    by_language: dict[str, list[int]] = {}
    for index, files in enumerate(joined[0].gold_files):
        known = language_of(files[0]) if files else None
        by_language.setdefault(known.name if known else "unknown", []).append(index)
    if len(by_language) < 2:
        return dict.fromkeys(by_language)
    results: dict[str, Choice | None] = {}
    for language, positions in sorted(by_language.items()):
        if len(positions) < _FEWEST:
            results[language] = None
            continue
        parts = [scores.take(positions) for scores in joined]
        tables = [part.table([leaderboard.measure]) for part in parts]
        means = [mean_intervals(table, parts[0].clusters, parts[0].repos, leaderboard.over)[0][0] for table in tables]
        candidates = [
            Candidate(run=sized_runs[run.run_id].label, run_id=run.run_id, mean=mean, cost=sized_runs[run.run_id].nws)
            for run, mean in zip(leaderboard.runs, means, strict=True)
        ]
        results[language] = choice_of(
            np.column_stack(tables),
            parts[0],
            candidates,
            measure=leaderboard.measure,
            over=leaderboard.over,
            protocol=leaderboard.protocol,
        )
    return results


def _agreement(a: LeaderboardAnalysis, b: LeaderboardAnalysis) -> ProtocolAgreement:
    from scipy.stats import kendalltau

    pairs = _same(a, b)
    scores = [{entry.run_id: entry.score for entry in analysis.leaderboard.entries} for analysis in (a, b)]
    columns = [[by_id[run_ids[index]] for run_ids in pairs] for index, by_id in enumerate(scores)]
    tau = float(kendalltau(*columns).statistic) if len(pairs) > 1 else None
    verdicts = {
        a.sized_runs[ours].label: (_settled(a.against[ours][0]), _settled(b.against[theirs][0]))
        for ours, theirs in pairs
        if ours in a.against and theirs in b.against
    }
    return ProtocolAgreement(
        dataset=a.leaderboard.runs[0].metrics.dataset.name,
        ranker=a.ranker,
        protocols=(a.leaderboard.protocol, b.leaderboard.protocol),
        n_rows=len(pairs),
        tau=tau,
        changed={label: (first, second) for label, (first, second) in verdicts.items() if first != second},
        n_compared=len(verdicts),
    )


def _same(a: LeaderboardAnalysis, b: LeaderboardAnalysis) -> list[tuple[str, str]]:
    """Return the ids of the runs that both leaderboards have, each once."""
    theirs = {sized.spec: sized.run_id for sized in b.sized_runs.values()}
    pairs = {sized.run_id: theirs.pop(sized.spec) for sized in a.sized_runs.values() if sized.spec in theirs}
    rest = {p.label: p.run_id for p in b.sized_runs.values() if p.size is not None and p.run_id in theirs.values()}
    pairs |= {
        sized.run_id: rest[sized.label]
        for sized in a.sized_runs.values()
        if sized.run_id not in pairs and sized.size is not None and sized.label in rest
    }
    return [*pairs.items()]


def _settled(comparison: Comparison) -> Outcome:
    """Return better, worse, or not significant (for any reason)."""
    return comparison.verdict.outcome if comparison.is_significant else Outcome.NOT_SIGNIFICANT
