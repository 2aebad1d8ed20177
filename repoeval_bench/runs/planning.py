"""What a run will do before any model is asked: the tasks that are scored, the queries, and the chunks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

from repoeval_bench.core.errors import ChunkError, DatasetError, anew
from repoeval_bench.dataset.assembly import published_subset
from repoeval_bench.dataset.build.plain import without_tasks
from repoeval_bench.dataset.build.sampling import part_of
from repoeval_bench.dataset.documented import documented
from repoeval_bench.dataset.facts import task_facts
from repoeval_bench.dataset.questions import QUESTION
from repoeval_bench.metrics import Lines
from repoeval_bench.protocols.leak import gold_in_query
from repoeval_bench.protocols.protocol import Protocol, check_asked, scores_none
from repoeval_bench.protocols.qrels import gold_of
from repoeval_bench.protocols.queries import make_queries
from repoeval_bench.protocols.uses import uses_facts, with_used
from repoeval_bench.retrieval.corpus import Corpus, build_corpus, chunk_blanked, merge_identical
from repoeval_bench.runs.executors import IN_PROCESS, LARGE, Executor
from repoeval_bench.runs.inspection import pack_sources
from repoeval_bench.runs.judgements import count_lines

if TYPE_CHECKING:
    from repoeval_bench.core.benchmark import Benchmark, Query
    from repoeval_bench.core.parts import Chunker, Role
    from repoeval_bench.core.run import Fact
    from repoeval_bench.core.source import SourceFile

    Corpora = dict[tuple[str, bool, frozenset[SourceFile]], Corpus]
    """(chunker's spec, whether errors are skipped, files) -> what it made of them."""

Made = TypeVar("Made")

KEPT = 200_000_000
"""Characters of chunks that are kept for further protocols; where there are more, files are chunked again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a run will embed: made without a model, so that it can be shown before anything is computed.

    `corpus` is what the chunker made and the retriever ranks, `documents` what is judged: the same, unless the
    protocol judges every chunker on one baseline's chunks. `encoded` texts were embedded for it and for what was
    planned with it; `usage` is what that used (tokens, as a server counts them), empty where it is not known.
    """

    benchmark: Benchmark
    protocol: Protocol
    chunker: str
    corpus: Corpus
    documents: Corpus
    queries: tuple[Query, ...]
    seconds: dict[str, float]
    encoded: int = 0
    usage: Mapping[str, int] = field(default_factory=dict)

    def texts(self) -> dict[Role, list[str]]:
        """Role -> the texts of that role, with repeats."""
        return {
            "query": [query.text for query in self.queries],
            "document": [chunk.embed_text for chunk in self.corpus],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """The tasks that a protocol selects, their files, the queries made of them, and what is known of each task.

    They are the same for all chunkers of a comparison, so they are made once.

    `facts` is task_id -> fact -> value, `lines` `repo/path` -> non-whitespace characters of each line, `gold_in_query`
    query_id -> share of its gold's non-blank lines that are in the query, `sources` every file with its text, as a run
    keeps them.
    """

    benchmark: Benchmark
    protocol: Protocol
    queries: tuple[Query, ...]
    facts: Mapping[str, Mapping[str, Fact]]
    lines: Lines
    gold_in_query: Mapping[str, float]
    sources: bytes


def make_inputs(asked: Sequence[tuple[Benchmark, Protocol]], executor: Executor = IN_PROCESS) -> list[Inputs]:
    """What is the same for all chunkers, for each (tasks that `select` gave, protocol)."""
    queries = [make_queries(selected.tasks, protocol.query) for selected, protocol in asked]
    jobs = [partial(_known, *each, of_each) for each, of_each in zip(asked, queries, strict=True)]
    return [
        Inputs(benchmark=selected, protocol=protocol, queries=of_each, **known)
        for (selected, protocol), of_each, known in zip(asked, queries, executor.map(jobs), strict=True)
    ]


def plan(
    benchmark: Benchmark,
    chunker: Chunker,
    protocol: Protocol,
    *,
    baseline: Chunker | None = None,
    skip_errors: bool = False,
) -> Plan:
    """Select the protocol's repositories, chunk them, and make the queries.

    `baseline` makes the documents where the protocol judges every chunker on one chunker's chunks.
    """
    selected = select(benchmark, protocol)
    queries = make_queries(selected.tasks, protocol.query)
    chunked = _chunk(selected, protocol, (chunker, baseline), skip_errors=skip_errors)
    return _plan(selected, protocol, queries, chunker, chunked)


def plan_all(
    benchmark: Benchmark,
    parts: Sequence[tuple[Chunker, Chunker | None]],
    protocol: Protocol,
    *,
    skip_errors: bool = False,
    executor: Executor = IN_PROCESS,
    corpora: Corpora | None = None,
) -> tuple[Inputs, list[Plan]]:
    """What is the same for all of them, and the plan of every (chunker, baseline), as `plan` makes it.

    A chunker that fails is a ChunkError. See `plan_each`.
    """
    inputs, planned = plan_each(benchmark, parts, protocol, skip_errors=skip_errors, executor=executor, corpora=corpora)
    for each in planned:
        if isinstance(each, ChunkError):
            raise anew(each)
    return inputs, [each for each in planned if isinstance(each, Plan)]


def plan_each(
    benchmark: Benchmark,
    parts: Sequence[tuple[Chunker, Chunker | None]],
    protocol: Protocol,
    *,
    skip_errors: bool,
    executor: Executor,
    corpora: Corpora | None,
) -> tuple[Inputs, list[Plan | ChunkError]]:
    """What is the same for all of them, and for every (chunker, baseline) its plan, or why its chunker failed.

    Chunkers work at once where the executor has several processes. What a chunker made of the same files before is
    taken from `corpora`, and added to it.
    """
    selected = select(benchmark, protocol)
    queries = make_queries(selected.tasks, protocol.query)
    # A protocol may blank lines in the files: what was chunked before counts for these very texts only.
    files = frozenset(chain.from_iterable(selected.files.values()))
    keys = [(cutter.spec, skip_errors, files) for cutter, _ in parts]
    made = corpora or {}
    jobs: list[Callable[[], Any]] = [
        *(
            partial(tried, partial(_chunk, selected, protocol, each, skip_errors=skip_errors, made=made.get(key)))
            for each, key in zip(parts, keys, strict=True)
        ),
        partial(_known, selected, protocol, queries),
    ]
    *chunked, known = executor.map(jobs)
    room = KEPT // max(1, sum(len(file.text) for file in files))
    if corpora is not None and protocol.documents == "chunks" and len({*corpora, *keys}) <= room:
        found = zip(keys, chunked, strict=True)
        corpora |= {key: replace(each[0], own={}) for key, each in found if not isinstance(each, ChunkError)}
    inputs = Inputs(benchmark=selected, protocol=protocol, queries=queries, **known)
    return inputs, [
        each if isinstance(each, ChunkError) else _plan(selected, protocol, queries, cutter, each)
        for (cutter, _), each in zip(parts, chunked, strict=True)
    ]


def tried(chunk: Callable[[], Made]) -> Made | ChunkError:
    """What a chunker makes, or why it failed: that ends its own run alone."""
    try:
        return chunk()
    except ChunkError as error:
        return anew(error)


def plan_one(
    inputs: Inputs,
    parts: tuple[Chunker, Chunker | None],
    *,
    skip_errors: bool = False,
    made: Corpus | None = None,
) -> Plan:
    """The plan of one (chunker, baseline); `made` is what the chunker made of these files before."""
    selected, protocol = inputs.benchmark, inputs.protocol
    chunked = _chunk(selected, protocol, parts, skip_errors=skip_errors, made=made)
    return _plan(selected, protocol, inputs.queries, parts[0], chunked)


def _plan(
    selected: Benchmark,
    protocol: Protocol,
    queries: tuple[Query, ...],
    chunker: Chunker,
    chunked: tuple[Corpus, Corpus, float],
) -> Plan:
    corpus, documents, seconds = chunked
    return Plan(
        benchmark=selected,
        protocol=protocol,
        chunker=chunker.spec,
        corpus=corpus,
        documents=documents,
        queries=queries,
        seconds={"chunk": seconds},
    )


def _known(selected: Benchmark, protocol: Protocol, queries: tuple[Query, ...]) -> dict[str, Any]:
    """The fields of `Inputs` that take time."""
    facts = task_facts(selected)
    if protocol.of_definitions:
        for task in selected.tasks:
            facts[task.task_id] |= uses_facts(task)
    gold = {task.task_id: gold_of(task, protocol) for task in selected.tasks}
    return {
        "facts": facts,
        "lines": Lines.of(count_lines(selected)),
        "gold_in_query": gold_in_query(queries, selected.by_name, gold),
        "sources": pack_sources(selected),
    }


def _chunk(
    selected: Benchmark,
    protocol: Protocol,
    cutters: tuple[Chunker, Chunker | None],
    *,
    skip_errors: bool,
    made: Corpus | None = None,
) -> tuple[Corpus, Corpus, float]:
    """(what the chunker makes, the documents, seconds); `made` is what it made of these files before."""
    started = perf_counter()
    chunker, baseline = cutters

    def chunk(cutter: Chunker, made: Corpus | None = None) -> Corpus:
        corpus = made or build_corpus(selected.files, cutter, skip_errors=skip_errors)
        if protocol.documents == "windows":
            corpus = merge_identical(corpus)
        if protocol.blanks:
            corpus = chunk_blanked(corpus, selected.tasks, selected.files, cutter)
        return corpus

    corpus = chunk(chunker, made)
    documents = chunk(baseline) if baseline and protocol.documents == "baseline" else corpus
    return corpus, documents, perf_counter() - started


def asked_of(selected: Benchmark, protocol: Protocol, sample: int | None) -> Benchmark:
    """Of more tasks than `sample` so many, spread over the files; of questions that somebody wrote, all."""
    return selected if sample is None or protocol.tasks == "questions" else part_of(selected, sample)


def select(benchmark: Benchmark, protocol: Protocol) -> Benchmark:
    """The repositories and tasks that the protocol scores; a DatasetError if it scores none."""
    chosen = published_subset(benchmark, protocol.repositories)
    check_asked(protocol, questions=any(task.level == QUESTION for task in benchmark.tasks[:1]))
    if protocol.tasks == "docstring":
        return documented(chosen)
    if not benchmark.tasks:
        raise without_tasks(", ".join(benchmark.files))
    if protocol.of_definitions and chosen.tasks:
        chosen = with_used(chosen, protocol.gold)
        if not chosen.tasks:
            raise DatasetError(
                f"no task has gold {protocol.gold}: none uses a definition that its prompt does not show"
            )
    if not chosen.tasks:
        raise DatasetError(scores_none(protocol, benchmark.files))
    return chosen


def is_large(benchmark: Benchmark, n_chunkers: int) -> bool:
    """Whether further processes are worth their start."""
    return n_chunkers * sum(len(file.text) for files in benchmark.files.values() for file in files) >= LARGE
