"""Jobs: what is sent to a worker, what comes back, and a log of how each ended.

Neither data nor plans travel, so the caller's memory does not grow with the data. A worker keeps the data of the jobs
that it sees. What a job writes is what one process writes. A job's error ends it alone: it is listed with its reason
and with what tries it again.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from repoeval_bench.core.errors import (
    BenchError,
    GrammarError,
    LanguageError,
    UsageError,
    ending_with,
)
from repoeval_bench.core.notices import NOTICES, collected
from repoeval_bench.core.progress import progress
from repoeval_bench.core.spec import Spec
from repoeval_bench.runs.materials import Materials
from repoeval_bench.runs.provenance import adopt, code_digest, code_state, versions

if TYPE_CHECKING:
    from repoeval_bench.embedding.text_encoder import TextEncoder
    from repoeval_bench.runs.executors import Executor
    from repoeval_bench.runs.records import CodeState
    from repoeval_bench.runs.request import DataRequest
    from repoeval_bench.runs.results import Results

    Placed = Callable[[TextEncoder], TextEncoder]

Made = TypeVar("Made")
Made_co = TypeVar("Made_co", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """Code and packages that make a run, and the machine and process in which a command was given.

    They are the same in every worker, or runs of two kinds would be mixed. What counts of the code is its text, by its
    `digest`: a commit that leaves it as it is changes nothing.
    """

    state: CodeState
    versions: Mapping[str, str | None]
    digest: str
    node: str
    process: int

    @classmethod
    def here(cls) -> Code:
        """Return the code of this process, as it is on disk now."""
        return cls(
            state=code_state(), versions=versions(), digest=code_digest(), node=platform.node(), process=os.getpid()
        )

    def take_over(self) -> None:
        """State this code in what this process makes; a BenchError that names what differs from it here."""
        if (platform.node(), os.getpid()) == (self.node, self.process):
            return
        here = Code.here()
        other = [
            f"{name} {here.versions.get(name)} instead of {self.versions.get(name)}"
            for name in sorted(self.versions.keys() | here.versions.keys())
            if here.versions.get(name) != self.versions.get(name)
        ]
        if here.digest != self.digest and here.node == self.node:
            raise BenchError(
                "the files of repoeval_bench were changed after the command began, so this run would be of other code; "
                "run the same command again (what was stored so far is kept)"
            )
        if here.digest != self.digest:
            other.append(f"other code (commit {here.state} instead of {self.state})")
        if other:
            raise BenchError(f"{here.node} has {', '.join(other)}; install the same there")
        if here.state != self.state:
            adopt(self.state)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished(Generic[Made_co]):
    """Result of a job (None where an `error` stopped it), and what it took.

    `skipped`: the error is that its chunker does not know a language of the data, which is not a failure.
    `notices` are those of making it. `begun` is the time by the worker's clock, in seconds since 1970. `node` is
    the name of its machine, `process` the id of its process there, whose highest memory use was `peak_bytes`.
    `texts` were embedded for it; 0 where their vectors were there.
    """

    result: Made_co | None
    error: str | None = None
    skipped: bool = False
    notices: tuple[str, ...] = ()
    begun: float = 0.0
    seconds: float = 0.0
    node: str = ""
    process: int = 0
    peak_bytes: int = 0
    texts: int = 0

    @property
    def failed(self) -> bool:
        """Tell whether something went wrong."""
        return self.error is not None and not self.skipped


def failed(reason: str) -> Finished[Any]:
    """Return the result of a job that nobody could do."""
    return Finished(result=None, error=reason)


class Job(Protocol[Made_co]):
    """Work that can be sent to a worker."""

    @property
    def needs_model(self) -> bool:
        """Tell whether it embeds with a model that can be loaded in another process."""

    def __call__(self, placed: Placed | None = None) -> Finished[Made_co]:
        """Do it; an error is part of what comes back. `placed` says where encoders compute, see `make_embedder`."""


def attempt(code: Code, materials: Callable[[], Materials], work: Callable[[Materials], Made]) -> Finished[Made]:
    """Work in this process, or the error of it: an error of one job never ends the others.

    `work` is given the materials. What it embedded is shared at its end.
    """
    begun, started = time.time(), time.perf_counter()
    result, error, skipped, texts = None, None, False, 0
    with collected() as notices:
        try:
            code.take_over()
            shared = materials()
            before = shared.texts_embedded
            with ending_with(shared.share):
                try:
                    result = work(shared)
                finally:
                    texts = shared.texts_embedded - before
        except BenchError as raised:
            error = str(raised)
            skipped = isinstance(raised, LanguageError) and not isinstance(raised, GrammarError)
        except Exception as raised:  # noqa: BLE001 - a fault of ours, or of a plug-in, is this job's alone
            error = f"{type(raised).__name__}: {raised}"
    return Finished(
        result=result if error is None else None,
        error=error,
        skipped=skipped,
        notices=tuple(notices),
        begun=begun,
        seconds=time.perf_counter() - started,
        node=platform.node(),
        process=os.getpid(),
        peak_bytes=peak_bytes(),
        texts=texts,
    )


def peak_bytes() -> int:
    """Return the highest memory use of this process, by Linux's count; 0 on other systems.

    What `getrusage` gives may be that of the process which started this one.
    """
    status = Path("/proc/self/status")
    if not status.is_file():
        return 0
    peak = next((line for line in status.read_text("ascii", "replace").splitlines() if line.startswith("VmHWM:")), None)
    return int(peak.split()[1]) * 1024 if peak else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """Data, results, home and code that the jobs of one command share; the data lacks some repositories."""

    data: DataRequest
    without: frozenset[str]
    results: Results
    home: Path | None
    code: Code = field(hash=False)  # it holds a dict

    @classmethod
    def here(cls, data: DataRequest, *, without: frozenset[str], results: Results, home: Path | None) -> Shared:
        """Return what the jobs of this process share, with whole paths: a worker may be in another folder."""
        return cls(
            data=data,
            without=without,
            results=replace(results, out=results.out.resolve()),
            home=home.resolve() if home else None,
            code=Code.here(),
        )


AGAIN = "run the same command again"


@dataclass(frozen=True, slots=True, kw_only=True)
class DataJob(Generic[Made_co]):
    """Work over data that a worker loads once and keeps; `work` can be pickled, and is given materials.

    `parts` are those of its name, and `line` is the shell line that does it alone.
    """

    parts: tuple[str, ...]
    line: str = AGAIN
    shared: Shared
    needs_model: bool
    work: Callable[[Materials], Made_co]

    @property
    def name(self) -> str:
        """The parts in one line."""
        return " · ".join(self.parts)

    def __call__(self, placed: Placed | None = None) -> Finished[Made_co]:
        """Do it, in a worker; `placed` is hashable."""
        return attempt(self.shared.code, lambda: kept_materials(self.shared, placed), self.work)


@lru_cache(maxsize=1)
def kept_materials(shared: Shared, placed: Placed | None) -> Materials:
    """Return the materials that the jobs of one worker share."""
    return Materials(shared.data, without=shared.without, results=shared.results, home=shared.home, placed=placed)


@dataclass(frozen=True, slots=True)
class Done:
    """A job that came back; one that failed has an error."""

    job: DataJob[Any]
    finished: Finished[Any]


class JobLog:
    """Hands jobs to an executor and keeps how each ended; each notice of the jobs is given on once.

    `unit` is what a job makes. `begun` is when the first was handed over, in seconds since 1970, `seconds` how long
    after it the last one ended.
    """

    def __init__(self, executor: Executor, *, unit: str = "runs") -> None:
        self._executor, self.unit = executor, unit
        self._notices: set[str] = set()
        self.done: list[Done] = []
        self.total = 0
        self.begun = 0.0
        self.seconds = 0.0

    @property
    def failures(self) -> list[Done]:
        """The jobs in which something went wrong."""
        return [done for done in self.done if done.finished.failed]

    def map(self, jobs: Sequence[DataJob[Made]]) -> Iterator[Finished[Made]]:
        """Yield the result of each job, in their order; on a terminal a bar counts jobs, texts and errors."""
        if not self.total:
            self.begun = time.time()
        self.total += len(jobs)
        texts = failed = 0
        with progress(desc=self.unit, unit=self.unit, total=len(jobs)) as bar:
            for job, finished in zip(jobs, self._executor.map(jobs), strict=True):
                self.done.append(Done(job, finished))
                self.seconds = max(self.seconds, finished.begun + finished.seconds - self.begun)
                texts, failed = texts + finished.texts, failed + finished.failed
                bar.set_postfix_str(f"{texts:,} texts embedded, {failed} failed", refresh=False)
                bar.update()
                bar.clear()  # lines are printed now
                for notice in finished.notices:
                    if notice not in self._notices:
                        self._notices.add(notice)
                        NOTICES.info(notice)
                yield finished
                bar.refresh()


def check_countable(embedder: str) -> None:
    """Raise a UsageError where the cost of an embedder is limited: each worker would count its own."""
    if "cost_limit" in Spec.parse(embedder).params:
        raise UsageError(
            f"embedder {embedder}: cost_limit is counted in one process, and jobs are done in several; leave out "
            "--executor, or cost_limit"
        )
