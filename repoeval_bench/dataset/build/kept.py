"""Packs that are made on the way, kept so that the same code gives the same folder."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from repoeval_bench.core.errors import DatasetError
from repoeval_bench.core.spec import short_hash, slug
from repoeval_bench.dataset.build.pack import BuildRequest, build_pack
from repoeval_bench.dataset.install import HASHES
from repoeval_bench.dataset.obtain import is_benchmark
from repoeval_bench.dataset.pack import MANIFEST, TREE, Pack

if TYPE_CHECKING:
    from collections.abc import Callable


def benchmark_of(source: str, folder: Path, *, notify: Callable[[str], None] = lambda _: None) -> str:
    """The source where it is a benchmark or a pack; else a pack of its code in `folder`, built now.

    A pack of the same files under the same rules is the same folder, so that runs over it are found again.
    """
    if is_benchmark(source):
        return source
    try:
        folder.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=".building-", dir=folder))
    except OSError as error:
        raise DatasetError(f"{folder} cannot be written ({error.strerror}); name another folder with --out") from error
    try:
        built = build_pack(BuildRequest(sources=(source,)), work / "pack", notify=notify)
        target = folder / f"{slug(built.content.name, 32)}-{_fingerprint(built)}"
        if not target.is_dir():
            built.root.rename(target)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return str(target)


def _fingerprint(pack: Pack) -> str:
    """Of the manifest and of all files, by their hashes."""
    return short_hash((pack.root / MANIFEST).read_text("utf-8") + (pack.root / TREE / HASHES).read_text("utf-8"))
