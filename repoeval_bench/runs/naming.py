"""Find stored runs by a folder, an id or a part of it, a chunker, an age, or as those that were compared last."""

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.core.errors import ResultError, SpecError, UsageError, nearest, of_each, os_reason
from repoeval_bench.core.files import write_atomic
from repoeval_bench.core.json_reader import faults_as, parse, read_document
from repoeval_bench.core.notices import NOTICES
from repoeval_bench.core.spec import Spec
from repoeval_bench.core.words import count, few
from repoeval_bench.runs.parts import RESULTS, shown_results
from repoeval_bench.runs.records import MANIFEST, METRICS, PER_QUERY, RETRIEVED, Record
from repoeval_bench.runs.request import RunRequest
from repoeval_bench.runs.store import pretty
from repoeval_bench.runs.view import RunView

NEWEST = "latest"
"""The name of the newest run; `@2` is the one before it."""

COMPARED = "compared.json"
"""The file of a results folder that names the runs which were compared last."""

RECOMMENDED = "recommended.json"
"""The file of a results folder that holds the last recommendation from its runs."""

# A folder with one of these files is that of a run, finished or not.
_FILES = (MANIFEST, METRICS, PER_QUERY, RETRIEVED)

# The most run ids that an error names; a folder may have hundreds.
_SHOWN = 3


def stored_runs(results: Path) -> list[RunView]:
    """Return the runs of a folder, the newest first, without broken ones and those of another version."""
    runs = []
    for path in results.glob(f"*/{MANIFEST}"):
        with suppress(ResultError):
            run = RunView.open(path.parent)
            runs.append(((run.manifest.created, path.stat().st_mtime_ns, run.run_id), run))
    return [run for _, run in sorted(runs, key=lambda aged: aged[0], reverse=True)]


def unfinished_runs(results: Path, stored: Sequence[RunView]) -> dict[str, str]:
    """Return the folders in `results` with a part of a run: name -> what is wrong with it; `stored`: `stored_runs`."""
    opened = {run.folder: run for run in stored}
    unfinished = {}
    for folder in sorted(path for path in results.glob("*/") if any((path / name).is_file() for name in _FILES)):
        if not (folder / MANIFEST).is_file():
            unfinished[folder.name] = f"no {MANIFEST}, which is written last"
            continue
        try:
            _ = (opened.get(folder) or RunView.open(folder)).metrics
        except ResultError as error:
            unfinished[folder.name] = str(error)
    return unfinished


def find_run(name: str, results: Path | str = RESULTS) -> RunView:
    """Find a run in a folder of runs by folder, id, age (`latest`, `@2`), chunker, or a part that no other id has.

    UsageError if the name fits no run or several, ResultError if the run is of another version.
    """
    results = Path(results)
    for folder in (Path(name), results / name):
        if (folder / MANIFEST).is_file():
            return RunView.open(folder)
    if ("/" in name and ":" not in name) or (name and (results / name).is_dir()):
        lacks = f"has no {MANIFEST}, so it is not a finished run" if Path(name).exists() else "is not there"
        raise UsageError(f"{name} {lacks}; name a run's folder")
    runs = stored_runs(results)
    if not runs:
        raise UsageError(
            f"no run {name!r}: {shown_results(results)} has no runs yet; make one with repoeval-bench eval"
        )
    if name == NEWEST or re.fullmatch(r"@[1-9]\d{0,8}", name):
        age = 1 if name == NEWEST else int(name[1:])
        if age <= len(runs):
            return runs[age - 1]
        holds = f"{shown_results(results)} holds {count(len(runs), 'run')}"
        raise UsageError(f"no run {name!r}: {holds}; the oldest is @{len(runs)}")
    spec = full_spec(name)
    fitting = (
        [run for run in runs if spec and _chunker(run) == spec]
        or [run for run in runs if is_chunker(name, _chunker(run))]
        or [run for run in runs if name and name in run.run_id]
    )
    plain = [run for run in fitting if run.manifest.completion is None]
    if len(plain) == 1 or len(fitting) == 1:
        return (plain or fitting)[0]
    if fitting:
        raise UsageError(_several(name, fitting, results))
    names = [NEWEST, *(name_of for run in runs for name_of in (run.run_id, _chunker(run).partition(":")[0]))]
    raise UsageError(
        nearest("run", name, names, "name a folder, an id, a chunker, or latest (see repoeval-bench runs)")
    )


