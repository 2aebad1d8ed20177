"""Plan runs without a model: the tasks that are scored, the queries, and the chunks."""

from __future__ import annotations

import pickle
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache, partial
from time import perf_counter
from typing import TYPE_CHECKING

from repoeval_bench.core.errors import ChunkError, DatasetError, NoDataError, UsageError
from repoeval_bench.dataset import uses_table
from repoeval_bench.dataset.assembly import published_subset, with_fingerprint, without_tasks_of_tests
from repoeval_bench.dataset.questions import QUESTION
from repoeval_bench.dataset.reading.plain import without_tasks
from repoeval_bench.dataset.reading.sampling import part_of
from repoeval_bench.metrics import inputs_of
from repoeval_bench.protocols.protocol import Protocol, check_questions, nothing_scored
from repoeval_bench.protocols.qrels import gold_of
from repoeval_bench.protocols.queries import NAMED, gold_in_query, make_queries
from repoeval_bench.protocols.uses import uses_facts, with_used
from repoeval_bench.retrieval.corpus import Corpus, build_corpus, merge_identical
from repoeval_bench.runs.executors import LARGE
from repoeval_bench.runs.inspection import pack_sources
from repoeval_bench.runs.judgements import count_lines

if TYPE_CHECKING:
    from repoeval_bench.core.benchmark import Benchmark, Query, Task
    from repoeval_bench.core.parts import Chunker, Role
    from repoeval_bench.core.run import Fact
    from repoeval_bench.metrics import Lines
    from repoeval_bench.runs.parts import Parts
    from repoeval_bench.runs.records import RunConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The texts that a run will embed, known without a model, so that they can be shown first.

    `corpus` are the chunks. `encoded` counts the texts that were embedded for this plan and those made with it.
    """

    benchmark: Benchmark
    protocol: Protocol
    chunker: str
    corpus: Corpus
    queries: tuple[Query, ...]
    seconds: dict[str, float]
    encoded: int = 0

    def texts(self) -> dict[Role, list[str]]:
        """Role -> the texts of that role, with repeats."""
        return {
            "query": [query.text for query in self.queries],
            "document": [chunk.embed_text for chunk in self.corpus],
        }


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """The tasks that a protocol selects, their files and queries, and the facts of each task.

    They are the same for all chunkers of a comparison, so each process makes them once.

    `facts` is task_id -> fact -> value, `lines` is the result of `count_lines`. `gold_in_query` is query_id -> share of
    its gold's non-blank lines that are in the query. `sources` is the content of the stored file of sources.
    """

    benchmark: Benchmark
    protocol: Protocol
    queries: tuple[Query, ...]
    facts: Mapping[str, Mapping[str, Fact]]
    lines: Lines
    gold_in_query: Mapping[str, float]
    sources: bytes

    def __reduce__(self) -> tuple[object, ...]:
        return _remade, (self._packed,)

    @cached_property
    def _packed(self) -> bytes:
        return pickle.dumps({field.name: getattr(self, field.name) for field in fields(self)})


@lru_cache(maxsize=4)  # the settings whose runs are made together
def _remade(packed: bytes) -> Inputs:
    return Inputs(**pickle.loads(packed))  # noqa: S301 - it was made here


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """A run to make: its configuration, and what it is made with."""

    config: RunConfig
    chunker: Chunker
    parts: Parts
    inputs: Inputs
    allow_sparse_qrels: bool

    @property
    def run_id(self) -> str:
        """Return the name of its folder."""
        return self.config.run_id

    def texts(self, plan: Plan) -> dict[Role, list[str]]:
        """Return the texts whose vectors it needs, by role."""
        texts, ranked = plan.texts(), self.parts.retriever.vectors
        measured = "vectors" in inputs_of(self.config.measures)
        return {"query": texts["query"] if ranked else [], "document": texts["document"] if ranked or measured else []}


def make_inputs(selected: Benchmark, protocol: Protocol) -> Inputs:
    """Return the inputs that all chunkers share; `selected` is the result of `select`."""
    from repoeval_bench.dataset.task_facts import (
        commit_facts,
        task_facts,
    )  # ten grammars, which stored runs do not need

    queries = make_queries(selected.tasks, protocol.query)
    facts = task_facts(selected)
    if protocol.of_definitions:
        for task in selected.tasks:
            facts[task.task_id] |= uses_facts(task)
    if protocol.tasks == "commits":
        for task in selected.tasks:
            facts[task.task_id] |= commit_facts(task)
    for task in selected.tasks:
        facts[task.task_id] |= dict(task.facts)
    gold = {task.task_id: gold_of(task, protocol) for task in selected.tasks}
    return Inputs(
        benchmark=selected,
        protocol=protocol,
        queries=queries,
        facts=facts,
        lines=count_lines(selected, protocol),
        gold_in_query=gold_in_query(queries, selected.by_name, gold),
        sources=pack_sources(selected),
    )


def make_plan(
    selected: Benchmark,
    protocol: Protocol,
    queries: tuple[Query, ...],
    chunker: Chunker,
    *,
    skip_errors: bool = False,
    corpus: Corpus | None = None,
    tasks: Collection[Task] = (),
) -> tuple[Plan, Corpus]:
    """Cut the files of the selected tasks, and return the plan, and the chunker's own chunks without the protocol's.

    A `corpus` may have these chunks already. A protocol that blanks lines gives each task its own chunks. `tasks` are
    those of all runs of the chunker whose protocols do, so that each is cut once.
    """
    started = perf_counter()
    needed = [task.task_id for task in selected.tasks] if protocol.blanks else []
    tasks = tasks or (selected.tasks if needed else ())
    plain = corpus
    if plain is None or not plain.own.keys() >= {*needed}:
        build = partial(build_corpus, selected.files, chunker, skip_errors=skip_errors)
        try:
            plain = build(tasks=tasks)
        except ChunkError:
            if needed or not tasks:
                raise
            plain = build()  # the chunker may fail on another run's blanked files alone
    chunks = replace(plain, own={task_id: plain.own[task_id] for task_id in needed})
    if needed:
        failed = {
            task.file: plain.failed_own[task.task_id] for task in selected.tasks if task.task_id in plain.failed_own
        }
        chunks = replace(chunks, skipped=(*plain.skipped, *failed.values()))
    if protocol.documents == "windows":
        chunks = merge_identical(chunks)
    plan = Plan(
        benchmark=selected,
        protocol=protocol,
        chunker=chunker.spec,
        corpus=chunks,
        queries=queries,
        seconds={"chunk": perf_counter() - started},
    )
    return plan, plain


PER_FILE = 30
"""Tasks of a file in a sample: files are the clusters of every test, so that more add time and hardly any power."""


def draw(selected: Benchmark, protocol: Protocol, sample: int | None) -> Benchmark:
    """Return at most `sample` tasks, and `PER_FILE` of a file, spread over both; of a user's questions all."""
    if sample is None or protocol.tasks == "questions":
        return selected
    return part_of(selected, sample, per_file=PER_FILE)


