"""A sensitivity grid: its request, the check of the request, and the scores of each chunker in every setting.

Each chunker cuts the files once, its chunks are ranked once for each view and retriever, and judged by every rule.

A view is a query policy and an exclusion: what a query consists of, and what it may not see. A grid is not a list of
requests for the runner: the runner ranks and stores each run by itself, while hundreds of cells here share a few
rankings.
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.core.errors import ChunkError, UsageError, without_traceback
from repoeval_bench.core.notices import NOTICES
from repoeval_bench.dataset.repoeval import repository_name
from repoeval_bench.metrics import Lines, Measure, numbered, score_run
from repoeval_bench.plugins.lab.placebo import placebo_problems
from repoeval_bench.protocols.exclusion import excluded_chunks
from repoeval_bench.protocols.protocol import CHOICES, Exclusion, Protocol, check_scored
from repoeval_bench.protocols.qrels import relevance_rule
from repoeval_bench.protocols.queries import make_queries, query_policy
from repoeval_bench.retrieval.choice import choose_retriever
from repoeval_bench.retrieval.corpus import Corpus, build_corpus
from repoeval_bench.runs.config import DEPTH
from repoeval_bench.runs.judgements import JudgedCorpus, count_lines, judge_corpus
from repoeval_bench.runs.options import option
from repoeval_bench.runs.parts import Parts, choose_measures, make_retriever
from repoeval_bench.runs.planning import select
from repoeval_bench.runs.problems import Problems, check_data, check_embedder
from repoeval_bench.runs.request import EMBEDDER_FIELD, DataRequest, RunRequest

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from repoeval_bench.core.benchmark import Benchmark, Query
    from repoeval_bench.core.parts import Chunker, Embedder, Retriever, Role
    from repoeval_bench.core.run import Run
    from repoeval_bench.core.source import SourceFile
    from repoeval_bench.retrieval.choice import ResolvedRetriever
    from repoeval_bench.runs.executors import Executor

    _Corpora = Mapping[Exclusion, Corpus]
    """Exclusion -> the chunks under it."""


_OF_LINES = ("line_", "definition_")
"""Prefixes of the measures that no relevance rule changes."""


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """One setting: a protocol with its choices (as its name prints them), a retriever and a measure."""

    protocol: str
    retriever: str
    measure: str


@dataclass(frozen=True, slots=True)
class Scores:
    """A chunker's values in one cell, float64 (n_queries,), with the repository and the file of each query."""

    values: NDArray[np.float64]
    repos: tuple[str, ...]
    files: tuple[str, ...]
    headline: Literal["micro", "macro"]

    def mean(self) -> float:
        """Return the protocol's headline mean: over queries, or over repositories."""
        if self.headline == "micro":
            return float(self.values.mean())
        by_repo: dict[str, list[float]] = defaultdict(list)
        for repo, value in zip(self.repos, self.values.tolist(), strict=True):
            by_repo[repo].append(value)
        return sum(sum(values) / len(values) for values in by_repo.values()) / len(by_repo)


def make_protocols(names: Sequence[str], queries: Sequence[str], relevances: Sequence[str]) -> list[Protocol]:
    """Return every protocol with every query policy and relevance rule, without repeats."""
    protocols = (
        Protocol.parse(name).override(query=query, relevance=relevance)
        for name, query, relevance in product(names, queries, relevances)
    )
    return list({protocol.name: protocol for protocol in protocols}.values())


@dataclass(frozen=True, slots=True)
class _Setting:
    """A protocol with the measures that are computed under it, and the tasks that it scores."""

    protocol: Protocol
    measures: tuple[str, ...]
    selected: Benchmark

    @property
    def view(self) -> tuple[str, Exclusion]:
        return self.protocol.query, self.protocol.exclusion


