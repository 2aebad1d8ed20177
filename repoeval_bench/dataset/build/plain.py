"""A folder of code as a benchmark without tasks: for questions about it, which need no pack."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from repoeval_bench.core.benchmark import Benchmark
from repoeval_bench.core.errors import DatasetError
from repoeval_bench.dataset.assembly import fingerprint
from repoeval_bench.dataset.build.gather import Gathered, gather, no_code
from repoeval_bench.dataset.build.origin import open_origin
from repoeval_bench.dataset.pack import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Callable

    from repoeval_bench.dataset.repoeval import Combination

FOLDER = "folder"
"""The source of such a benchmark."""


def is_code_folder(source: str) -> bool:
    """Whether a source is a folder that is neither a pack nor one of archives, and not empty."""
    path = Path(source).expanduser()
    if not source or not path.is_dir() or (path / MANIFEST).is_file() or any(path.glob("*.zip")):
        return False
    return any(path.iterdir())


def load_folder(source: str, combination: Combination, notify: Callable[[str], None]) -> Benchmark:
    """The code of a folder by the rules of packs, without tasks; a DatasetError where it has none."""
    origin = open_origin(source, Path())
    found = Gathered()
    files = tuple(each.file for each in gather(origin, (), found) if each.file is not None)
    if not files:
        raise DatasetError(no_code(origin, found, ()))
    notify(f"{source}: {found.told}")
    files = tuple(sorted(files, key=lambda file: file.path))
    return Benchmark(
        name=f"{FOLDER}-{origin.name}-{combination}",
        fingerprint=fingerprint((), {origin.name: files}),
        level=combination.level,
        tasks=(),
        files={origin.name: files},
        source=FOLDER,
        whole_tasks=0,
        whole_repos=1,
    )
