"""The mistakes in a sensitivity grid, all at once, before data is fetched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.core.errors import UsageError
from repoeval_bench.dataset.repoeval import repository_name
from repoeval_bench.plugins.lab.placebo import placebo_problems
from repoeval_bench.protocols.protocol import Protocol, check_scored
from repoeval_bench.protocols.qrels import relevance_rule
from repoeval_bench.protocols.queries import query_policy
from repoeval_bench.runs.config import DEPTH
from repoeval_bench.runs.parts import choose_measures, choose_retriever
from repoeval_bench.runs.problems import Problems, check_data, check_embedder

if TYPE_CHECKING:
    from repoeval_bench.core.benchmark import Benchmark
    from repoeval_bench.plugins.lab.grid_request import GridRequest


def check_grid(request: GridRequest, home: Path | None, found: Problems) -> None:
    """Collect the mistakes in a grid that can be found without data or a model."""
    chunkers = _good(found, "chunkers", request.chunkers, make_chunker)
    protocols = _good(found, "protocols", request.protocols, Protocol.parse)
    _good(found, "queries", request.queries, query_policy)
    _good(found, "relevances", request.relevances, relevance_rule)
    retrievers = _good(found, "retrievers", request.retrievers, choose_retriever)
    for retriever in retrievers:
        with found.about("retrievers"):
            retriever.check_installed()
    _good(found, "measures", request.measures, lambda name: choose_measures([name], DEPTH))
    check_embedder(request.requests()[0], found, needed=any(retriever.vectors for retriever in retrievers))
    check_data(request, {protocol.name: protocol for protocol in protocols}, home, found)
    for retriever in retrievers:
        for protocol in protocols:
            with found.about("retrievers"):
                choose_retriever(retriever.spec, protocol)
    specs = [chunker.spec for chunker in chunkers]
    # A misspelt chunker is reported already: it may well be another one.
    specs += request.chunkers[len(specs) :]
    problems = grid_problems(specs, protocols, [retriever.spec for retriever in retrievers])
    for sentence in (*problems, *placebo_problems(request.placebo)):
        with found.about("grid"):
            raise UsageError(sentence)


def scoring_protocols(request: GridRequest, notify: Callable[[str], None]) -> tuple[str, ...]:
    """Those of the grid's protocols that score one of the repositories asked for; a line names each of the others."""
    scoring, repos = [], request.repos or ()
    for name in request.protocols:
        try:
            check_scored(Protocol.parse(name), map(repository_name, repos), request.level)
        except UsageError:
            notify(f"protocol {name} scores none of {', '.join(repos)} and is left out")
        else:
            scoring.append(name)
    return tuple(scoring)


def answerable_protocols(
    protocols: Sequence[str], benchmark: Benchmark, notify: Callable[[str], None]
) -> tuple[str, ...]:
    """Those of the protocols whose gold the benchmark has; a line names each of the others."""
    known = all(task.uses is not None for task in benchmark.tasks)
    lacking = [name for name in protocols if Protocol.parse(name).of_definitions and not known]
    for name in lacking:
        notify(f"protocol {name} needs the definitions that tasks use, which are not known here; it is left out")
    return tuple(name for name in protocols if name not in lacking)


def _good(problems: Problems, option: str, names: Sequence[str], check: Callable[[str], Any]) -> list[Any]:
    """Return what the check makes of each name, without those that are wrong."""
    good = []
    for name in names:
        with problems.about(option, name):
            good.append(check(name))
    return good


def grid_problems(chunkers: Sequence[str], protocols: Sequence[Protocol], retrievers: Sequence[str]) -> list[str]:
    """A sentence for everything in which a grid of these specs asks for what no grid can compare; none for a good one.

    Chunkers and retrievers are specs as they print themselves, protocols as they were asked for, before the grid's
    query policies and relevance rules are set.
    """
    results = []
    if len(set(chunkers)) < 2:
        results.append("give at least two different chunkers to compare")
    results += [
        f"protocol {protocol.name} has no chunker to compare; leave it out"
        for protocol in protocols
        if protocol.documents == "windows"
    ]
    results += [
        f"protocol {protocol.name} is not of completion tasks, which are what a grid varies; leave it out"
        for protocol in protocols
        if protocol.tasks != "completion"
    ]
    results += [
        f"protocol {protocol.name}: every cell is judged on one ranking of the whole repository; leave out scope="
        for protocol in protocols
        if protocol.scope != "repository"
    ]
    results += [
        f"protocol {protocol.name}: the grid sets every {choice}; leave out {choice}= and give --{choice} "
        f"{getattr(protocol, choice)}"
        for protocol in protocols
        for choice in ("query", "relevance")
        if choice in protocol.overridden
    ]
    if "oracle" in retrievers:
        results.append("retriever oracle knows the answers of one cell only; choose dense, bm25 or random")
    return results
