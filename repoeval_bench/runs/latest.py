"""Which runs were compared last, so that a report needs no names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from repoeval_bench.core.errors import ResultError, UsageError, os_reason
from repoeval_bench.core.files import write_atomic
from repoeval_bench.core.json_reader import faults_as, parse, read_document
from repoeval_bench.runs.naming import find_run
from repoeval_bench.runs.records import Record
from repoeval_bench.runs.store import pretty

if TYPE_CHECKING:
    from repoeval_bench.runs.view import RunView

NAME = "compared.json"


class _Compared(Record):
    """The content of the file."""

    runs: list[str]


def remember(runs: Sequence[RunView], out: Path, notify: Callable[[str], None]) -> None:
    """Note the runs in the results folder, by id where they are in it; where none is, it is not theirs."""
    here = out.resolve()
    if all(run.folder.resolve().parent != here for run in runs):
        return
    names = [run.run_id if run.folder.resolve().parent == here else str(run.folder.resolve()) for run in runs]
    try:
        write_atomic(out / NAME, pretty(_Compared(runs=names)))
    except OSError as error:
        # Stored runs are compared all the same; only `report` needs their names.
        notify(f"{out / NAME} cannot be written ({os_reason(error)}), so report needs the names of the runs")


def recall(out: Path) -> list[RunView]:
    """The runs that were compared last; a UsageError where there are none, or one of them is gone."""
    path = out / NAME
    if not path.is_file():
        raise UsageError(f"no RUN was named and nothing was compared in {out} yet; name runs, or compare some first")
    with faults_as(ResultError, path, "name the runs, or compare them again"):
        names = parse(read_document(path), _Compared).runs
    return [find_run(name, out) for name in names]