class Grid:
    """Protocols x retrievers x measures over one data set, to be scored for one chunker after the other.

    A measure of lines is the same under every relevance rule, so it is a cell under the first rule only. A worker
    process builds the grid from its first job and keeps it, so that all chunkers scored there share the results.
    """

    def __init__(
        self, benchmark: Benchmark, protocols: Sequence[Protocol], parts: Parts, measures: Sequence[str]
    ) -> None:
        self._arguments = benchmark, protocols, parts, measures
        self.benchmark = benchmark
        self.parts = parts
        self.settings: list[_Setting] = []
        self._counted: dict[Exclusion, Lines] = {}
        seen: set[tuple[str, ...]] = set()
        for protocol in protocols:
            key = (protocol.query, protocol.gold, protocol.repositories, protocol.documents, protocol.exclusion)
            distinct = tuple(name for name in measures if not (name.startswith(_OF_LINES) and key in seen))
            seen.add(key)
            self.settings.append(_Setting(protocol, distinct, select(benchmark, protocol)))

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuilt, (self._packed,)

    @cached_property
    def _packed(self) -> bytes:
        return pickle.dumps(self._arguments)

    @classmethod
    def of(
        cls,
        benchmark: Benchmark,
        request: GridRequest,
        embedder: Embedder | None,
        *,
        home: Path | None,
    ) -> Grid:
        """Return the grid of a checked request."""
        protocols = make_protocols(request.protocols, request.queries, request.relevances)
        retrievers = tuple(make_retriever(spec, home=home) for spec in request.retrievers)
        measures = tuple(dict.fromkeys(str(Measure.parse(name)) for name in request.measures))
        return cls(benchmark, protocols, Parts(embedder, retrievers, home), measures)

    def _lines(self, protocol: Protocol) -> Lines:
        """Return the lines that a protocol's exclusion shows, counted once per exclusion."""
        if protocol.exclusion not in self._counted:
            self._counted[protocol.exclusion] = count_lines(self.benchmark, protocol)
        return self._counted[protocol.exclusion]

    def score_all(
        self, chunkers: Sequence[tuple[Chunker, Collection[str] | None]], executor: Executor
    ) -> Iterator[dict[Cell, Scores] | ChunkError]:
        """Yield the scores of each chunker, or its error, in their order; all texts are embedded in one pass.

        With each chunker come the names of the protocols under which it is scored, None for all.
        """
        tried = executor.map([partial(self._try_to_score, *request) for request in chunkers])
        waiting: list[_Cut | dict[Cell, Scores] | ChunkError] = []
        for result in tried:
            if isinstance(result, _Cut):
                waiting = [result, *tried]
            else:
                yield result
        cut = [result for result in waiting if isinstance(result, _Cut)]
        if self.parts.embedder and cut:
            self.parts.embedder.ensure(self._texts(cut))
        scored = executor.map([partial(self.score, *chunks) for chunks in cut])
        yield from (next(scored) if isinstance(result, _Cut) else result for result in waiting)

    def _try_to_score(
        self, chunker: Chunker, protocols: Collection[str] | None
    ) -> _Cut | dict[Cell, Scores] | ChunkError:
        """Score a chunker; if texts have no vector yet, return its chunks instead."""
        try:
            cut = _Cut(self._chunk(chunker, self._settings_of(protocols)), protocols)
        except ChunkError as error:  # the other chunkers are scored all the same
            return without_traceback(error)
        if self.parts.embedder and any(self.parts.embedder.pending(self._texts([cut])).values()):
            return cut
        return self.score(*cut)

    def _chunk(self, chunker: Chunker, settings: Sequence[_Setting]) -> _Corpora:
        """Return a chunker's chunks under each exclusion of the settings."""
        blanking = {setting.protocol.exclusion for setting in settings if setting.protocol.blanks}
        blanked = build_corpus(self.benchmark.files, chunker, tasks=self.benchmark.tasks if blanking else ())
        corpus = replace(blanked, own={})
        return {exclusion: blanked if exclusion in blanking else corpus for _, exclusion in _views(settings)}

    def _texts(self, cut: Sequence[_Cut]) -> dict[Role, list[str]]:
        """Return the texts that need vectors, with repeats."""
        texts: dict[Role, list[str]] = {"query": [], "document": []}
        if any(retriever.vectors for retriever in self.parts.retrievers):
            corpora = [corpus for chunks in cut for corpus in chunks.corpora.values()]
            texts["document"] += [chunk.embed_text for corpus in corpora for chunk in corpus]
            for policy in sorted({policy for policy, _ in _views(self.settings)}):
                texts["query"] += [query.text for query in make_queries(self.benchmark.tasks, policy)]
        return texts

    def _settings_of(self, protocols: Collection[str] | None) -> list[_Setting]:
        return [setting for setting in self.settings if protocols is None or setting.protocol.name in protocols]

    def score(self, corpora: _Corpora, protocols: Collection[str] | None = None) -> dict[Cell, Scores]:
        """Score one chunker's chunks under each exclusion, in the cells of these protocols (None for all)."""
        values: dict[Cell, NDArray[np.float64]] = {}
        planned = self._settings_of(protocols)
        candidates = {name: _Candidate(self.benchmark, corpora[name], self.parts.embedder, name) for name in corpora}
        for retriever, view in product(self.parts.retrievers, _views(planned)):
            settings = [setting for setting in planned if setting.view == view]
            values |= self._score_view(candidates[view[1]], retriever, view[0], settings)
        scores = {}
        for retriever, setting in product(self.parts.retrievers, planned):
            repos = tuple(task.repo for task in setting.selected.tasks)
            files = tuple(f"{task.repo}/{task.path}" for task in setting.selected.tasks)
            for measure in setting.measures:
                cell = _cell(setting, retriever, measure)
                scores[cell] = Scores(values[cell], repos, files, setting.protocol.headline)
        return scores

    def file_sets(self) -> list[tuple[list[SourceFile], frozenset[str]]]:
        """Return every set of files that protocols of the grid score, and the names of those protocols."""
        sets: dict[tuple[str, ...], tuple[list[SourceFile], set[str]]] = {}
        for setting in self.settings:
            by_repo = setting.selected.files
            files = [file for repo_files in by_repo.values() for file in repo_files]
            sets.setdefault(tuple(by_repo), (files, set()))[1].add(setting.protocol.name)
        return [(files, frozenset(names)) for files, names in sets.values()]

    def _score_view(
        self, candidate: _Candidate, retriever: ResolvedRetriever, policy: str, settings: Sequence[_Setting]
    ) -> dict[Cell, Any]:
        tasks = {task.task_id: task for setting in settings for task in setting.selected.tasks}
        queries = make_queries(tasks.values(), policy)
        by_query = numbered(candidate.rank(retriever, queries).rankings, DEPTH)
        values = {}
        for setting in settings:
            judgements = candidate.judge(setting, self._lines(setting.protocol))
            # A missing ranking is a KeyError here, where `score_run` would count it as 0.
            ranked = {query_id: by_query[query_id] for query_id in judgements.qrels}
            scores = score_run(ranked, judgements.qrels, setting.measures, judgements.context)
            for measure, column in scores.values.items():
                values[_cell(setting, retriever, measure)] = column
        return values


