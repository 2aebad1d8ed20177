"""Writing and hashing files, once: nothing half-written ever has its final name."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from repoeval_bench.core.errors import ResultError

if TYPE_CHECKING:
    from collections.abc import Iterable


def write_atomic(path: Path, data: str | bytes | Iterable[str]) -> None:
    """Write a whole file or nothing (a temporary file beside it, then a rename); text as UTF-8, LF.

    Text may come in pieces.
    """
    pieces = (data,) if isinstance(data, str | bytes) else data
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.writelines(piece.encode("utf-8") if isinstance(piece, str) else piece for piece in pieces)
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_named(path: Path, data: str | bytes | Iterable[str], instead: str = "another file") -> None:
    """`write_atomic` to a place that the user named; a ResultError where that fails, which says what to choose."""
    try:
        write_atomic(path, data)
    except OSError as error:
        raise ResultError(f"{path} cannot be written ({error}); choose {instead}") from error


def path_problem(path: str) -> str:
    """Why a posix path from elsewhere cannot be a file below a folder, as the end of a sentence; "" where it can."""
    parts = path.split("/")
    if not path:
        return "has no name"
    if re.search("[\\x00-\\x1f\\x7f\\ud800-\\udfff]", path):
        return "holds a character that no path may hold"
    if re.match("/|[A-Za-z]:", path) or any(re.fullmatch("[A-Za-z]:", part) for part in parts):
        return "has an absolute path"
    return "leads out of the folder with '..'" if ".." in parts else ""


def readable(text: str) -> str:
    """The text as UTF-8 can hold it: a lone surrogate becomes U+FFFD."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return text


def _umask() -> int:
    """The process's umask, which mkstemp does not follow; it can only be read by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def sha256_file(path: Path) -> str:
    """Hexadecimal SHA-256 of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def sha256_text(text: str) -> str:
    """Hexadecimal SHA-256 of a text as UTF-8; a lone surrogate (JSON may hold one) counts as it is."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def git_blob_id(stream: BinaryIO, size: int, algorithm: str = "sha1") -> str:
    """Git's id of a blob: SHA-1 over `blob <size>`, a zero byte, the content. Verifies without git.

    `algorithm` is sha256 for a repository of git's newer object format.
    """
    digest = hashlib.new(algorithm, b"blob %d\0" % size, usedforsecurity=False)
    while block := stream.read(1 << 20):
        digest.update(block)
    return digest.hexdigest()
