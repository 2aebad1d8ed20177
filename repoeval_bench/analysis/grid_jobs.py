"""A sensitivity grid as jobs of an executor: a job scores one chunker in every cell, in a worker that has the data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from repoeval_bench.analysis.grid import make_grid
from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.embedding.device import settled
from repoeval_bench.runs.executors import IN_PROCESS
from repoeval_bench.runs.job import Code, attempt, kept_materials
from repoeval_bench.runs.jobs import Named, check_countable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from repoeval_bench.core.object_store import ObjectStore
    from repoeval_bench.runs.grid import Grid
    from repoeval_bench.runs.grid_store import Cell, Scores
    from repoeval_bench.runs.job import Finished, Placed
    from repoeval_bench.runs.jobs import JobLog
    from repoeval_bench.runs.materials import Materials
    from repoeval_bench.runs.request import DataRequest, GridRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class GridJob:
    """Scores one chunker in every cell of a checked grid; what is computed is kept in `out` as one process keeps it."""

    data: DataRequest
    request: GridRequest
    chunker: str
    without: frozenset[str]
    out: Path
    home: Path | None
    store: ObjectStore | None
    code: Code

    @property
    def needs_vectors(self) -> bool:
        """Whether a retriever or a measure asks for vectors."""
        return self.request.embedder_spec() is not None

    def __call__(self, placed: Placed | None = None) -> Finished[Mapping[Cell, Scores]]:
        """The scores in every cell; called in a worker."""
        return attempt(
            self.code, lambda: kept_materials(self.data, self.without, self.home, placed, self.store), self._score
        )

    def _score(self, materials: Materials, _: Callable[[str], None]) -> Mapping[Cell, Scores]:
        (scores,) = _kept_grid(self.request, materials, self.out).score_all([make_chunker(self.chunker)], IN_PROCESS)
        return scores


@lru_cache(maxsize=1)
def _kept_grid(request: GridRequest, materials: Materials, out: Path) -> Grid:
    """What the jobs of one worker share."""
    setting = next((each for each in request.requests() if each.needs_vectors), None)
    embedder = materials.embedder(setting) if setting else None
    return make_grid(materials.benchmark, request, embedder, out, home=materials.home)


@dataclass(frozen=True, slots=True, kw_only=True)
class GridJobs:
    """Scores chunkers as jobs; given to `sensitivity` as `elsewhere`."""

    data: DataRequest
    log: JobLog
    without: frozenset[str]
    out: Path
    home: Path | None
    store: ObjectStore | None = None

    def __call__(self, request: GridRequest, chunkers: Sequence[str]) -> Iterator[Mapping[Cell, Scores]]:
        """The scores of each chunker in turn; a ResultError lists those that failed, once the others are done."""
        code = Code.here()
        check_countable(request.embedder)
        if spec := request.embedder_spec():  # each machine would take `auto` for another device
            request = request.model_copy(update={"embedder": settled(spec), "precision": "auto", "device": "cpu"})
        jobs = [
            GridJob(
                data=self.data,
                request=request,
                chunker=chunker,
                without=self.without,
                out=self.out.resolve(),
                home=self.home.resolve() if self.home else None,
                store=self.store,
                code=code,
            )
            for chunker in chunkers
        ]
        made = [each.made for each in self.log.map([Named((chunker,)) for chunker in chunkers], jobs)]
        self.log.check()
        return (scores for scores in made if scores is not None)