def find_runs(names: Iterable[str], results: Path) -> list[RunView]:
    """Return the run of each name; one UsageError lists every name without a run."""
    return of_each(lambda name: find_run(name, results), names)


def full_spec(name: str) -> str | None:
    """Return a chunker's spec with the defaults of all options that the name leaves out; None for any other name."""
    try:
        return make_chunker(name).spec
    except UsageError:  # not a chunker, or one whose extra is missing
        return None


def opened(run: RunView | str | Path, results: Path = RESULTS) -> RunView:
    """Return a run, or find it in `results` by its name or path (`find_run`); UsageError for any other object."""
    if isinstance(run, RunView):
        return run
    if not isinstance(run, str | Path):
        raise UsageError(f"a run is stored: give its folder, its id or a RunView; got {type(run).__name__}")
    return find_run(str(run), results)


def is_chunker(typed: str, full: str) -> bool:
    """Return whether a spec as typed is the full one without some options: `fixed:max_nws=800` and `…,offset=0`."""
    try:
        typed_spec, full_spec = Spec.parse(typed), Spec.parse(full)
    except SpecError:  # a run's id or folder is not a spec
        return False
    same = (typed_spec.name, typed_spec.target) == (full_spec.name, full_spec.target)
    return same and typed_spec.params.items() <= full_spec.params.items()


def _chunker(run: RunView) -> str:
    """Return the run's chunker; "" for an imported run, which fits no spec."""
    config = run.manifest.config
    return config.chunker if config else ""


def _several(name: str, runs: Sequence[RunView], results: Path) -> str:
    """Return the message about a name that fits several runs, with what differs between their requests."""
    configs = [run.manifest.config for run in runs]
    fields = [name for name in RunRequest.model_fields if len({getattr(one, name, None) for one in configs}) > 1]
    lines = [f"{name!r} fits {len(runs)} runs in {shown_results(results)}; give more of the id:"]
    for run, config in list(zip(runs, configs, strict=True))[:_SHOWN]:
        values = {field: getattr(config, field, None) for field in fields}
        shown = [
            f"{field}={few([*map(str, value)], _SHOWN) if isinstance(value, tuple) else value}"
            for field, value in values.items()
            if value
        ]
        lines.append(": ".join(filter(None, [run.run_id, ", ".join(shown)])))
    more = [f"and {len(runs) - _SHOWN} more; see repoeval-bench runs"] if len(runs) > _SHOWN else []
    return "\n  ".join([*lines, *more])


class _Compared(Record):
    """The content of `COMPARED`; `recommended`: `recommend` ranked the runs, and its answer is beside them."""

    runs: list[str]
    recommended: bool = False


def remember_compared(runs: Sequence[RunView], out: Path, *, recommended: bool = False) -> bool:
    """Write the names of compared runs to the results folder, unless all are in other folders; False if that fails.

    A run in the folder is named by its id, another one by its path.
    """
    folders = [run.folder.resolve() for run in runs]
    here = out.resolve()
    if all(folder.parent != here for folder in folders):
        return True
    names = [folder.name if folder.parent == here else str(folder) for folder in folders]
    try:
        write_atomic(out / COMPARED, pretty(_Compared(runs=names, recommended=recommended)))
    except OSError as error:
        # Only `report` needs the names.
        NOTICES.info(f"{out / COMPARED} cannot be written ({os_reason(error)}), so report needs the names of the runs")
        return False
    return True


def compared_runs(out: Path) -> list[RunView]:
    """Return the runs that were compared last; UsageError if there are none, or one of them was removed."""
    return find_runs(_compared(out).runs, out)


def is_recommended(out: Path) -> bool:
    """Return whether `recommend` was the last to compare runs; UsageError if nothing was compared."""
    return _compared(out).recommended


def _compared(out: Path) -> _Compared:
    path = out / COMPARED
    if not path.is_file():
        raise UsageError(
            f"no RUN was named and nothing was compared in {shown_results(out)} yet; name runs, or compare some first"
        )
    with faults_as(ResultError, path, "name the runs, or compare them again"):
        return parse(read_document(path), _Compared)
