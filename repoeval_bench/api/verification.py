"""Verify that a run folder is what it claims: run its stored request again on the data, and compare.

Copied from the folder are the request, texts that a model wrote, and a ranking by a model that is not here. Code that a
folder names is run only if it is part of this package or was allowed by name.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from repoeval_bench.analysis.verification import Verification, compare_replay, other_data
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.extension_points import extension
from repoeval_bench.dataset.shipped import edition_of
from repoeval_bench.runs.naming import check_folder, opened
from repoeval_bench.runs.replay import check_allowed, data_of, is_of_pack, replay

if TYPE_CHECKING:
    from repoeval_bench.runs.view import RunView

COMPLETERS = "repoeval_bench.completers"
"""Entry points of functions (run, settings, base, benchmark, into) that score stored completions again.

The function completes the run `base`, which only retrieves, with the texts that `run` stores.
"""


def verify(
    run: RunView | str | Path,
    source: str = "auto",
    *,
    questions: str | None = None,
    allowed: Collection[str] = (),
    home: Path | None = None,
) -> Verification:
    """Compute a run again from the data of a source and the stored request, and compare each value.

    `run` is a run, its id or its folder; `questions` the file of your own questions that it used. `allowed` are specs
    of code from outside, and of models of others, that may run, as the folder names them. UsageError: the folder names
    other plug-ins or missing ones, the run was imported, or the source's data has another name. ResultError: a file is
    missing, broken or unknown, or the run's id is not the folder's name.
    """
    run = opened(run)
    config = check_allowed(run, allowed)
    check_folder(run)
    name = run.manifest.dataset.name
    pack = edition_of(config.pack)
    if pack and is_of_pack(name, pack) and source not in {"", "auto"} and edition_of(source) != pack:
        raise UsageError(
            f"{run.run_id} is of pack {pack}, which brings its own data; leave out --source {source} (and "
            "REPOEVAL_SOURCE)"
        )
    benchmark = data_of(run, source, questions=questions, home=home)
    if benchmark.fingerprint != config.fingerprint:
        if benchmark.name != name:
            raise UsageError(f"{run.run_id} is of {name}, and --source gives {benchmark.name}; name the run's own data")
        return other_data(run, benchmark.label, benchmark.fingerprint)
    with TemporaryDirectory() as folder:
        again = replay(run, benchmark, Path(folder), allowed=allowed, home=home)
        if (settings := run.manifest.completion) is None:
            return compare_replay(run, again, benchmark.label)
        completer = extension(COMPLETERS, "complete")
        if completer is None:
            raise UsageError(
                f"{run.run_id} holds completions, and the plug-in complete of {COMPLETERS}, which scores them, is "
                f"missing; install it, or verify {settings.base}"
            )
        completed = completer(run, settings, again.run, benchmark, into=Path(folder))
        return compare_replay(run, replace(again, run=completed), benchmark.label)
