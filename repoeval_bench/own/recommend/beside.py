"""Facts beside a recommendation's choice: costs, its lead by other golds, and retrievers on its chunks."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from statistics import mean
from time import monotonic
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
from repoeval_bench.chunkers.registry import make_chunker, row_of
from repoeval_bench.core.benchmark import Benchmark
from repoeval_bench.core.errors import ChunkError
from repoeval_bench.core.source import SourceFile, count_nws
from repoeval_bench.core.spec import Spec
from repoeval_bench.metrics import Lines
from repoeval_bench.own.history.changes import FileEdit
from repoeval_bench.own.recommend.own_history import OwnHistory
from repoeval_bench.protocols.protocol import COMMIT_GOLDS, Protocol
from repoeval_bench.protocols.qrels import gold_of
from repoeval_bench.runs.executors import IN_PROCESS, Executor, ProcessPool
from repoeval_bench.runs.judgements import Rescored, count_lines
from repoeval_bench.runs.records import Means
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
    # A pack of commits has a tree for each period.
    periods = benchmark if benchmark.is_history else None
    size = _size(benchmark.today.values())
    costs = {}
    for request, of_request in runs.items():
        old = history.benchmark if history and history.benchmark and request.protocol == "commits" else periods
        scale = size / _size(old.files.values()) if old else 1.0
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


def _size(trees: Iterable[Sequence[SourceFile]]) -> int:
    return max(1, sum(count_nws(file.text) for tree in trees for file in tree))


class NewChunks(NamedTuple):
    """The chunks that edits make new: their share of the edited files, and their characters without blanks per edit."""

    share: float
    nws: float


def _edited(specs: Mapping[str, str], edits: Sequence[FileEdit], executor: Executor) -> dict[str, NewChunks]:
    """Return what each candidate embeds again; none where it fails on a file."""
    if not edits:
        return {}
    here = executor if all(row_of(spec).parallel for spec in specs.values()) else IN_PROCESS
    by_spec = zip(specs, new_chunks([*specs.values()], edits, here), strict=True)
    return {name: new for name, new in by_spec if new is not None}


_TOGETHER = 25
"""Edits that are cut in one job."""


def new_chunks(
    specs: Sequence[str], edits: Sequence[FileEdit], executor: Executor = IN_PROCESS
) -> list[NewChunks | None]:
    """Return what one or more edits make new in the chunks of each chunker; None for one that fails on a file."""
    # Versions of a file follow each other, and all chunkers cut each of them, so that few texts are parsed.
    ordered = sorted(edits, key=lambda edit: edit.path)
    size = len(ordered) if executor is IN_PROCESS else _TOGETHER
    parts = [ordered[at : at + size] for at in range(0, len(ordered), size)]
    whole = max(1, sum(len(edit.after) for edit in edits))
    new: list[NewChunks | None] = []
    for sums in zip(*executor.map([partial(_new_texts, specs, part) for part in parts]), strict=True):
        known = [one for one in sums if one is not None]
        chars, nws = (sum(numbers) for numbers in zip((0, 0), *known, strict=True))
        new.append(NewChunks(chars / whole, nws / len(edits)) if len(known) == len(sums) else None)
    return new


def seconds_of_edits(specs: Sequence[str], edits: Sequence[FileEdit], executor: Executor) -> float:
    """Return about how long `with_costs` cuts the edits, by the time of a long one in each worker."""
    if not edits:
        return 0.0
    one = sorted(edits, key=lambda edit: len(edit.before) + len(edit.after))[len(edits) * 3 // 4]
    is_parallel = all(row_of(spec).parallel for spec in specs)
    workers = executor.workers if isinstance(executor, ProcessPool) and is_parallel else 1
    times = (executor if workers > 1 else IN_PROCESS).map([partial(_seconds, specs, one)] * workers)
    chars = sum(map(len, {text for edit in edits for text in (edit.before, edit.after)}))
    return mean(times) * chars / len(one.before + one.after) * COMPARED / len(specs) / workers


def _seconds(specs: Sequence[str], edit: FileEdit) -> float:
    begun = monotonic()
    _new_texts(specs, [edit])
    return monotonic() - begun


def _new_texts(specs: Sequence[str], edits: Sequence[FileEdit]) -> list[tuple[int, int] | None]:
    """Return the characters of each chunker's new chunks, with and without blanks; None for one that fails."""
    chunkers = {at: make_chunker(spec) for at, spec in enumerate(specs)}
    sums = [(0, 0)] * len(specs)
    cut: dict[tuple[int, str, str], list[str]] = {}

    def chunks(at: int, path: str, text: str) -> list[str]:
        if (at, path, text) not in cut:
            cut[at, path, text] = [chunk.embed_text for chunk in chunks_of(SourceFile("", path, text), chunkers[at])]
        return cut[at, path, text]

    for edit in edits:
        for at in [*chunkers]:
            try:
                known = {*chunks(at, edit.path, edit.before)}
                new = [text for text in chunks(at, edit.path, edit.after) if text not in known]
            except ChunkError:
                del chunkers[at]
                continue
            sums[at] = sums[at][0] + sum(map(len, new)), sums[at][1] + sum(map(count_nws, new))
    return [sums[at] if at in chunkers else None for at in range(len(specs))]


