"""The cost of a recommendation's candidates: the chunks of an index, its vectors, and what an edit embeds again."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from repoeval_bench.analysis.evidence import Cost, Recommendation, SizedChunker
from repoeval_bench.chunkers._adapters import chunks_of
from repoeval_bench.chunkers.registry import is_parallel, make_chunker
from repoeval_bench.core.errors import ChunkError
from repoeval_bench.core.source import SourceFile, count_nws
from repoeval_bench.core.spec import Spec
from repoeval_bench.runs.executors import IN_PROCESS
from repoeval_bench.runs.request import EMBEDDER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from repoeval_bench.core.benchmark import Benchmark
    from repoeval_bench.own.history import FileEdit
    from repoeval_bench.own.recommend.own_history import OwnHistory
    from repoeval_bench.runs.executors import Executor
    from repoeval_bench.runs.request import RunRequest
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
    executor: Executor = IN_PROCESS,
) -> Recommendation:
    """Return the recommendation with the cost of each candidate; edits are cut for the best ones and the current one.

    `ratio` is the number of tokens for a character that is not whitespace. The chunks are those of a run over the code.
    Those of a run over older trees are scaled by their characters.
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
                    edited=new and new.share,
                    edit_tokens=new and new.nws * ratio,
                )
    return recommendation.model_copy(update={"costs": costs, "edits": len(edits)})


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
