"""Many settings of one comparison: every chunker ranked once, then judged by every protocol and rule.

A verdict that flips when query, relevance or retriever change is a statement about the setting, not the chunker.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import combinations
from math import sqrt
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from repoeval_bench.config import Protocol
from repoeval_bench.judging import count_lines, judge_corpus
from repoeval_bench.metrics import score_run
from repoeval_bench.pipeline import map_lines, plan, select
from repoeval_bench.queries import make_queries
from repoeval_bench.retrieval.registry import Material
from repoeval_bench.stats import cluster_sums

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from repoeval_bench.pipeline import Plan
    from repoeval_bench.retrieval.registry import ChosenRetriever
    from repoeval_bench.types import Benchmark, Chunker, Embedder, Run

Verdict = Literal["wins", "loses", "undecided", "noise"]

DEPTH = 100
"""Ranks that are scored."""


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """One setting: a protocol with its choices (as its name prints them), a retriever and a measure."""

    protocol: str
    retriever: str
    measure: str


@dataclass(frozen=True, slots=True)
class Scores:
    """A chunker's values in one cell, with the files and repositories that they belong to; float64 (n_queries,)."""

    values: NDArray[np.float64]
    repos: tuple[str, ...]
    files: tuple[str, ...]
    headline: Literal["micro", "macro"]

    def mean(self) -> float:
        """The protocol's headline mean: over queries, or over repositories."""
        if self.headline == "micro":
            return float(self.values.mean())
        by_repo: dict[str, list[float]] = defaultdict(list)
        for repo, value in zip(self.repos, self.values.tolist(), strict=True):
            by_repo[repo].append(value)
        return sum(sum(each) / len(each) for each in by_repo.values()) / len(by_repo)


@dataclass(frozen=True, slots=True)
class Contest:
    """Two chunkers in one cell: a - b with its clustered 95 % interval, and what that says about `a`.

    `band` is the placebo band: what the same chunker differs by when its cuts are moved; None where not measured. A
    difference whose interval leaves out 0 but that is not larger than the band is `noise`.
    """

    a: str
    b: str
    sizes: str
    cell: Cell
    difference: float
    low: float
    high: float
    band: float | None

    @property
    def verdict(self) -> Verdict:
        """What the interval says about `a`; inside the placebo band, `noise`."""
        if self.low <= 0 <= self.high:
            return "undecided"
        if self.band is not None and abs(self.difference) <= self.band:
            return "noise"
        return "wins" if self.difference > 0 else "loses"

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "a": self.a, "b": self.b, "sizes": self.sizes, "protocol": self.cell.protocol,
            "retriever": self.cell.retriever, "measure": self.cell.measure, "difference": self.difference,
            "interval": [self.low, self.high], "placebo_band": self.band, "verdict": self.verdict,
        }  # fmt: skip


def make_protocols(names: Sequence[str], queries: Sequence[str], relevances: Sequence[str]) -> list[Protocol]:
    """Every protocol with every query policy and relevance rule, each once."""
    found = {
        (each := Protocol.parse(name).override(query=query, relevance=relevance)).name: each
        for name in names
        for query in queries
        for relevance in relevances
    }
    return list(found.values())


def score_grid(
    benchmark: Benchmark,
    chunker: Chunker,
    protocols: Sequence[Protocol],
    retrievers: Sequence[ChosenRetriever],
    measures: Sequence[str],
    *,
    baseline: Chunker,
    embedder: Embedder | None,
) -> dict[Cell, Scores]:
    """One chunker in every cell. It chunks once, ranks once for each query policy and retriever, and is judged often.

    A measure of lines is the same under every relevance rule, so it is computed under the first one only. `baseline`
    makes the documents of protocols that judge all chunkers on one chunker's chunks.
    """
    whole = replace(protocols[0], repositories="all", documents="chunks")
    planned = plan(benchmark, chunker, whole)
    mapped = plan(benchmark, chunker, replace(whole, documents="baseline"), baseline=baseline)
    corpus = planned.corpus
    found: dict[Cell, Scores] = {}
    runs: dict[tuple[str, str], Run] = {}
    for retriever in retrievers:
        searcher = retriever.build(Material(corpus.chunks, corpus.own, embedder, dict))
        for policy in dict.fromkeys(protocol.query for protocol in protocols):
            queries = make_queries(benchmark.tasks, policy)
            runs[retriever.spec, policy] = searcher.search(queries, max(1, corpus.n_chunks))
    line_nws = count_lines(benchmark)
    seen_lines: set[tuple[str, ...]] = set()
    mapped_runs: dict[tuple[str, str, str], Run] = {}
    for protocol in protocols:
        basis = mapped if protocol.documents == "baseline" else planned
        selected = select(benchmark, protocol)
        setting = (protocol.query, protocol.gold, protocol.repositories, protocol.documents)
        wanted = [name for name in measures if not (name.startswith("line_") and setting in seen_lines)]
        seen_lines.add(setting)
        judged = judge_corpus(selected, basis.documents, protocol, wanted, line_nws=line_nws)
        repos = tuple(task.repo for task in selected.tasks)
        files = tuple(f"{task.repo}/{task.path}" for task in selected.tasks)
        for retriever in retrievers:
            run = runs[retriever.spec, protocol.query]
            if protocol.documents == "baseline":
                key = (retriever.spec, protocol.query, protocol.repositories)
                if key not in mapped_runs:
                    mapped_runs[key] = map_lines(_of(basis, selected, protocol), {}, judged, run, DEPTH)
                run = mapped_runs[key]
            cut = {task.task_id: run.rankings[task.task_id][:DEPTH] for task in selected.tasks}
            scores = score_run(cut, judged.qrels, wanted, judged.context)
            for name, values in scores.values.items():
                found[Cell(protocol.name, retriever.spec, name)] = Scores(values, repos, files, protocol.headline)
    return found


