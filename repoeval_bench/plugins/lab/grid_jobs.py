"""A sensitivity grid as jobs of an executor: a job scores one chunker in every cell, in a worker that has the data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.core.errors import ChunkError, anew
from repoeval_bench.embedding.choice import has_model
from repoeval_bench.plugins.lab.grid import Grid, make_grid
from repoeval_bench.runs.executors import IN_PROCESS
from repoeval_bench.runs.jobs import DataJob, JobLog, NamedJob, Shared, check_countable
from repoeval_bench.runs.results import results_at

if TYPE_CHECKING:
    from repoeval_bench.plugins.lab.cells import Cell, Scores
    from repoeval_bench.plugins.lab.grid_request import GridRequest
    from repoeval_bench.runs.materials import Materials
    from repoeval_bench.runs.request import DataRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class GridJobs:
    """Scores chunkers as jobs; given to `sensitivity` as `elsewhere`. What is computed is kept in `out` by workers."""

    data: DataRequest
    log: JobLog
    without: frozenset[str]
    out: Path
    home: Path | None

    def __call__(self, request: GridRequest, chunkers: Sequence[str]) -> Iterator[Mapping[Cell, Scores] | ChunkError]:
        """The scores of each chunker, or why its job failed, in turn."""
        check_countable(request.embedder)
        request = request.on_this_device()
        embedder = request.embedder_spec()
        shared = Shared.here(self.data, without=self.without, results=results_at(self.out), home=self.home)
        jobs = [
            DataJob(
                shared=shared,
                needs_model=embedder is not None and has_model(embedder),
                work=partial(_score, request, chunker),
            )
            for chunker in chunkers
        ]
        for each in self.log.map([NamedJob((chunker,)) for chunker in chunkers], jobs):
            yield ChunkError(str(each.error)) if each.made is None else each.made


def _score(request: GridRequest, chunker: str, materials: Materials, _: Callable[[str], None]) -> Mapping[Cell, Scores]:
    """One chunker in every cell."""
    (scores,) = _kept_grid(request, materials).score_all([make_chunker(chunker)], IN_PROCESS)
    if isinstance(scores, ChunkError):
        raise anew(scores)
    return scores


@lru_cache(maxsize=1)
def _kept_grid(request: GridRequest, materials: Materials) -> Grid:
    """What the jobs of one worker share."""
    setting = next((each for each in request.requests() if each.needs_vectors), None)
    embedder = materials.embedder(setting) if setting else None
    return make_grid(materials.benchmark, request, embedder, materials.results, home=materials.home)
