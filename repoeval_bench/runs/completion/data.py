"""What a stored run is about, loaded again: prompts and whole repositories are not in its folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from repoeval_bench.core.errors import UsageError
from repoeval_bench.dataset.home import data_home
from repoeval_bench.dataset.obtain import combination_at, obtain
from repoeval_bench.runs.parts import silent
from repoeval_bench.runs.replay import combination_of, data_of, stored_config

if TYPE_CHECKING:
    from repoeval_bench.core.benchmark import Benchmark
    from repoeval_bench.runs.view import RunView


def benchmark_of(
    run: RunView, source: str = "auto", *, home: Path | None = None, notify: Callable[[str], None] = silent
) -> Benchmark:
    """The benchmark of a run that was made here, as far as its protocol scores it.

    A UsageError where the run was imported, asks questions, or ran on other data.
    """
    config = stored_config(run)
    if config.protocol.tasks != "completion":
        raise UsageError(
            f"protocol {config.protocol.name} asks questions, and nothing is to be completed; choose a run of another "
            "protocol"
        )
    selected = data_of(run, source, home=home, notify=notify)
    if selected.fingerprint == config.fingerprint:
        return selected
    raise UsageError(
        f"{run.run_id} ran on data {run.manifest.dataset.label}, this is {selected.label}; name the run's with --source"
    )


def repository_folders(
    run: RunView, benchmark: Benchmark, source: str = "auto", *, home: Path | None = None, named: tuple[str, ...] = ()
) -> dict[str, Path]:
    """Repository -> its folder, as it was fetched; `named` are NAME=FOLDER of a user's own checkouts.

    A UsageError for a name that the benchmark does not have, and for what is not a folder.
    """
    tree = obtain(source, combination_at(source, **combination_of(run)), data_home(home)).installed.tree
    folders = {repo: tree / repo for repo in benchmark.files}
    for each in named:
        name, equals, folder = each.partition("=")
        if not equals or name not in folders or not Path(folder).is_dir():
            raise UsageError(
                f"--repository {each!r} is not NAME=FOLDER; the names are {', '.join(folders)}, and the folder must "
                "exist"
            )
        folders[name] = Path(folder)
    return folders
