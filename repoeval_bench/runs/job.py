"""A job: what is sent to a worker, and what comes back. `jobs` hands them out.

Neither data nor plans travel, so the caller's memory does not grow with the data. A worker keeps the data of the jobs
that it sees. What a job writes is what one process writes.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from repoeval_bench.core.errors import BenchError, GrammarError, LanguageError, ending_with
from repoeval_bench.runs.materials import Materials
from repoeval_bench.runs.provenance import adopt, code_digest, code_state, versions

if TYPE_CHECKING:
    from repoeval_bench.core.object_store import ObjectStore
    from repoeval_bench.embedding.text_encoder import TextEncoder
    from repoeval_bench.runs.records import CodeState
    from repoeval_bench.runs.request import DataRequest

    Placed = Callable[[TextEncoder], TextEncoder]

Made = TypeVar("Made")
Made_co = TypeVar("Made_co", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """Which code and which packages make a run, and in which process of which machine a command was given.

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
        """That of this process, as it is on disk now."""
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
    """What a job says of its work: what it made, None where an `error` stopped it, and what that took.

    `left_out`: the error is that its chunker does not know a language of the data, which is not a failure.
    `notes` are the notices of making it. `begun` is the time by the worker's clock, in seconds since 1970. `node` is
    the name of its machine, `process` the id of its process there, whose highest memory use was `peak_bytes`.
    `texts` were embedded for it; 0 where their vectors were there.
    """

    made: Made_co | None
    error: str | None = None
    left_out: bool = False
    notes: tuple[str, ...] = ()
    begun: float = 0.0
    seconds: float = 0.0
    node: str = ""
    process: int = 0
    peak_bytes: int = 0
    texts: int = 0

    @property
    def failed(self) -> bool:
        """Whether something went wrong."""
        return self.error is not None and not self.left_out


def failed(reason: str) -> Finished[Any]:
    """The result of a job that nobody could do."""
    return Finished(made=None, error=reason)


class Job(Protocol[Made_co]):
    """Work that can be sent to a worker."""

    @property
    def needs_model(self) -> bool:
        """Whether it embeds with a model that can be loaded elsewhere."""

    def __call__(self, placed: Placed | None = None) -> Finished[Made_co]:
        """Do it; an error is part of what comes back. `placed` says where encoders compute, see `make_embedder`."""


class JobExecutor(Protocol):
    """Where jobs are done."""

    def map(self, jobs: Sequence[Job[Made]]) -> Iterator[Finished[Made]]:
        """What each job returns, in their order."""


def attempt(
    code: Code, materials: Callable[[], Materials], work: Callable[[Materials, Callable[[str], None]], Made]
) -> Finished[Made]:
    """Work in this process, or the error of it: an error of one job never ends the others.

    `work` is given the materials, and where to put notices. What it embedded is shared at its end.
    """
    begun, started = time.time(), time.perf_counter()
    notes: list[str] = []
    made, error, left_out, texts = None, None, False, 0
    try:
        code.take_over()
        held = materials()
        before = held.texts_embedded
        with ending_with(held.share):
            try:
                made = work(held, notes.append)
            finally:
                texts = held.texts_embedded - before
    except BenchError as found:
        error = str(found)
        left_out = isinstance(found, LanguageError) and not isinstance(found, GrammarError)
    except Exception as found:  # noqa: BLE001 - a fault of ours, or of a plug-in, is this job's alone
        error = f"{type(found).__name__}: {found}"
    return Finished(
        made=made if error is None else None,
        error=error,
        left_out=left_out,
        notes=tuple(notes),
        begun=begun,
        seconds=time.perf_counter() - started,
        node=platform.node(),
        process=os.getpid(),
        peak_bytes=peak_bytes(),
        texts=texts,
    )


def peak_bytes() -> int:
    """The highest memory use of this process, by Linux's count; 0 on other systems.

    What `getrusage` gives may be that of the process which started this one.
    """
    status = Path("/proc/self/status")
    if not status.is_file():
        return 0
    peak = next((line for line in status.read_text("ascii", "replace").splitlines() if line.startswith("VmHWM:")), None)
    return int(peak.split()[1]) * 1024 if peak else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """What the jobs of one command share: the data without some repositories, where things are, and the code."""

    data: DataRequest
    without: frozenset[str]
    home: Path | None
    store: ObjectStore | None
    code: Code = field(hash=False)  # it holds a dict

    @classmethod
    def here(
        cls, data: DataRequest, *, without: frozenset[str], home: Path | None, store: ObjectStore | None
    ) -> Shared:
        """That of this process; a worker may be in another folder."""
        return cls(data=data, without=without, home=home.resolve() if home else None, store=store, code=Code.here())


@dataclass(frozen=True, slots=True, kw_only=True)
class DataJob(Generic[Made_co]):
    """Work over data that a worker loads once and keeps; `work` can be pickled, and is given materials and notices."""

    shared: Shared
    needs_model: bool
    work: Callable[[Materials, Callable[[str], None]], Made_co]

    def __call__(self, placed: Placed | None = None) -> Finished[Made_co]:
        """Do it, in a worker; `placed` is hashable."""
        return attempt(self.shared.code, lambda: kept_materials(self.shared, placed), self.work)


@lru_cache(maxsize=1)
def kept_materials(shared: Shared, placed: Placed | None) -> Materials:
    """What the jobs of one worker share."""
    return Materials(shared.data, without=shared.without, home=shared.home, placed=placed, store=shared.store)
