"""Retrievers on the chunks of a recommendation's choice: which one finds more, and how many chunks to read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from repoeval_bench.analysis.evidence import Reading, Recommendation, RetrieverChoice, retrievers_of
from repoeval_bench.runs.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from repoeval_bench.analysis.evidence import SizedChunker
    from repoeval_bench.core.benchmark import Benchmark
    from repoeval_bench.runs.request import DataRequest, RunRequest
    from repoeval_bench.runs.view import RunView

DEPTHS = (5, 10, 20)
"""Chunks after which it is said how much is shown."""

BESIDE = ("hybrid", "grep")
"""Retrievers that are compared where none are named; their runs choose no chunker."""


def with_retrievers(
    recommendation: Recommendation,
    benchmarks: Sequence[tuple[Benchmark, Sequence[RunRequest], DataRequest | None]],
    runs: Mapping[RunRequest, Sequence[tuple[SizedChunker, RunView]]],
    names: Sequence[str],
    **where: Any,
) -> Recommendation:
    """Run the choice, and the current candidate, by each of two or more retrievers on the questions of one protocol.

    That is the last protocol with enough questions, which is one of search where there is one.
    """
    if recommendation.choice is None:
        return recommendation
    protocol = recommendation.evidence[-1].protocol
    benchmark, named = next(
        (benchmark, named)
        for benchmark, settings, named in benchmarks
        if any(setting.protocol == protocol for setting in settings)
    )
    stored = {
        candidate.label: (setting, run)
        for setting, of_setting in runs.items()
        if setting.protocol == protocol
        for candidate, run in of_setting
    }
    current = [recommendation.current.label] if recommendation.current else []
    choices, ids = [], list(recommendation.runs)
    for label in dict.fromkeys([recommendation.choice.label, *current]):
        setting, run = stored[label]
        of_each = _of_each(setting, run, recommendation.candidates[label].spec, names, benchmark, named, **where)
        ids += [of_retriever.run_id for of_retriever in of_each.values()]
        if len(of_each) > 1:
            choices.append(_choice_of(recommendation, label, protocol, of_each))
    return recommendation.model_copy(update={"retrievers": tuple(choices), "runs": tuple(dict.fromkeys(ids))})


def _budgets(run: RunView) -> dict[int, int]:
    """Return the characters of so many chunks of mean size."""
    sizes = run.metrics.chunk_nws
    return {depth: round(depth * sizes.mean) for depth in DEPTHS} if sizes else {}


def _at(measure: str, budget: int) -> str:
    return f"{measure.removesuffix('_auc')}@{budget}"


def _of_each(
    setting: RunRequest,
    run: RunView,
    spec: str,
    names: Sequence[str],
    benchmark: Benchmark,
    named: DataRequest | None,
    **where: Any,
) -> dict[str, RunView]:
    """Return the run of a chunker by each retriever that can make it; the measures are at fixed numbers of chunks."""
    measure = run.metrics.headline_measure or ""
    read = [_at(measure, budget) for budget in _budgets(run).values()] if measure.endswith("_auc") else []
    update = (named.model_dump() if named else {}) | {"chunker": spec, "measures": (measure, *read)}
    requests = [setting.model_copy(update=update | {"retriever": name}) for name in names]
    runner = Runner(requests, benchmark=benchmark, **where)
    of_each = {}
    for one in runner.settings:
        if (done := next(runner.runs_of(one, reuse=True))) is not None:
            of_each[one.retriever] = done
    return of_each


def _choice_of(
    recommendation: Recommendation, label: str, protocol: str, of_each: Mapping[str, RunView]
) -> RetrieverChoice:
    """Compare the retrievers with BM25, or the first one, and read the best one's runs at each depth."""
    first = "bm25" if "bm25" in of_each else next(iter(of_each))
    scores = retrievers_of(of_each, first)
    best = max(of_each, key=lambda name: next(one.mean for one in scores if one.retriever == name))
    run, tokens = of_each[best], recommendation.tokens(label)
    means = run.metrics.over(run.metrics.headline)
    measure = run.metrics.headline_measure or ""
    readings = [
        Reading(chunks=depth, share=means[_at(measure, budget)], tokens=None if tokens is None else tokens * depth / 10)
        for depth, budget in _budgets(run).items()
        if _at(measure, budget) in means
    ]
    return RetrieverChoice(label=label, protocol=protocol, best=best, scores=scores, readings=tuple(readings))
