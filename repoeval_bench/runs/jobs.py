"""Jobs: the messages to a worker and back.

A worker keeps the data of its jobs. A job writes the same bytes as a single process would. A job's error ends that job
alone: it is listed with its reason and with a command that tries it again.
"""

import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Self

from repoeval_bench.core.errors import BenchError, ChunkError, GrammarError, LanguageError, UsageError, nearest
from repoeval_bench.core.notices import NOTICES, collected
from repoeval_bench.core.registry import entry_points, extension
from repoeval_bench.embedding.registry import TextEncoder
from repoeval_bench.runs.executors import Executor, ProcessPool
from repoeval_bench.runs.parts import store_url
from repoeval_bench.runs.planning import Materials
from repoeval_bench.runs.provenance import code_digest, versions
from repoeval_bench.runs.request import DataRequest, ExecutionRequest
from repoeval_bench.runs.results import Results
from repoeval_bench.runs.view import RunView

Placed = Callable[[TextEncoder], TextEncoder]


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeStamp:
    """The code and packages that make a run."""

    versions: Mapping[str, str | None]
    digest: str
    """A hash of the code's text, which a commit may leave unchanged."""

    @classmethod
    def here(cls) -> Self:
        """Return the code of this process, as it is on disk now."""
        return cls(versions=versions(), digest=code_digest())

    def check(self) -> None:
        """Raise a BenchError that names each difference to the code of this process."""
        here = CodeStamp.here()
        other = [
            f"{name} {here.versions.get(name)} instead of {self.versions.get(name)}"
            for name in sorted(self.versions.keys() | here.versions.keys())
            if here.versions.get(name) != self.versions.get(name)
        ]
        other += ["other code"] if here.digest != self.digest else []
        if other:
            raise BenchError(
                f"{platform.node()} has {', '.join(other)}; install the same there, and run the same command again"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The result of a job."""

    run_id: str | None = None
    """The id of its run; None if an error stopped it."""
    error: ChunkError | None = None
    """A LanguageError says that its chunker does not know a language of the data, which is no failure."""
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """The data, results, home and code that all jobs of a command share; the data is `without` some repositories."""

    data: DataRequest
    without: frozenset[str]
    results: Results
    home: Path | None
    code: CodeStamp = field(hash=False)  # a dict in it cannot be hashed

    @classmethod
    def of(cls, data: DataRequest, materials: Materials) -> Self:
        """Return what the jobs of this process share, with absolute paths: a worker may be in another folder."""
        return cls(
            data=data,
            without=materials.without,
            results=replace(materials.results, out=materials.results.out.resolve()),
            home=materials.home.resolve() if materials.home else None,
            code=CodeStamp.here(),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A run that a worker makes; the worker loads the data once and keeps it."""

    # Neither data nor plans are sent, so the caller's memory does not grow with the data.
    shared: Shared
    needs_model: bool
    """Whether it embeds with a model that another process can load."""
    make: Callable[[Materials], RunView]
    """It can be pickled."""

    def __call__(self, placed: Placed | None = None) -> Finished:
        """Make the run in this process; an error is part of the result.

        `placed`, which is hashable, decides where encoders compute, see `make_embedder`.
        """
        run_id, error = None, None
        with collected() as notices:
            try:
                # A command would else mix runs of two versions.
                self.shared.code.check()
                materials = cached_materials(self.shared, placed)
                try:
                    run_id = self.make(materials).run_id
                finally:
                    materials.share()
            except BenchError as raised:  # not raised again: it would end the other jobs
                # A grammar that is not installed is a failure, as another machine may have it.
                is_unknown = isinstance(raised, LanguageError) and not isinstance(raised, GrammarError)
                error = (LanguageError if is_unknown else ChunkError)(str(raised))
            except Exception as raised:  # noqa: BLE001 - a bug, here or in a plug-in, ends this job alone
                error = ChunkError(f"{type(raised).__name__}: {raised}")
        return Finished(run_id=None if error else run_id, error=error, notices=tuple(notices))


@lru_cache(maxsize=1)
def cached_materials(shared: Shared, placed: Placed | None) -> Materials:
    """Return the materials that the jobs of one worker share."""
    return Materials(shared.data, without=shared.without, results=shared.results, home=shared.home, placed=placed)


class Workers:
    """An executor whose jobs load the data themselves; a notice of several jobs is passed on once."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def map(self, jobs: Sequence[Job]) -> Iterator[Finished]:
        """Yield the result of each job, in their order."""
        logged: set[str] = set()
        for finished in self._executor.map(jobs):
            for notice in finished.notices:
                if notice not in logged:
                    logged.add(notice)
                    NOTICES.info(notice)
            yield finished


LOCAL = "local"

EXECUTORS = "repoeval_bench.executors"
"""The group of entry points that name executors of plug-ins."""


@contextmanager
def executor_of(execution: ExecutionRequest, *, out: Path, home: Path | None) -> Iterator[Executor | Workers]:
    """Yield workers on the executor that `execution` names; the pool of this machine if it names none."""
    if execution.executor is None:
        with ProcessPool() as pool:
            yield pool
        return
    with choose_executor(execution, home, store_url(out)) as executor:
        yield Workers(executor)


def check_execution(execution: ExecutionRequest) -> None:
    """Raise a UsageError for an executor that is not possible; nothing is started."""
    if execution.executor is not None:
        choose_executor(execution)


def choose_executor(
    execution: ExecutionRequest, home: Path | None = None, store: str | None = None
) -> AbstractContextManager[Executor]:
    """Return the executor that `execution` names, not yet entered.

    UsageError if it is unknown, or if a package that it needs is missing.
    """
    name, _, target = (execution.executor or "").partition(":")
    if name == LOCAL:
        if not target.isdecimal() or not 1 <= int(target) <= 10_000:
            raise UsageError(f"--executor {execution.executor}: give a number of processes, such as local:4")
        return ProcessPool(int(target))
    factory = extension(EXECUTORS, name)
    if factory is None:
        raise UsageError(nearest("executor", name, [LOCAL, *entry_points(EXECUTORS)]))
    executor: AbstractContextManager[Executor] = factory(target or None, home=home, store=store)
    return executor
