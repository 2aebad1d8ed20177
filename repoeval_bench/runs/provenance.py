"""Provenance of a run: versions, commit, machine. It is stored in the manifest and changes no score."""

import hashlib
import os
import platform
import re
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from repoeval_bench.core.extras import EXTRAS, PROJECT
from repoeval_bench.runs.records import CodeState

_CHECKOUT = Path(__file__).resolve().parents[2]
_BASE = (PROJECT, "numpy", "PyStemmer", "scipy", "transformers")
# Extras whose packages change no score of a run.
_OTHER_EXTRAS = frozenset({"build", "complete", "frames", "parquet", "ray", "report", "stores"})


def _packages() -> list[str]:
    """Return the packages whose version can change a score: those of grammars, of models and of chunkers."""
    # Read from this package's own requirements, so a new chunker's extra is among them.
    try:
        requirements = requires(PROJECT) or []
    except PackageNotFoundError:
        requirements = []
    scored = set(EXTRAS.values()) - _OTHER_EXTRAS
    named = []
    for requirement in requirements:
        parsed = re.match(r"([\w.-]+)(?:.*extra == .([\w-]+))?", requirement)
        if parsed and (parsed[2] in scored or (parsed[2] is None and parsed[1].startswith("tree-sitter"))):
            named.append(parsed[1])
    return sorted({*_BASE, *named}, key=str.casefold)


@cache
def versions() -> dict[str, str | None]:
    """Python, platform and package versions; None for a package that is not installed."""
    installed: dict[str, str | None] = {
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
    }
    for package in _packages():
        try:
            installed[package] = version(package)
        except PackageNotFoundError:
            installed[package] = None
    return installed


@cache  # later changes on disk do not change the running code
def code_state(folder: Path = _CHECKOUT) -> CodeState:
    """Return the commit of this code and whether files differ from it; both None outside a git checkout."""
    unknown = CodeState(commit=None, dirty=None)
    if not (folder / ".git").exists():
        return unknown
    try:
        commit = _git(folder, "rev-parse", "HEAD")
        dirty = bool(_git(folder, "status", "--porcelain", "--", "repoeval_bench", "chunkers"))
    except (OSError, subprocess.CalledProcessError):  # no git, or a checkout that git does not read
        return unknown
    return CodeState(commit=commit, dirty=dirty)


def code_digest(folder: Path | None = None) -> str:
    """SHA-256 over the paths and contents of the Python files of this package, or of `folder`, as they are now."""
    root = folder or Path(__file__).resolve().parents[1]
    digest = hashlib.sha256()
    walked = os.walk(root, followlinks=True)  # in a checkout the chunkers are a link
    # A hidden file is not a module; editors leave hidden broken links beside the files that they change.
    names = (Path(parent, name) for parent, _, names in walked for name in names if not name.startswith("."))
    for path in sorted(path for path in names if path.suffix == ".py"):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(root).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def _git(folder: Path, *arguments: str) -> str:
    # Without locks, a command that is killed leaves none in the checkout.
    command = ["git", "--no-optional-locks", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()
