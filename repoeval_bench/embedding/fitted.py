"""Models that are made here are kept on disk: made once, sealed with the hashes of their files, never unpickled.

Where they cannot be kept, they are made for one process.
"""

from __future__ import annotations

import errno
import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from repoeval_bench.core.errors import EmbeddingError, os_reason
from repoeval_bench.core.files import folder_beside, sha256_file, write_atomic

SEAL = "sha256.json"
"""The file with the hashes of all others; written last."""


_READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)

_held: list[tempfile.TemporaryDirectory[str]] = []
"""Folders of models that could not be kept; they are deleted when the process ends."""


def keep(
    folder: Path, make: Callable[[Path], None], notify: Callable[[str], None] = lambda _: None
) -> tuple[Path, str]:
    """(its folder, hexadecimal SHA-256 over its files' hashes) of the model in `folder`, made where there is none.

    `make` writes the model's files into the folder it is given. Two processes may make one model at once: the one of
    the first to finish is kept. Where `folder` is read-only, the model goes into a temporary one, and `notify` gets a
    line that says so. A folder whose files are not what was written is an EmbeddingError.
    """
    try:
        if not (folder / SEAL).is_file():
            _make(folder, make)
    except OSError as error:
        if error.errno not in _READ_ONLY:
            raise EmbeddingError(
                f"the model folder {folder} cannot be written ({os_reason(error)}); "
                "set REPOEVAL_HOME to a writable folder"
            ) from error
        notify(f"note: the model folder {folder.parent} is read-only; {folder.name} is made for this command alone")
        _held.append(tempfile.TemporaryDirectory(prefix="repoeval-bench-"))
        folder = Path(_held[-1].name) / folder.name
        _make(folder, make)
    try:
        seal: dict[str, str] = dict(json.loads((folder / SEAL).read_text(encoding="utf-8")))
        changed = [name for name, digest in seal.items() if sha256_file(folder / name) != digest]
    except (OSError, ValueError) as error:
        raise _broken(folder, str(error)) from error
    if changed:
        raise _broken(folder, f"{changed[0]} has changed")
    return folder, hashlib.sha256(json.dumps(seal, sort_keys=True).encode()).hexdigest()


def _make(folder: Path, make: Callable[[Path], None]) -> None:
    with folder_beside(folder) as temporary:
        model = temporary / "model"
        model.mkdir()
        make(model)
        names = sorted(path.relative_to(model).as_posix() for path in model.rglob("*") if path.is_file())
        write_atomic(model / SEAL, json.dumps({name: sha256_file(model / name) for name in names}, indent=1))
        if folder.is_dir() and not (folder / SEAL).is_file():
            shutil.rmtree(folder)
        try:
            model.rename(folder)
        except OSError:
            if not (folder / SEAL).is_file():
                raise


def _broken(folder: Path, reason: str) -> EmbeddingError:
    return EmbeddingError(f"the model made in {folder} is broken ({reason}); delete that folder, it is made again")