@lru_cache(maxsize=1)
def _rebuilt(packed: bytes) -> Grid:
    return Grid(*pickle.loads(packed))  # noqa: S301 - it was made here


def _views(settings: Sequence[_Setting]) -> list[tuple[str, Exclusion]]:
    return list(dict.fromkeys(setting.view for setting in settings))


class _Cut(NamedTuple):
    """A chunker's chunks by exclusion, and the names of the protocols under which they are scored (None for all)."""

    corpora: _Corpora
    protocols: Collection[str] | None


class _Candidate:
    """A data set chunked for one exclusion, with its retrievers and judgements, computed once."""

    def __init__(
        self, benchmark: Benchmark, corpus: Corpus, embedder: Embedder | None, exclusion: Exclusion = "none"
    ) -> None:
        self.corpus = corpus
        self.excluded = excluded_chunks(benchmark.tasks, corpus.chunks, exclusion)
        self._benchmark = benchmark
        self._embedder = embedder
        self._searchers: dict[str, Retriever] = {}
        self._judged: dict[tuple[str, ...], JudgedCorpus] = {}

    def rank(self, retriever: ResolvedRetriever, queries: Sequence[Query]) -> Run:
        """Rank the best chunks of each query."""
        if retriever.spec not in self._searchers:
            corpus = self.corpus
            self._searchers[retriever.spec] = retriever.build(corpus.chunks, corpus.own, embedder=self._embedder)
        return self._searchers[retriever.spec].search(queries, DEPTH, self.excluded)

    def judge(self, setting: _Setting, lines: Lines) -> JudgedCorpus:
        """Return the judgements of a protocol, which do not depend on its query policy."""
        protocol = setting.protocol
        choices = tuple(getattr(protocol, choice) for choice in CHOICES if choice != "query")
        key = (*choices, *setting.measures)
        if key not in self._judged:
            self._judged[key] = judge_corpus(setting.selected, self.corpus, protocol, setting.measures, line_nws=lines)
        return self._judged[key]


def _cell(setting: _Setting, retriever: ResolvedRetriever, measure: str) -> Cell:
    return Cell(setting.protocol.name, retriever.spec, measure)


