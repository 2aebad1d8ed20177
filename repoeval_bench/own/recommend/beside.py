"""Facts beside a recommendation's choice: costs, its lead by other golds, and retrievers on its chunks."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from repoeval_bench.analysis.evidence import (
    Cost,
    GoldLead,
    Reading,
    Recommendation,
    RetrieverChoice,
    SizedChunker,
    retrievers_of,
)
from repoeval_bench.analysis.shrinkage import ReferenceEdits
from repoeval_bench.chunkers._adapters import chunks_of
from repoeval_bench.chunkers.registry import is_parallel, make_chunker
from repoeval_bench.core.benchmark import Benchmark
from repoeval_bench.core.errors import ChunkError
from repoeval_bench.core.source import SourceFile, count_nws
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.spec import Spec
from repoeval_bench.metrics import ChunkPlace, Context, score_run
from repoeval_bench.own.history import FileEdit
from repoeval_bench.own.recommend.own_history import OwnHistory
from repoeval_bench.protocols.protocol import COMMIT_GOLDS, Protocol
from repoeval_bench.protocols.qrels import gold_of
from repoeval_bench.runs.executors import IN_PROCESS, Executor
from repoeval_bench.runs.judgements import count_lines
from repoeval_bench.runs.request import EMBEDDER, DataRequest, RunRequest
from repoeval_bench.runs.runner import Runner
from repoeval_bench.runs.view import RunView

COMPARED = 6
"""Candidates whose edits are measured, beside the current and the cheaper one."""

_FLOAT_BYTES = 4
_WIDTHS = {EMBEDDER: 384}
"""Embedder -> numbers in a vector, of the models that ship."""


def with_costs(
    recommendation: Recommendation,
    benchmark: Benchmark,
    runs: Mapping[RunRequest, Sequence[tuple[SizedChunker, RunView]]],
    history: OwnHistory | None,
    ratio: float,
    *,
    reference: ReferenceEdits,
    executor: Executor = IN_PROCESS,
) -> Recommendation:
    """Return the recommendation with the cost of each candidate; edits are cut for the best ones and the current one.

    `ratio` is the number of tokens for a character that is not whitespace. The chunks are those of a run over the code.
    Those of a run over older trees are scaled by their characters. Code without commits has the edits of `reference`.
    """
    decision = recommendation.decision
    if decision is None:
        return recommendation
    current = recommendation.current.label if recommendation.current else None
    cheaper = decision.cheaper.name if decision.cheaper else None
    ranked = [candidate.name for candidate in decision.candidates]
    shown = [name for place, name in enumerate(ranked) if place < COMPARED or name in {current, cheaper}]
    edits = history.edits if history else ()
    edited = _edited({name: recommendation.candidates[name].spec for name in shown}, edits, executor)
    size = _size(benchmark)
    costs = {}
    for request, of_request in runs.items():
        old = history.benchmark if history and history.benchmark and request.protocol == "commits" else None
        scale = size / _size(old) if old else 1.0
        width = _WIDTHS.get(Spec.parse(request.embedder).name)
        for candidate, run in of_request:
            if candidate.label in ranked and (candidate.label not in costs or not old):
                chunks = round(scale * run.metrics.counts.chunks)
                new = edited.get(candidate.label)
                costs[candidate.label] = Cost(
                    chunks=chunks,
                    vector_bytes=width and width * _FLOAT_BYTES * chunks,
                    edited=new.share if new else None if edits else reference.shares.get(candidate.label),
                    edit_tokens=new and new.nws * ratio,
                )
    others = 0 if edits else reference.repositories
    return recommendation.model_copy(update={"costs": costs, "edits": len(edits), "edits_elsewhere": others})


def _size(benchmark: Benchmark) -> int:
    return max(1, sum(count_nws(file.text) for of_repo in benchmark.files.values() for file in of_repo))


class NewChunks(NamedTuple):
    """The chunks that edits make new: their share of the edited files, and their characters without blanks per edit."""

    share: float
    nws: float


def _edited(specs: Mapping[str, str], edits: Sequence[FileEdit], executor: Executor) -> dict[str, NewChunks]:
    """Return what each candidate embeds again; none where it fails on a file."""
    if not edits:
        return {}
    here = executor if all(map(is_parallel, specs.values())) else IN_PROCESS
    shares = here.map([partial(new_chunks, spec, edits) for spec in specs.values()])
    return {name: share for name, share in zip(specs, shares, strict=True) if share is not None}


def new_chunks(spec: str, edits: Sequence[FileEdit]) -> NewChunks | None:
    """Return what one or more edits make new in the chunks of a chunker; None if it fails on a file."""
    chunker = make_chunker(spec)
    cut: dict[tuple[str, str], list[str]] = {}

    def chunks(path: str, text: str) -> list[str]:
        if (path, text) not in cut:
            cut[path, text] = [chunk.text for chunk in chunks_of(SourceFile("", path, text), chunker)]
        return cut[path, text]

    new: list[str] = []
    try:
        for edit in edits:
            known = {*chunks(edit.path, edit.before)}
            new += [text for text in chunks(edit.path, edit.after) if text not in known]
    except ChunkError:
        return None
    whole = max(1, sum(len(edit.after) for edit in edits))
    return NewChunks(sum(map(len, new)) / whole, sum(map(count_nws, new)) / len(edits))


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
    """Run the choice, and the current candidate, by each retriever on the questions of one protocol.

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
        if len(of_each) > 1:  # a single one is among the runs already
            ids += [of_retriever.run_id for of_retriever in of_each.values()]
        compared = _choice_of(recommendation, label, protocol, of_each) if of_each else None
        if compared and (compared.readings or len(of_each) > 1):
            choices.append(compared)
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
