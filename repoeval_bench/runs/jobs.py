"""Runs as jobs of an executor: handed out, gathered in their order, and a log of how each ended.

A job's error ends it alone. It is listed with its reason and with what tries it again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from repoeval_bench.core.errors import LanguageError, ResultError, UsageError, all_mistakes
from repoeval_bench.core.progress import progress
from repoeval_bench.core.spec import Spec
from repoeval_bench.embedding.choice import has_model
from repoeval_bench.runs.asked import Asked
from repoeval_bench.runs.experiment import make_run
from repoeval_bench.runs.job import DataJob, Finished, Job, JobExecutor, Shared
from repoeval_bench.runs.materials import Materials, left_out, tell_unread
from repoeval_bench.runs.parts import RESULTS, left_out_line, shown_place, silent
from repoeval_bench.runs.problems import Problems, check_requests
from repoeval_bench.runs.request import RunRequest, eval_line
from repoeval_bench.runs.run_store import Results
from repoeval_bench.runs.store import check_writable

if TYPE_CHECKING:
    from repoeval_bench.runs.view import RunView

Made = TypeVar("Made")

AGAIN = "run the same command again"


@dataclass(frozen=True, slots=True)
class Named:
    """A job as people know it: the parts of its name, and the shell line that does it alone."""

    parts: tuple[str, ...]
    line: str = AGAIN

    @property
    def name(self) -> str:
        """All in one."""
        return " · ".join(self.parts)


@dataclass(frozen=True, slots=True)
class Done:
    """A job that came back; one that failed has an error."""

    job: Named
    finished: Finished[Any]


class JobLog:
    """Hands jobs to an executor and keeps how each ended; `notify` receives each notice of the jobs once.

    `unit` is what a job makes. `begun` is when the first was handed over, in seconds since 1970, `seconds` how long
    after it the last one ended.
    """

    def __init__(self, executor: JobExecutor, notify: Callable[[str], None] = silent, *, unit: str = "runs") -> None:
        self._executor, self.notify, self.unit = executor, notify, unit
        self._said: set[str] = set()
        self.done: list[Done] = []
        self.total = 0
        self.begun = 0.0
        self.seconds = 0.0

    @property
    def failures(self) -> list[Done]:
        """The jobs in which something went wrong."""
        return [each for each in self.done if each.finished.failed]

    def map(self, named: Sequence[Named], jobs: Sequence[Job[Made]]) -> Iterator[Finished[Made]]:
        """What each job says, in their order; on a terminal a bar counts jobs, texts and errors, with the time left."""
        if not self.total:
            self.begun = time.time()
        self.total += len(jobs)
        texts = failed = 0
        with progress(desc=self.unit, unit=self.unit, total=len(jobs)) as bar:
            for each, finished in zip(named, self._executor.map(jobs), strict=True):
                self.done.append(Done(each, finished))
                self.seconds = max(self.seconds, finished.begun + finished.seconds - self.begun)
                texts, failed = texts + finished.texts, failed + finished.failed
                bar.set_postfix_str(f"{texts:,} texts embedded, {failed} failed", refresh=False)
                bar.update()
                bar.clear()  # lines are printed now
                for note in finished.notes:
                    if note not in self._said:
                        self._said.add(note)
                        self.notify(note)
                yield finished
                bar.refresh()

    def check(self) -> None:
        """A ResultError that lists the jobs that failed, each with its reason and what tries it again.

        A LanguageError where every job was left out.
        """
        if self.done and all(each.finished.left_out for each in self.done):
            raise LanguageError(all_mistakes(str(each.finished.error) for each in self.done))
        if not (failures := self.failures):
            return
        lines = [f"{len(failures)} of {self.total} {self.unit} failed:"]
        lines += [
            f"{each.job.name}: {each.finished.error}\n    "
            + (each.job.line if each.job.line == AGAIN else f"try it again: {each.job.line}")
            for each in failures
        ]
        raise ResultError("\n  ".join(lines))


class RunJobs(Asked):
    """Requests whose runs are made as jobs, handed out by a `log`; used like an `Experiment`.

    Everything that is wrong with the requests, and `problems` that were found before, is one UsageError before the
    first job. Where `out` is the cache of a store, every run and every vector is put there and looked for there too. Of
    more tasks than `sample` so many are asked.

    Chunkers that do not know a language of the data are `left_out`, once a worker has said so.
    """

    def __init__(
        self,
        requests: Sequence[RunRequest],
        log: JobLog,
        *,
        out: Path = RESULTS,
        home: Path | None = None,
        problems: Problems | None = None,
        sample: int | None = None,
    ) -> None:
        problems = problems or Problems()
        check_requests(requests, home, problems)
        for request in requests:
            with problems.about("embedder", request.embedder):
                check_countable(request.embedder)
        problems.check()
        check_writable(out)
        tell_unread(requests, log.notify)
        super().__init__([each.on_this_device(log.notify) for each in requests])
        self.log, self._sample = log, sample
        self._results = Results.at(out)
        self._out, self._home = out, home
        self._without = left_out(requests)
        self._coming: Iterator[tuple[RunRequest, Finished[str]]] | None = None

    def run(self, setting: RunRequest, *, reuse: bool = True) -> list[RunView | None]:
        """The runs of a setting, made (or with `reuse` found), in the order of their chunkers; None for one not made.

        Settings are asked for in their order. The jobs of all are handed over with the first.
        """
        return list(self.each(setting, reuse=reuse))

    def each(self, setting: RunRequest, *, reuse: bool = True) -> Iterator[RunView | None]:
        """The runs of a setting, each when it and those before it are there."""
        if self._coming is None:
            self._coming = self._made(reuse=reuse)
        for request in self._members[setting]:
            made, finished = next(self._coming)
            assert made is request, "settings are asked for in their order"
            if finished.left_out and request.chunker not in self.left_out:
                self.left_out[str(request.chunker)] = str(finished.error)
                self.log.notify(left_out_line(str(request.chunker), str(finished.error)))
            if finished.failed:
                self._fail(request, str(finished.error))
            if finished.made is None:
                yield None
                continue
            run = self._results.open(finished.made)
            self.log.notify(f"{run.metrics.chunker} -> {shown_place(run.folder)}")
            yield run

    def check(self) -> None:
        """A ResultError that lists the runs that were not made; see `JobLog.check`."""
        self.log.check()

    def _made(self, *, reuse: bool) -> Iterator[tuple[RunRequest, Finished[str]]]:
        requests = [request for members in self._members.values() for request in members]
        results = replace(self._results, out=self._out.resolve())
        shared = Shared.here(requests[0].data(), without=self._without, home=self._home, store=results.store)
        jobs = [
            DataJob(
                shared=shared,
                needs_model=request.needs_vectors and has_model(request.embedder),
                work=partial(_make, request, results, reuse=reuse, sample=self._sample),
            )
            for request in requests
        ]
        return zip(requests, self.log.map([self._named(each) for each in requests], jobs), strict=True)

    def _named(self, request: RunRequest) -> Named:
        parts = (request.chunker or "no chunker", *request.combination().values())
        if self._sample is not None or not stands_alone(request, self._without):
            return Named(parts)
        return Named(parts, eval_line(request, out=self._out, home=self._home))


def _make(
    request: RunRequest,
    results: Results,
    materials: Materials,
    notify: Callable[[str], None],
    *,
    reuse: bool,
    sample: int | None,
) -> str:
    """The id of the run of a checked request, made or found."""
    return make_run(request, materials, results, reuse=reuse, notify=notify, sample=sample).run_id


def check_countable(embedder: str) -> None:
    """A UsageError where the cost of an embedder is limited: each worker would count its own."""
    if "cost_limit" in Spec.parse(embedder).params:
        raise UsageError(
            f"embedder {embedder}: cost_limit is counted in one process, and jobs are done in several; leave out "
            "--executor, or cost_limit"
        )


def stands_alone(request: RunRequest, without: frozenset[str]) -> bool:
    """Whether an `eval` of the request alone is over the tasks that it is over among others."""
    return request.limit is None or left_out([request]) == without
