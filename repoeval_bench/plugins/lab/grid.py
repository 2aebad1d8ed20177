"""One chunker in many settings: chunked once, ranked once per view and retriever, judged by every rule.

A view is what a query is (its policy) and what it may not see (the exclusion).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.core.errors import ChunkError, anew
from repoeval_bench.core.registry import is_outside
from repoeval_bench.core.spec import slug
from repoeval_bench.metrics import Measure, score_run
from repoeval_bench.plugins.lab.cells import Cell, CellFile, Scores
from repoeval_bench.protocols.exclusion import excluded_chunks
from repoeval_bench.protocols.protocol import BASELINE, CHOICES, Exclusion, Protocol
from repoeval_bench.protocols.queries import make_queries
from repoeval_bench.retrieval.choice import ChosenRetriever, Material
from repoeval_bench.retrieval.corpus import Corpus, build_corpus, chunk_blanked
from repoeval_bench.runs.config import DEPTH
from repoeval_bench.runs.judgements import JudgedCorpus, count_lines, judge_corpus
from repoeval_bench.runs.parts import CELLS, Parts, make_retriever, silent
from repoeval_bench.runs.planning import Plan, select
from repoeval_bench.runs.stages import map_lines

if TYPE_CHECKING:
    from repoeval_bench.core.benchmark import Benchmark
    from repoeval_bench.core.parts import Chunker, Embedder, Retriever, Role
    from repoeval_bench.core.run import Run
    from repoeval_bench.core.source import SourceFile
    from repoeval_bench.plugins.lab.grid_request import GridRequest
    from repoeval_bench.runs.executors import Executor
    from repoeval_bench.runs.results import Results

    _Corpora = Mapping[Exclusion, Corpus]
    """Exclusion -> what a chunker makes under it."""

_OF_LINES = ("line_", "definition_")
"""How the names of measures begin that no relevance rule changes."""


def make_protocols(names: Sequence[str], queries: Sequence[str], relevances: Sequence[str]) -> list[Protocol]:
    """Every protocol with every query policy and relevance rule, each once."""
    found = {
        (each := Protocol.parse(name).override(query=query, relevance=relevance)).name: each
        for name in names
        for query in queries
        for relevance in relevances
    }
    return list(found.values())


@dataclass(frozen=True, slots=True)
class _Setting:
    """A protocol with the measures that are wanted under it, and the tasks it scores."""

    protocol: Protocol
    measures: tuple[str, ...]
    selected: Benchmark


class Grid:
    """Protocols x retrievers x measures over one data set, to be scored for one chunker after the other.

    `baseline` makes the documents of protocols that judge all chunkers on one chunker's chunks. Cells are kept in
    `results`, and what is in it is not computed again. A measure of lines is the same under every relevance rule, so
    it is a cell under the first one only. A grid can be pickled: its parts are made again from their specs.
    """

    def __init__(
        self,
        benchmark: Benchmark,
        protocols: Sequence[Protocol],
        parts: Parts,
        measures: Sequence[str],
        *,
        baseline: Chunker,
        results: Results,
    ) -> None:
        self._benchmark = benchmark
        self.parts = parts
        self._baseline = baseline
        self._results = results
        self._folder = f"{CELLS}/{benchmark.fingerprint}"
        self._cells: dict[tuple[str, str], CellFile] = {}
        self._settings: list[_Setting] = []
        seen: set[tuple[str, ...]] = set()
        for protocol in protocols:
            key = (protocol.query, protocol.gold, protocol.repositories, protocol.documents, protocol.exclusion)
            wanted = tuple(name for name in measures if not (name.startswith(_OF_LINES) and key in seen))
            seen.add(key)
            self._settings.append(_Setting(protocol, wanted, select(benchmark, protocol)))

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_cells": {}}

    @cached_property
    def _line_nws(self) -> dict[str, list[int]]:
        return count_lines(self._benchmark)

    @cached_property
    def _baseline_documents(self) -> Corpus:
        return build_corpus(self._benchmark.files, self._baseline)

    def score(self, chunker: Chunker, corpora: _Corpora | None = None) -> dict[Cell, Scores]:
        """One chunker in every cell; `corpora` is what it makes under each exclusion, where a cell is missing."""
        arms: dict[Exclusion, _Arm] = {}
        found: dict[Cell, Scores] = {}
        for retriever, (policy, exclusion), missing in self._lacking(chunker):
            assert corpora is not None
            if exclusion not in arms:
                arms[exclusion] = _Arm(self._benchmark, corpora[exclusion], self.parts.embedder, exclusion)
            self._kept(chunker, retriever).add(self._score(arms[exclusion], retriever, policy, missing))
        for retriever in self.parts.retrievers:
            kept = self._kept(chunker, retriever)
            for setting in self._settings:
                repos = tuple(task.repo for task in setting.selected.tasks)
                files = tuple(f"{task.repo}/{task.path}" for task in setting.selected.tasks)
                for measure in setting.measures:
                    cell = _cell(setting, retriever, measure)
                    values = kept.get(cell)
                    assert values is not None
                    found[cell] = Scores(values, repos, files, setting.protocol.headline)
        return found

    def score_all(self, chunkers: Sequence[Chunker], executor: Executor) -> Iterator[dict[Cell, Scores] | ChunkError]:
        """Each chunker in every cell, or why it failed, in their order; all that is missing is embedded in one pass."""
        if chunkers and any(setting.protocol.documents == "baseline" for setting in self._settings):
            _ = self._baseline_documents
        made = list(executor.map([partial(self._try_to_chunk, each) for each in chunkers]))
        cut = [
            (chunker, corpora)
            for chunker, corpora in zip(chunkers, made, strict=True)
            if not isinstance(corpora, ChunkError)
        ]
        self._embed(cut)
        scored = executor.map([partial(self.score, *each) for each in cut])
        return (each if isinstance(each, ChunkError) else next(scored) for each in made)

    def same_files(self) -> list[tuple[list[SourceFile], frozenset[str]]]:
        """Every set of files that protocols of the grid score, and the names of those protocols."""
        found: dict[tuple[str, ...], tuple[list[SourceFile], set[str]]] = {}
        for setting in self._settings:
            held = setting.selected.files
            files = [file for repo_files in held.values() for file in repo_files]
            found.setdefault(tuple(held), (files, set()))[1].add(setting.protocol.name)
        return [(files, frozenset(names)) for files, names in found.values()]

    def kept(self, chunker: Chunker) -> bool:
        """Whether every cell of this chunker is on disk, so that `score` computes none."""
        return next(self._lacking(chunker), None) is None

    def _try_to_chunk(self, chunker: Chunker) -> _Corpora | ChunkError:
        try:
            return self._chunk(chunker)
        except ChunkError as error:  # it ends the cells of this chunker alone
            return anew(error)

    def _chunk(self, chunker: Chunker) -> _Corpora:
        """What a chunker makes under each exclusion of the grid."""
        corpus = build_corpus(self._benchmark.files, chunker)
        blanking = {protocol.exclusion for protocol in self._protocols() if protocol.blanks}
        blanked = corpus
        if blanking:
            blanked = chunk_blanked(corpus, self._benchmark.tasks, self._benchmark.files, chunker)
        return {exclusion: blanked if exclusion in blanking else corpus for _, exclusion in self._views()}

    def _embed(self, cut: Sequence[tuple[Chunker, _Corpora]]) -> None:
        texts: dict[Role, list[str]] = {"query": [], "document": []}
        for chunker, of_views in cut:
            lacking = {view for retriever, view, _ in self._lacking(chunker) if retriever.vectors}
            for exclusion in sorted({exclusion for _, exclusion in lacking}):
                texts["document"] += [chunk.embed_text for chunk in of_views[exclusion]]
            for policy in sorted({policy for policy, _ in lacking}):
                texts["query"] += [query.text for query in make_queries(self._benchmark.tasks, policy)]
        if self.parts.embedder:
            self.parts.embedder.ensure(texts)

    def _protocols(self) -> Iterator[Protocol]:
        return (setting.protocol for setting in self._settings)

    def _views(self) -> list[tuple[str, Exclusion]]:
        return list(dict.fromkeys((protocol.query, protocol.exclusion) for protocol in self._protocols()))

    def _kept(self, chunker: Chunker, retriever: ChosenRetriever) -> CellFile:
        key = chunker.spec, retriever.spec
        if key not in self._cells:
            ours = not is_outside("chunker", chunker.spec) and not is_outside("retriever", retriever.spec)
            self._cells[key] = CellFile(
                self._results, f"{self._folder}/{slug('_'.join(key))}", self._identity(chunker, retriever), keeps=ours
            )
        return self._cells[key]

    def _lacking(self, chunker: Chunker) -> Iterator[tuple[ChosenRetriever, tuple[str, Exclusion], list[_Setting]]]:
        """(retriever, view, its settings with the measures whose cells are not kept yet) where there are such."""
        for retriever, view in product(self.parts.retrievers, self._views()):
            kept = self._kept(chunker, retriever)
            missing = [
                replace(setting, measures=lacking)
                for setting in self._settings
                if (setting.protocol.query, setting.protocol.exclusion) == view
                and (lacking := tuple(m for m in setting.measures if kept.get(_cell(setting, retriever, m)) is None))
            ]
            if missing:
                yield retriever, view, missing

    def _identity(self, chunker: Chunker, retriever: ChosenRetriever) -> dict[str, Any]:
        embedder = self.parts.embedder
        return {
            "fingerprint": self._benchmark.fingerprint,
            "chunker": chunker.spec,
            "baseline": self._baseline.spec,
            "retriever": retriever.spec,
            "reranker": dict(retriever.scorer.identity) if retriever.scorer else None,
            "embedder": dict(embedder.identity) if embedder and retriever.vectors else None,
            "depth": DEPTH,
        }

    def _score(
        self, arm: _Arm, retriever: ChosenRetriever, policy: str, settings: Sequence[_Setting]
    ) -> dict[Cell, Any]:
        run = arm.rank(retriever, policy)
        mapped: dict[str, Run] = {}
        found = {}
        for setting in settings:
            protocol, selected = setting.protocol, setting.selected
            onto_baseline = protocol.documents == "baseline"
            documents = self._baseline_documents if onto_baseline else arm.corpus
            judged = arm.judge(setting, documents, self._line_nws)
            ranked = run
            if onto_baseline:
                if protocol.repositories not in mapped:
                    queries = make_queries(selected.tasks, policy)
                    plan = Plan(
                        benchmark=selected,
                        protocol=protocol,
                        chunker="",
                        corpus=arm.corpus,
                        documents=documents,
                        queries=queries,
                        seconds={},
                    )
                    mapped[protocol.repositories] = map_lines(plan, arm.excluded, judged, run, DEPTH)
                ranked = mapped[protocol.repositories]
            cut = {task.task_id: ranked.rankings[task.task_id][:DEPTH] for task in selected.tasks}
            scores = score_run(cut, judged.qrels, setting.measures, judged.context)
            for measure, values in scores.values.items():
                found[_cell(setting, retriever, measure)] = values
        return found


def make_grid(
    benchmark: Benchmark,
    request: GridRequest,
    embedder: Embedder | None,
    results: Results,
    *,
    home: Path | None,
    notify: Callable[[str], None] = silent,
) -> Grid:
    """The grid of a checked request; its cells are kept in sensitivity/ of the results."""
    protocols = make_protocols(request.protocols, request.queries, request.relevances)
    strictest = next((protocol for protocol in protocols if protocol.documents == "baseline"), protocols[0])
    retrievers = tuple(make_retriever(spec, strictest, home=home, notify=notify) for spec in request.retrievers)
    measures = tuple(dict.fromkeys(str(Measure.parse(name)) for name in request.measures))
    parts = Parts(embedder, retrievers, home)
    return Grid(benchmark, protocols, parts, measures, baseline=make_chunker(BASELINE), results=results)


class _Arm:
    """A data set chunked for one exclusion, its retrievers and its judgements, each made once."""

    def __init__(
        self, benchmark: Benchmark, corpus: Corpus, embedder: Embedder | None, exclusion: Exclusion = "none"
    ) -> None:
        self.corpus = corpus
        self.excluded = excluded_chunks(benchmark.tasks, corpus.chunks, exclusion)
        self._benchmark = benchmark
        self._embedder = embedder
        self._searchers: dict[str, Retriever] = {}
        self._judged: dict[tuple[str, ...], JudgedCorpus] = {}

    def rank(self, retriever: ChosenRetriever, policy: str) -> Run:
        """Every chunk of a query's repository in order, for all tasks."""
        if retriever.spec not in self._searchers:
            material = Material(self.corpus.chunks, self.corpus.own, self._embedder, dict)
            self._searchers[retriever.spec] = retriever.build(material)
        queries = make_queries(self._benchmark.tasks, policy)
        return self._searchers[retriever.spec].search(queries, max(1, len(list(self.corpus))), self.excluded)

    def judge(self, setting: _Setting, documents: Corpus, line_nws: dict[str, list[int]]) -> JudgedCorpus:
        """The judgements of a protocol, which do not depend on its query policy."""
        protocol = setting.protocol
        chosen = tuple(getattr(protocol, choice) for choice in CHOICES if choice != "query")
        key = (*chosen, protocol.documents, *setting.measures)
        if key not in self._judged:
            self._judged[key] = judge_corpus(setting.selected, documents, protocol, setting.measures, line_nws=line_nws)
        return self._judged[key]


def _cell(setting: _Setting, retriever: ChosenRetriever, measure: str) -> Cell:
    return Cell(setting.protocol.name, retriever.spec, measure)