def _of(planned: Plan, selected: Benchmark, protocol: Protocol) -> Plan:
    return replace(planned, benchmark=selected, protocol=protocol, queries=make_queries(selected.tasks, protocol.query))


def placebo_bands(arms: Sequence[Mapping[Cell, Scores]]) -> dict[Cell, float]:
    """Per cell the spread (largest - smallest mean) of arms that differ in nothing that should matter."""
    if not arms:
        return {}
    means = {cell: [arm[cell].mean() for arm in arms] for cell in arms[0]}
    return {cell: max(values) - min(values) for cell, values in means.items()}


def contests(arms: Mapping[str, Mapping[Cell, Scores]], sizes: str, bands: Mapping[Cell, float]) -> list[Contest]:
    """Every pair of chunkers in every cell; `arms` is chunker -> its scores, all over the same cells."""
    found = []
    for a, b in combinations(arms, 2):
        for cell, ours in arms[a].items():
            theirs = arms[b][cell]
            difference, low, high = interval(ours.values - theirs.values, ours.repos, ours.files, ours.headline)
            found.append(Contest(a, b, sizes, cell, difference, low, high, bands.get(cell)))
    return found


def mean_and_error(
    values: NDArray[np.float64], repos: Sequence[str], files: Sequence[str], headline: str
) -> tuple[float, float]:
    """Mean of the values and its standard error, clustered by file.

    Linearised (Cochran 1977) for a mean over queries whose clusters differ in size; the macro mean averages the
    repositories' means and their variances. A repository of one file adds no variance: there is nothing to tell it.
    """
    groups: list[NDArray[np.bool_]] = [np.ones(len(values), dtype=np.bool_)]
    if headline == "macro":
        names = np.array(repos)
        groups = [names == repo for repo in dict.fromkeys(repos)]
    means, variances = [], []
    for group in groups:
        inside = np.flatnonzero(group).tolist()
        table, counts = cluster_sums(values[inside], [files[i] for i in inside])
        sums = table[:, 0]
        mean, n = float(sums.sum() / counts.sum()), len(sums)
        residuals = sums - mean * counts
        means.append(mean)
        variances.append(n / (n - 1) * float((residuals**2).sum()) / float(counts.sum()) ** 2 if n > 1 else 0.0)
    return sum(means) / len(means), sqrt(sum(variances)) / len(variances)


def interval(
    values: NDArray[np.float64], repos: Sequence[str], files: Sequence[str], headline: str
) -> tuple[float, float, float]:
    """Mean of values (or of differences) and the ends of its 95 % interval, clustered by file: t, linearised."""
    from scipy.stats import t

    mean, error = mean_and_error(values, repos, files, headline)
    margin = float(t.ppf(0.975, max(1, len(set(files)) - 1))) * error
    return mean, mean - margin, mean + margin


def flips(found: Sequence[Contest]) -> list[Contest]:
    """The decided cells that contradict the majority of a pair's decided cells; all of them where it is a draw."""
    by_pair: dict[tuple[str, str], list[Contest]] = defaultdict(list)
    for contest in found:
        if contest.verdict in ("wins", "loses"):
            by_pair[contest.a, contest.b].append(contest)
    minority: list[Contest] = []
    for decided in by_pair.values():
        wins = sum(contest.verdict == "wins" for contest in decided)
        fewer = {"wins"} if wins * 2 < len(decided) else {"loses"} if wins * 2 > len(decided) else {"wins", "loses"}
        minority.extend(contest for contest in decided if contest.verdict in fewer)
    return minority
