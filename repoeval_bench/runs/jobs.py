"""Whole runs as jobs: a job is a request, and what it returns is the name of the run's folder.

Neither data nor plans travel, so the caller's memory does not grow with the number of runs. A worker keeps the data of
the requests that it sees. What a job writes is what one process writes.
"""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass, replace
from functools import lru_cache
from time import perf_counter
from typing import TYPE_CHECKING, Protocol

from repoeval_bench.core.errors import BenchError, ResultError
from repoeval_bench.core.object_store import ObjectStore
from repoeval_bench.core.progress import progress
from repoeval_bench.runs.experiment import make_run
from repoeval_bench.runs.materials import Materials, left_out, tell_unread
from repoeval_bench.runs.parts import RESULTS, silent
from repoeval_bench.runs.problems import Problems, check_requests
from repoeval_bench.runs.provenance import code_state, versions
from repoeval_bench.runs.request import DataRequest, by_setting
from repoeval_bench.runs.run_store import Results
from repoeval_bench.runs.shell import eval_line
from repoeval_bench.runs.store import check_writable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from repoeval_bench.embedding.text_encoder import TextEncoder
    from repoeval_bench.runs.records import CodeState
    from repoeval_bench.runs.request import RunRequest
    from repoeval_bench.runs.view import RunView

    Placed = Callable[[TextEncoder], TextEncoder]


@dataclass(frozen=True, slots=True)
class Code:
    """Which code and which packages make a run: the same on every machine, or runs of two kinds would be mixed."""

    state: CodeState
    versions: Mapping[str, str | None]

    @classmethod
    def here(cls) -> Code:
        """That of this process."""
        return cls(code_state(), versions())

    def check_same(self) -> None:
        """A BenchError that names what differs from it in this process."""
        here = Code.here()
        other = [
            f"{name} {here.versions.get(name)} instead of {self.versions.get(name)}"
            for name in sorted(self.versions.keys() | here.versions.keys())
            if here.versions.get(name) != self.versions.get(name)
        ]
        if here.state != self.state:
            other.append(f"commit {here.state.commit} instead of {self.state.commit}")
        if other:
            raise BenchError(f"{platform.node()} has {', '.join(other)}; install the same there")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """What a job says of its run: its id, None where an `error` stopped it. `notes` are the notices of making it."""

    run_id: str | None
    error: str | None
    notes: tuple[str, ...]
    seconds: float
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunJob:
    """Makes the run of one checked request, or finds it; called in a worker.

    `without` are the repositories that a limit passes over, the same for all jobs of an experiment.
    """

    request: RunRequest
    without: frozenset[str]
    results: Results
    home: Path | None
    reuse: bool
    code: Code

    @property
    def needs_vectors(self) -> bool:
        """Whether the run embeds anything."""
        return self.request.needs_vectors

    def __call__(self, placed: Placed | None = None) -> Finished:
        """The name of the run, or the error of making it: an error of one job never ends the others.

        `placed` says where encoders compute, see `make_embedder`; it is hashable.
        """
        started = perf_counter()
        notes: list[str] = []
        run_id = error = None
        try:
            self.code.check_same()
            run_id = self._make(notes.append, placed)
        except BenchError as found:
            error = str(found)
        except Exception as found:  # noqa: BLE001 - a fault of ours, or of a plug-in, is this job's alone
            error = f"{type(found).__name__}: {found}"
        return Finished(
            run_id=run_id,
            error=error,
            notes=tuple(notes),
            seconds=perf_counter() - started,
            where=f"{platform.node()}:{os.getpid()}",
        )

    def _make(self, notify: Callable[[str], None], placed: Placed | None) -> str:
        data = DataRequest(**{name: getattr(self.request, name) for name in DataRequest.model_fields})
        materials = kept_materials(data, self.without, self.home, placed, self.results.store)
        run = make_run(self.request, materials, self.results, reuse=self.reuse, notify=notify)
        materials.share()
        return run.run_id


@lru_cache(maxsize=1)
def kept_materials(
    data: DataRequest, without: frozenset[str], home: Path | None, placed: Placed | None, store: ObjectStore | None
) -> Materials:
    """What the jobs of one worker share."""
    return Materials(data, without=without, home=home, placed=placed, store=store)


