"""Read what a board of chunkers says beyond its ranking: what size buys, what lines cannot do, what reading more buys.

Chunkers are compared at equal size: a run is of a size where its realised mean chunk is within 10 % of that of a
`fixed` run on its board. A chunker that meets no such size is ranked, and in none of these comparisons. Where `fixed`
was itself matched to another chunker's size, one of its runs of about one size is the baseline, and the rest are ranked
only.
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
from repoeval_bench.runs.inspection import kept_tokens_per_nws
from repoeval_bench.runs.query_scores import together

if TYPE_CHECKING:
    from repoeval_bench.analysis.records import Comparison, Interval
    from repoeval_bench.plugins.lab.leaderboard import Board
    from repoeval_bench.runs.view import RunView

BASELINE = "fixed"

CLAIMED = ("recall@5",)
"""Measures by which papers compare chunkers. Larger chunks raise them by themselves, so sizes have to be equal."""

_NEAR = log(1.1)
"""How far two mean sizes may be apart, as the logarithm of their ratio."""

_FEWEST = 20
"""Queries of a language below which it is not ranked by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A run: its chunker by `name`, without its size, and `size`, the nws of `fixed` whose mean chunk it has, or None.

    `label` is what no other run of the board is called: `ast at 1,000`; where it is of no size, or two would be called
    so, `ast:max_nws=1300` with the size it was set to; else its full spec.
    """

    run_id: str
    spec: str
    name: str
    size: int | None
    nws: float | None
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeEffect:
    """A chunker's mean at each size it was run at, ascending; `difference` is the largest size minus the smallest.

    `run_ids` are those of the runs at these sizes.
    """

    chunker: str
    run_ids: Mapping[int, str]
    means: Mapping[int, float]
    difference: float
    ci: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierPoint:
    """The highest recall that any run of a board has within a budget, and which run that is; `fixed` is the best of it.

    `budget` is in nws, `tokens` what that is in tokens of the rule `code`, None where no sources were kept.
    """

    budget: int
    tokens: float | None
    run_id: str
    recall: float
    ci: Interval
    fixed: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A board with what else it says.

    `against` is run id -> its comparisons with `fixed` of its size, Holm over the runs of that size: by the board's
    measure first, then by those of `CLAIMED` that the runs have. `recall` is the measure of the frontier. `languages`
    is language -> what to choose for its queries, where there are several. `updates` is run id -> what an update of
    code costs its chunker, where that was measured on code of a language that the board's queries are about.
    """

    board: Board
    placed: Mapping[str, Placed]
    sizes: tuple[SizeEffect, ...]
    against: Mapping[str, tuple[Comparison, ...]]
    recall: str
    frontier: tuple[FrontierPoint, ...]
    languages: Mapping[str, Choice | None]
    tokens_per_nws: float | None
    updates: Mapping[str, Updates]

    @property
    def ranker(self) -> str:
        """The retriever in one word, with the embedder where one takes part."""
        first = self.board.runs[0].metrics
        name = first.retriever.partition(":")[0] + (f" · expand {first.expand}" if first.expand else "")
        return name if first.embedder == NO_EMBEDDER else f"{name}, {first.embedder}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """The agreement of two protocols on the ranking of the runs that both have, on the same data by the same retriever.

    A run is the same where its chunker's spec is, or else its label with a size that both know. `tau` is Kendall's
    tau-b over the means. `changed` is label -> the verdicts against `fixed` of the same size under the first protocol
    and the second, where these are not the same.
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
        """Return how many are better under one protocol and worse under the other."""
        return sum(1 for pair in self.changed.values() if set(pair) == {Outcome.BETTER, Outcome.WORSE})


def standings(boards: Sequence[Board], updates: Sequence[StabilityRow] = ()) -> list[Standing]:
    """Return the standing of each board, without boards of one run. `updates` are rows of `read_updates`."""
    ratios: dict[str, float | None] = {}
    results = []
    for board in boards:
        if len(board.runs) < 2:
            continue
        data = board.runs[0].metrics.dataset.name
        if data not in ratios:
            ratios[data] = kept_tokens_per_nws(board.runs[0].folder)
        results.append(_standing(board, ratios[data], updates))
    return results


def agreements(found: Sequence[Standing]) -> list[Agreement]:
    """Every pair of protocols of one data set, the same part of it, and one retriever."""
    groups: dict[tuple[object, ...], list[Standing]] = {}
    for each in found:
        first = each.board.runs[0].metrics
        groups.setdefault((first.dataset.name, first.dataset.part, first.ranked_by, each.ranker), []).append(each)
    pairs = [pair for group in groups.values() for pair in combinations(group, 2)]
    return [_agreement(a, b) for a, b in pairs if a.board.protocol != b.board.protocol]