def with_golds(
    recommendation: Recommendation,
    selected: Callable[[RunRequest], Benchmark],
    runs: Mapping[RunRequest, Sequence[tuple[SizedChunker, RunView]]],
) -> Recommendation:
    """Return the recommendation with the choice's lead over its rival by each gold of commits.

    `selected` returns the tasks that a setting scores. The rival is the current candidate, or else the one with the
    next smallest expected loss.
    """
    decision, current = recommendation.decision, recommendation.current
    deciding = {(one.protocol, one.retriever) for one in recommendation.evidence if one.protocol == "commits"}
    if decision is None or not deciding:
        return recommendation
    names = [one.name for one in decision.candidates]
    rival = current.label if current and current.gains else names[1]
    leads = []
    lines: Lines | None = None
    for request, of_request in runs.items():
        if (request.protocol, request.retriever) in deciding:
            by_label = {candidate.label: run for candidate, run in of_request}
            benchmark = selected(request)
            lines = lines or count_lines(
                benchmark, request.resolved_protocol()
            )  # the same for every retriever and gold
            first, second = (_by_gold(by_label[label], benchmark, lines) for label in (names[0], rival))
            leads.append({gold: first[gold] - second[gold] for gold in first})
    differences = {gold: sum(lead[gold] for lead in leads) / len(leads) for gold in leads[0]}
    return recommendation.model_copy(update={"lead": GoldLead(rival=rival, differences=differences)})


def _by_gold(run: RunView, benchmark: Benchmark, lines: Lines) -> dict[str, float]:
    """Return the mean of the run's headline measure by each gold that some query has."""
    measure = run.metrics.headline_measure or ""
    rescored = Rescored(run, benchmark, lines)
    means = {}
    for name in COMMIT_GOLDS:
        protocol = Protocol.parse(f"commits+gold={name}")
        with_gold = {task.task_id for task in benchmark.tasks if gold_of(task, protocol)}
        if with_gold:
            scores = rescored.by([measure], protocol)
            values = [value for one, value in zip(scores.query_ids, scores[measure], strict=True) if one in with_gold]
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
    setting = next(one for one in runs if one.protocol == protocol)
    current = [recommendation.current.label] if recommendation.current else []
    choices, ids = [], list(recommendation.runs)
    for label in dict.fromkeys([recommendation.choice.label, *current]):
        candidate = recommendation.candidates[label]
        update = (named.model_dump() if named else {}) | {"chunker": candidate.spec}
        requests = [setting.model_copy(update=update | {"retriever": name}) for name in names]
        runner = Runner(requests, benchmark=benchmark, **where)
        stored = {one.retriever: next(runner.runs_of(one, reuse=True)) for one in runner.settings}
        of_each = {name: one for name, one in stored.items() if one is not None}
        ids += [one.run_id for one in of_each.values()]
        if not of_each:
            continue
        first = "bm25" if "bm25" in of_each else next(iter(of_each))
        scores = retrievers_of(of_each, first)
        best = max(scores, key=lambda one: one.mean).retriever
        request = setting.model_copy(update={"retriever": best})
        readings = _readings(of_each[best], request, runner.selected(request), recommendation.tokens(label))
        if readings or len(of_each) > 1:
            choices.append(RetrieverChoice(label=label, protocol=protocol, best=best, scores=scores, readings=readings))
    return recommendation.model_copy(update={"retrievers": tuple(choices), "runs": tuple(dict.fromkeys(ids))})


def _readings(run: RunView, request: RunRequest, benchmark: Benchmark, tokens: float | None) -> tuple[Reading, ...]:
    """Return what a run shows after as many characters as 5, 10 and 20 chunks of mean size; `tokens` are those of 10.

    Of fewer chunks than 10 or 20 they are left out. None where the headline is no area over budgets.
    """
    measure, sizes = run.metrics.headline_measure or "", run.metrics.chunk_nws
    if sizes is None or not measure.endswith("_auc"):
        return ()
    searched = run.metrics.counts.chunks / len({*run.scores.repos})
    depths = [depth for depth in DEPTHS if depth <= max(searched, DEPTHS[0])]
    at = {depth: f"{measure.removesuffix('_auc')}@{round(depth * sizes.read)}" for depth in depths}
    scores = Rescored(run, benchmark).by([*at.values()], request.resolved_protocol())
    repos = dict(zip(run.scores.query_ids, run.scores.repos, strict=True))
    columns = {name: values.tolist() for name, values in scores.values.items()}
    means = Means.of(columns, [repos[query_id] for query_id in scores.query_ids]).over(run.metrics.headline)
    return tuple(
        Reading(chunks=depth, share=means[name], tokens=None if tokens is None else tokens * depth / 10)
        for depth, name in at.items()
    )