def select(benchmark: Benchmark, protocol: Protocol) -> Benchmark:
    """Return the repositories and tasks that the protocol scores; DatasetError if it scores none."""
    return without_tasks_of_tests(_scored(benchmark, protocol))


def _scored(benchmark: Benchmark, protocol: Protocol) -> Benchmark:
    selected = published_subset(benchmark, protocol.repositories)
    check_questions(protocol, questions=any(task.level == QUESTION for task in benchmark.tasks[:1]))
    if protocol.ask:
        return protocol.ask(selected, **{"named": True} if protocol.query == NAMED else {})
    asks_commits = any(task.change for task in benchmark.tasks[:1])
    if protocol.tasks == "commits" and not asks_commits:
        raise NoDataError(
            f"protocol {protocol.name} asks the commits of a history, and {benchmark.name} has none; build a pack with "
            "`repoeval-bench data build CHECKOUT --commits`"
        )
    if protocol.tasks == "completion" and asks_commits:
        raise UsageError(
            f"protocol {protocol.name} completes code, and {benchmark.name} has questions of commits; choose protocol "
            "commits"
        )
    if not benchmark.tasks:
        raise without_tasks(", ".join(benchmark.files))
    if protocol.of_definitions and selected.tasks:
        selected = with_used(selected, protocol.gold)
        if not selected.tasks:
            raise DatasetError(f"no task has gold {protocol.gold}: {_why_none(benchmark)}")
    if asks_commits and protocol.gold == "definitions":
        selected = _with_definitions(selected)
    if not selected.tasks:
        raise DatasetError(nothing_scored(protocol, benchmark.files))
    return selected


def _with_definitions(benchmark: Benchmark) -> Benchmark:
    """Return the questions of commits whose definitions are known; the others are counted."""
    tasks = tuple(task for task in benchmark.tasks if task.change and task.change.definitions)
    if len(tasks) == len(benchmark.tasks):
        return benchmark
    if not tasks:
        raise DatasetError(
            f"no question of {benchmark.name} has gold definitions, as its files have no grammar here; take gold lines "
            "or exact"
        )
    return with_fingerprint(
        replace(benchmark, tasks=tasks, unscored=benchmark.unscored + len(benchmark.tasks) - len(tasks))
    )


def _why_none(benchmark: Benchmark) -> str:
    """Return why no task uses a definition."""
    for repo, files in benchmark.files.items():
        if sum(len(file.text) for file in files) > uses_table.MOST_CODE:
            return f"names are resolved in up to {uses_table.MOST_CODE / 1e6:.0f} MB of code, and {repo} has more"
    return "none uses a definition that its prompt does not show"


def is_large(benchmark: Benchmark, n_chunkers: int) -> bool:
    """Return whether there is enough to cut to start more processes.

    Each chunker cuts every file, and for each task its file again without the lines to write.
    """
    sizes = {file.name: len(file.text) for files in benchmark.files.values() for file in files}
    n_chars = sum(sizes.values()) + sum(sizes.get(task.file, 0) for task in benchmark.tasks)
    return n_chunkers * n_chars >= LARGE