def _baselines(runs: Sequence[RunView]) -> dict[int, RunView]:
    """The nws that `fixed` was set to -> its run, ascending; of runs of one mean size that of the roundest number."""
    sizes = [(size, run) for run in runs if _is_fixed(run) and (size := chunker_size(run.metrics.chunker))]
    results: dict[int, RunView] = {}
    for size, run in sorted(sizes, key=lambda each: (len(str(each[0]).rstrip("0")), each[0], each[1].run_id)):
        if size not in results and _nearest(run, results) is None:
            results[size] = run
    return dict(sorted(results.items()))


def _is_fixed(run: RunView) -> bool:
    return chunker_name(run.metrics.chunker) == BASELINE


def _placed(runs: Sequence[RunView], baselines: Mapping[int, RunView]) -> dict[str, Placed]:
    sizes = {run.run_id: _size(run, baselines) for run in runs}
    labels = {run.run_id: _label(run.metrics.chunker, sizes[run.run_id]) for run in runs}
    for says_more in (lambda run: _label(run.metrics.chunker, None), lambda run: run.metrics.chunker, _with_id):
        often = Counter(labels.values())
        labels |= {run.run_id: says_more(run) for run in runs if often[labels[run.run_id]] > 1}
    return {
        run.run_id: Placed(
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
    """The chunker at the baseline's size that its chunks are of; alone where it has no option for a size."""
    if size is None or chunker_size(spec) is None:
        return chunker_name(spec, sized=True)
    return f"{chunker_name(spec)} at {size:,}"


def _with_id(run: RunView) -> str:
    return f"{run.metrics.chunker} ({run.run_id})"


def _size(run: RunView, baselines: Mapping[int, RunView]) -> int | None:
    size = _nearest(run, baselines)
    # A second `fixed` of that size is not a chunker to compare with it.
    return None if size is not None and _is_fixed(run) and baselines[size] is not run else size


def _nearest(run: RunView, baselines: Mapping[int, RunView]) -> int | None:
    """The size of the baseline whose mean chunk is nearest; None where none is within 10 %."""
    nws = mean_nws(run)
    apart = {
        size: abs(log(nws / other)) for size, baseline in baselines.items() if nws and (other := mean_nws(baseline))
    }
    nearest = min(apart, key=lambda size: apart[size], default=None)
    return nearest if nearest is not None and apart[nearest] <= _NEAR else None


def mean_nws(run: RunView) -> float | None:
    """The mean size of a run's chunks; None where it does not know."""
    return run.metrics.chunk_nws.mean if run.metrics.chunk_nws else None


def _standing(board: Board, ratio: float | None, updates: Sequence[StabilityRow]) -> Standing:
    baselines = _baselines(board.runs)
    placed = _placed(board.runs, baselines)
    languages = _languages(board, placed)
    recall = "definition_recall" if board.measure.startswith("definition_") else "line_recall"
    return Standing(
        board=board,
        placed=placed,
        sizes=_size_effects(board, placed),
        against=_against(board, placed, baselines),
        recall=recall,
        frontier=_frontier(board, placed, recall, ratio),
        languages=languages,
        tokens_per_nws=ratio,
        updates=_updates(board, placed, baselines, [row for row in updates if row.new.language in languages]),
    )


def _size_effects(board: Board, placed: Mapping[str, Placed]) -> tuple[SizeEffect, ...]:
    by_name: dict[str, dict[int, RunView]] = {}
    for run in board.runs:
        place = placed[run.run_id]
        if place.size is not None:
            by_name.setdefault(place.name, {}).setdefault(place.size, run)
    results = []
    for name, runs in by_name.items():
        if len(runs) < 2:
            continue
        sizes = sorted(runs)
        scores, differences = paired_differences(runs[sizes[0]], [runs[sizes[-1]]], [board.measure])
        (difference,), (ci,) = mean_intervals(differences, scores.clusters, scores.repos, board.over)
        means = {size: runs[size].metrics.over(board.over)[board.measure] for size in sizes}
        run_ids = {size: runs[size].run_id for size in sizes}
        results.append(SizeEffect(chunker=name, run_ids=run_ids, means=means, difference=difference, ci=ci))
    return tuple(results)


def _against(
    board: Board, placed: Mapping[str, Placed], baselines: Mapping[int, RunView]
) -> dict[str, tuple[Comparison, ...]]:
    known = shared_measures(board.runs)
    measures = [board.measure, *(name for name in CLAIMED if name in known and name != board.measure)]
    results: dict[str, tuple[Comparison, ...]] = {}
    for size, baseline in baselines.items():
        others = [run for run in board.runs if placed[run.run_id].size == size and run is not baseline]
        if others:
            compared, n = compare(others, baseline, measures=measures), len(measures)
            results |= {run.run_id: tuple(compared[index * n : (index + 1) * n]) for index, run in enumerate(others)}
    return results


def _updates(
    board: Board, placed: Mapping[str, Placed], baselines: Mapping[int, RunView], updates: Sequence[StabilityRow]
) -> dict[str, Updates]:
    results = {}
    for run in board.runs:
        baseline = baselines.get(placed[run.run_id].size or 0)
        fixed = baseline.metrics.chunker if baseline else None
        if cost := updates_of(run.metrics.chunker, updates, fixed):
            results[run.run_id] = cost
    return results


def _frontier(
    board: Board, placed: Mapping[str, Placed], recall: str, ratio: float | None
) -> tuple[FrontierPoint, ...]:
    points = []
    for budget in BUDGETS:
        name = f"{recall}@{budget}"
        means = {run.run_id: run.metrics.over(board.over).get(name) for run in board.runs}
        if None in means.values():
            continue
        best = max(board.runs, key=lambda run: means[run.run_id] or 0.0)
        scores = best.scores
        (mean,), (ci,) = mean_intervals(scores.table([name]), scores.clusters, scores.repos, board.over)
        fixed = [means[run.run_id] or 0.0 for run in board.runs if placed[run.run_id].name == BASELINE]
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


def _languages(board: Board, placed: Mapping[str, Placed]) -> dict[str, Choice | None]:
    """Language -> its ranking where there are several; None of one with too few queries."""
    joined = together([run.scores for run in board.runs])
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
        parts = [each.take(positions) for each in joined]
        tables = [part.table([board.measure]) for part in parts]
        means = [mean_intervals(table, parts[0].clusters, parts[0].repos, board.over)[0][0] for table in tables]
        candidates = [
            Candidate(run=placed[run.run_id].label, run_id=run.run_id, mean=mean, cost=placed[run.run_id].nws)
            for run, mean in zip(board.runs, means, strict=True)
        ]
        results[language] = choice_of(
            np.column_stack(tables),
            parts[0],
            candidates,
            measure=board.measure,
            over=board.over,
            protocol=board.protocol,
        )
    return results


def _agreement(a: Standing, b: Standing) -> Agreement:
    from scipy.stats import kendalltau

    pairs = _same(a, b)
    scores = [{entry.run_id: entry.score for entry in each.board.entries} for each in (a, b)]
    columns = [[of_board[run_ids[index]] for run_ids in pairs] for index, of_board in enumerate(scores)]
    tau = float(kendalltau(*columns).statistic) if len(pairs) > 1 else None
    verdicts = {
        a.placed[ours].label: (_settled(a.against[ours][0]), _settled(b.against[theirs][0]))
        for ours, theirs in pairs
        if ours in a.against and theirs in b.against
    }
    return Agreement(
        dataset=a.board.runs[0].metrics.dataset.name,
        ranker=a.ranker,
        protocols=(a.board.protocol, b.board.protocol),
        n_rows=len(pairs),
        tau=tau,
        changed={label: (first, second) for label, (first, second) in verdicts.items() if first != second},
        n_compared=len(verdicts),
    )


def _same(a: Standing, b: Standing) -> list[tuple[str, str]]:
    """The ids of runs that both boards have, each once."""
    theirs = {place.spec: place.run_id for place in b.placed.values()}
    pairs = {place.run_id: theirs.pop(place.spec) for place in a.placed.values() if place.spec in theirs}
    rest = {p.label: p.run_id for p in b.placed.values() if p.size is not None and p.run_id in theirs.values()}
    pairs |= {
        place.run_id: rest[place.label]
        for place in a.placed.values()
        if place.run_id not in pairs and place.size is not None and place.label in rest
    }
    return [*pairs.items()]


def _settled(comparison: Comparison) -> Outcome:
    """Better, worse, or not significant, for whatever reason."""
    return comparison.verdict.outcome if comparison.is_significant else Outcome.NOT_SIGNIFICANT