class GridRequest(DataRequest):
    """A request for a sensitivity grid: every chunker in every combination of the rest."""

    chunkers: tuple[str, ...] = option((), "Two or more; repeat it.", "SPEC", also="-c", spelled="--chunker")
    protocols: tuple[str, ...] = option(
        ("context", "code-chunk", "body", "uses"), "Protocols of the grid; repeat it.", spelled="--protocol"
    )
    queries: tuple[str, ...] = option(("full", "tail:20"), "Query policies of the grid; repeat it.", spelled="--query")
    relevances: tuple[str, ...] = option(
        ("overlap", "iou:0.2", "graded:levels"), "Relevance rules of the grid; repeat it.", spelled="--relevance"
    )
    retrievers: tuple[str, ...] = option(("dense", "bm25"), "Retrievers of the grid; repeat it.", spelled="--retriever")
    measures: tuple[str, ...] = option(
        ("ndcg@10", "line_recall_auc"), "Measures of the grid; repeat it.", also="-m", spelled="--measure"
    )
    match: bool = option(default=True, meaning="Compare at equal mean sizes too.", spelled="--match/--no-match")
    placebo: int = 10
    """Line offsets at which the fixed baseline is started for the placebo band; 0 for none. Python alone sets it."""
    embedder: str = EMBEDDER_FIELD

    def requests(self) -> list[RunRequest]:
        """Return a request for each retriever, with the embedder and the measures of the grid."""
        return [
            RunRequest(retriever=retriever, embedder=self.embedder, measures=self.measures)
            for retriever in self.retrievers
        ]

    @property
    def needs_vectors(self) -> bool:
        """Return whether a cell embeds anything."""
        return any(request.needs_vectors for request in self.requests())


def check_grid(request: GridRequest, home: Path | None, problems: Problems) -> None:
    """Collect the mistakes in a request that can be found without data or a model."""
    chunkers = _good(problems, "chunkers", request.chunkers, make_chunker)
    protocols = _good(problems, "protocols", request.protocols, Protocol.parse)
    _good(problems, "queries", request.queries, query_policy)
    _good(problems, "relevances", request.relevances, relevance_rule)
    retrievers = _good(problems, "retrievers", request.retrievers, choose_retriever)
    for retriever in retrievers:
        with problems.about("retrievers"):
            retriever.check_installed()
    _good(problems, "measures", request.measures, lambda name: choose_measures([name], DEPTH))
    check_embedder(request.requests()[0], problems, needed=any(retriever.vectors for retriever in retrievers))
    check_data(request, {protocol.name: protocol for protocol in protocols}, home, problems)
    specs = [chunker.spec for chunker in chunkers]
    # A misspelt chunker is reported already, and counts as one that differs from the others.
    specs += request.chunkers[len(specs) :]
    of_grid = grid_problems(specs, protocols, [retriever.spec for retriever in retrievers])
    for sentence in (*of_grid, *placebo_problems(request.placebo)):
        with problems.about("grid"):
            raise UsageError(sentence)


def scoring_protocols(request: GridRequest) -> tuple[str, ...]:
    """Return the protocols that score one of the requested repositories; a notice names each of the others."""
    scoring, repos = [], request.repos or ()
    for name in request.protocols:
        try:
            check_scored(Protocol.parse(name), map(repository_name, repos), request.level)
        except UsageError:
            NOTICES.info(f"protocol {name} scores none of {', '.join(repos)} and is left out")
        else:
            scoring.append(name)
    return tuple(scoring)


def answerable_protocols(protocols: Sequence[str], benchmark: Benchmark) -> tuple[str, ...]:
    """Return the protocols whose gold the benchmark has; a notice names each of the others."""
    known = all(task.uses is not None for task in benchmark.tasks)
    lacking = [name for name in protocols if Protocol.parse(name).of_definitions and not known]
    for name in lacking:
        NOTICES.info(f"protocol {name} needs the definitions that tasks use, which are not known here; it is left out")
    return tuple(name for name in protocols if name not in lacking)


def _good(problems: Problems, option: str, names: Sequence[str], check: Callable[[str], Any]) -> list[Any]:
    """Return the result of the check for each name that passes it."""
    results = []
    for name in names:
        with problems.about(option, name):
            results.append(check(name))
    return results


def grid_problems(chunkers: Sequence[str], protocols: Sequence[Protocol], retrievers: Sequence[str]) -> list[str]:
    """Return a sentence for each thing in the request that no grid can compare; empty for a good request.

    Chunkers and retrievers are normalised specs; protocols are as requested, before the grid's query policies and
    relevance rules are set.
    """
    results = []
    if len(set(chunkers)) < 2:
        results.append("give at least two different chunkers to compare")
    for protocol in protocols:
        if protocol.documents == "windows" or protocol.tasks != "completion" or protocol.scope != "repository":
            results.append(
                f"protocol {protocol.name} cannot be in a grid, which compares chunkers on completion tasks, each in "
                "its own repository; leave it out"
            )
        elif {"query", "relevance"} & {choice.partition("=")[0] for choice in protocol.name.split("+")[1:]}:
            results.append(
                f"protocol {protocol.name}: the grid sets every query and relevance; give --query and --relevance"
            )
    if "oracle" in retrievers:
        results.append("retriever oracle knows the answers of one cell only; choose dense, bm25 or random")
    return results
