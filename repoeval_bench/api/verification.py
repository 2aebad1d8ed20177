"""Verify a stored run: run its request again on the data, and compare ranking, judgements, scores and id."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from repoeval_bench.analysis.verification import Verification, compare_runs
from repoeval_bench.core.errors import UsageError
from repoeval_bench.runs.naming import opened
from repoeval_bench.runs.replay import check_allowed, data_of, run_again, same_data, stored_config, tolerance_of

if TYPE_CHECKING:
    from repoeval_bench.runs.view import RunView


def verify(
    run: RunView | str | Path,
    source: str = "auto",
    *,
    questions: str | None = None,
    allowed: Collection[str] = (),
    home: Path | None = None,
) -> Verification:
    """Run a stored request again on the data of a source, and compare it with the stored run.

    `run` is a run, its id or its folder; `questions` the file of your own questions that it used. `allowed` are specs
    of code, models and servers of others that may run, as the folder names them. UsageError: the folder names others,
    the run was imported or completed by a model, or the data is not the run's. ResultError: a file is missing or
    broken.
    """
    run = opened(run)
    if done := run.manifest.completion:
        raise UsageError(f"{run.run_id} holds completions of a model, which are not made again; verify {done.base}")
    check_allowed(run, allowed)
    benchmark = same_data(run, data_of(run, source, questions=questions, home=home))
    with TemporaryDirectory() as folder:
        again = run_again(run, benchmark, Path(folder), home=home)
        return compare_runs(run, again, benchmark.label, tolerance_of(stored_config(run)))
