"""The lead of a recommendation's choice under the other golds of protocol `commits`, from the rankings that it has."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from repoeval_bench.analysis.evidence import GoldLead, Recommendation, SizedChunker
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.metrics import ChunkPlace, Context, score_run
from repoeval_bench.protocols.protocol import COMMIT_GOLDS, Protocol
from repoeval_bench.protocols.qrels import gold_of
from repoeval_bench.runs.judgements import count_lines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from repoeval_bench.core.benchmark import Benchmark
    from repoeval_bench.runs.request import RunRequest
    from repoeval_bench.runs.view import RunView


def with_golds(
    recommendation: Recommendation,
    benchmark: Benchmark | None,
    runs: Mapping[RunRequest, Sequence[tuple[SizedChunker, RunView]]],
) -> Recommendation:
    """Return the recommendation with the choice's lead over its rival by each gold; `benchmark` has the questions.

    The rival is the current candidate, or else the one with the next smallest expected loss.
    """
    decision, current = recommendation.decision, recommendation.current
    deciding = {(one.protocol, one.retriever) for one in recommendation.evidence if one.protocol == "commits"}
    if decision is None or benchmark is None or not deciding:
        return recommendation
    names = [one.name for one in decision.candidates]
    rival = current.label if current and current.gains else names[1]
    pairs = []
    for request, of_request in runs.items():
        if (request.protocol, request.retriever) in deciding:
            by_label = {candidate.label: run for candidate, run in of_request}
            pairs.append((by_label[names[0]], by_label[rival]))
    lines = count_lines(benchmark, Protocol.parse("commits"))
    score = partial(_scores, benchmark, lines)
    leads = [
        {
            gold: first - second
            for (gold, first), second in zip(score(choice).items(), score(other).values(), strict=True)
        }
        for choice, other in pairs
    ]
    differences = {gold: sum(lead[gold] for lead in leads) / len(leads) for gold in leads[0]}
    return recommendation.model_copy(update={"lead": GoldLead(rival=rival, differences=differences)})


def _scores(benchmark: Benchmark, lines: Mapping[str, Sequence[int]], run: RunView) -> dict[str, float]:
    """Return the mean of the run's headline measure by each gold that some question has, from its stored ranking."""
    places, rankings = {}, {}
    for row in run.log_rows():
        rankings[row.query_id] = [(hit.chunk_id, hit.score) for hit in row.ranked]
        for hit in row.ranked:
            if hit.file is not None:
                span = LineSpan(hit.start_line or 0, hit.end_line or 0)
                places[hit.chunk_id] = ChunkPlace(hit.file, span, hit.header_nws or 0)
    tasks = [task for task in benchmark.tasks if task.task_id in rankings]
    qrels, measure = run.qrels(), run.metrics.headline_measure or ""
    means = {}
    for name in COMMIT_GOLDS:
        golds = {task.task_id: gold_of(task, Protocol.parse(f"commits+gold={name}")) for task in tasks}
        gold = {task_id: places for task_id, places in golds.items() if places}
        if not gold:
            continue
        ranked = {task_id: rankings[task_id] for task_id in gold}
        judged = {task_id: gains for task_id, gains in qrels.items() if task_id in gold}
        scores = score_run(ranked, judged, (measure,), Context(places=places, gold=gold, line_nws=lines))
        values = scores.values[measure]
        means[name] = float(sum(values) / len(values))
    return means