@dataclass(frozen=True, slots=True)
class Failure:
    """A run that was not made, why, and what tries it again."""

    request: RunRequest
    error: str
    line: str


class JobExecutor(Protocol):
    """Where jobs are made."""

    def map(self, jobs: Sequence[RunJob]) -> Iterator[Finished]:
        """What each job returns, in their order."""
        ...


class RunJobs:
    """Requests whose runs are made as jobs of an executor; used like an `Experiment`.

    Everything that is wrong with the requests, and `problems` that were found before, is one UsageError before the
    first job. `notify` receives each notice of the jobs once. `store` is a URL at which every run and every vector is
    put and looked for too.
    """

    def __init__(
        self,
        requests: Sequence[RunRequest],
        executor: JobExecutor,
        *,
        out: Path = RESULTS,
        home: Path | None = None,
        notify: Callable[[str], None] = silent,
        problems: Problems | None = None,
        without: frozenset[str] | None = None,
        store: str | None = None,
    ) -> None:
        problems = problems or Problems()
        check_requests(requests, home, problems)
        problems.check()
        check_writable(out)
        tell_unread(requests, notify)
        self._members = by_setting(requests)
        self._executor, self._notify = executor, notify
        self._results = Results(out, ObjectStore(store) if store else None)
        self._out, self._home = out, home
        self._without = left_out(requests) if without is None else without
        self._said: set[str] = set()
        self._coming: Iterator[tuple[RunRequest, Finished]] | None = None
        self.failures: list[Failure] = []

    @property
    def settings(self) -> list[RunRequest]:
        """The requests without their chunkers, each once."""
        return list(self._members)

    def run(self, setting: RunRequest, *, reuse: bool = True) -> list[RunView | None]:
        """The runs of a setting, made (or with `reuse` found), in the order of their chunkers; None for a failed one.

        Settings are asked for in their order. The jobs of all are handed over with the first.
        """
        if self._coming is None:
            self._coming = self._made(reuse=reuse)
        found: list[RunView | None] = []
        for request in self._members[setting]:
            made, finished = next(self._coming)
            assert made is request, "settings are asked for in their order"
            if finished.run_id is None:
                self._fail(request, finished)
                found.append(None)
                continue
            run = self._results.open(finished.run_id)
            self._notify(f"{run.metrics.chunker} -> {run.folder}")
            found.append(run)
        return found

    def check(self) -> None:
        """A ResultError that lists the runs that were not made, each with its reason and the line that tries again."""
        if not self.failures:
            return
        total = sum(map(len, self._members.values()))
        lines = [f"{len(self.failures)} of {total} runs could not be made:"]
        lines += [f"{each.error}\n    {each.line}" for each in self.failures]
        raise ResultError("\n  ".join(lines))

    def _made(self, *, reuse: bool) -> Iterator[tuple[RunRequest, Finished]]:
        requests = [request for members in self._members.values() for request in members]
        code = Code.here()
        jobs = [
            RunJob(
                request=request,
                without=self._without,
                # A worker may be in another folder.
                results=replace(self._results, out=self._out.resolve()),
                home=self._home.resolve() if self._home else None,
                reuse=reuse,
                code=code,
            )
            for request in requests
        ]
        with progress(desc="runs", unit="runs", total=len(jobs)) as bar:
            for request, finished in zip(requests, self._executor.map(jobs), strict=True):
                bar.update()
                for note in finished.notes:
                    if note not in self._said:
                        self._said.add(note)
                        self._notify(note)
                yield request, finished

    def _fail(self, request: RunRequest, finished: Finished) -> None:
        name = " · ".join([request.chunker or "no chunker", *request.combination().values()])
        line = "run the same command again"
        if stands_alone(request, self._without):
            line = f"try it again: {eval_line(request, out=self._out, home=self._home)}"
        self.failures.append(Failure(request, f"{name}: {finished.error}", line))


def stands_alone(request: RunRequest, without: frozenset[str]) -> bool:
    """Whether an `eval` of the request alone is over the tasks that it is over among others."""
    return request.limit is None or left_out([request]) == without
