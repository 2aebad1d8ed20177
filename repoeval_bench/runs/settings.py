"""Runs of several settings over the same files: each chunker cuts them once, and its chunks are not kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from repoeval_bench.core.errors import ChunkError, anew
from repoeval_bench.runs import store
from repoeval_bench.runs.executors import IN_PROCESS, Executor
from repoeval_bench.runs.experiment import Wanted, Workplace, execute_and_store, fitting, wanted_runs
from repoeval_bench.runs.parts import silent
from repoeval_bench.runs.planning import Inputs, make_inputs, plan_one
from repoeval_bench.runs.run_store import Results
from repoeval_bench.runs.view import RunView

if TYPE_CHECKING:
    from repoeval_bench.core.benchmark import Benchmark
    from repoeval_bench.core.source import SourceFile
    from repoeval_bench.retrieval.corpus import Corpus
    from repoeval_bench.runs.request import RunRequest


@dataclass(frozen=True, slots=True)
class Setting:
    """A request without its chunker, and the tasks that `select` gave for it."""

    request: RunRequest
    selected: Benchmark

    @property
    def files(self) -> tuple[tuple[SourceFile, ...], ...]:
        """What is chunked: settings with the same files can be evaluated at once."""
        return tuple(self.selected.files.values())


def evaluate_settings(
    settings: Sequence[Setting],
    chunkers: Sequence[str],
    *,
    out: Path,
    home: Path | None = None,
    notify: Callable[[str], None] = silent,
    executor: Executor = IN_PROCESS,
) -> Iterator[list[RunView] | list[ChunkError]]:
    """For each chunker the run of each setting; stored ones that this very code made are taken as they are.

    A chunker that fails has its error in the place of each run.

    The settings have the same files, and none needs vectors. Raises a BenchError in one sentence.
    """
    place = Workplace(out=out, home=home, notify=notify)
    of_settings = (wanted_runs(each.selected, each.request, chunkers, None, place) for each in settings)
    every = list(zip(*of_settings, strict=True))
    results = Results.at(out)
    stored = [[results.find(each.run_id) for each in wanted] for wanted in every]
    made: Iterator[ChunkError | None] = iter(())
    if not all(map(all, stored)):
        store.check_writable(out)
        cutters = [wanted[0].cut[0] for wanted in every]
        executor = fitting(executor, settings[0].selected, cutters, every[0][0].parts)
        inputs = make_inputs([(each.selected, each.request.resolved_protocol()) for each in settings], executor)
        jobs = []
        for wanted, runs in zip(every, stored, strict=True):
            if missing := [at for at, run in enumerate(runs) if run is None]:
                jobs.append(partial(_make, [(wanted[at], inputs[at]) for at in missing], out))
        made = executor.map(jobs)
    for wanted, runs in zip(every, stored, strict=True):
        if not all(runs) and (error := next(made)):
            yield [error] * len(wanted)
            continue
        yield [run or RunView(out / each.run_id) for each, run in zip(wanted, runs, strict=True)]


def _make(wanted: Sequence[tuple[Wanted, Inputs]], out: Path) -> ChunkError | None:
    """The runs of one chunker, one after the other; its error where it fails."""
    made: Corpus | None = None
    for each, inputs in wanted:
        try:
            planned = plan_one(inputs, each.cut, skip_errors=each.config.skip_errors, made=made)
        except ChunkError as error:
            return anew(error)
        if each.protocol.documents == "chunks":
            made = replace(planned.corpus, own={})
        execute_and_store(planned, each, inputs, out)
    return None
