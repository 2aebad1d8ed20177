"""repoeval_bench: compare code chunkers on RepoEval. See README.md and docs/.

The public names are loaded on first use, so that importing the package costs no torch, faiss or numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from repoeval_bench.api import compare, evaluate, load_benchmark
    from repoeval_bench.core.benchmark import Benchmark, Task
    from repoeval_bench.core.source import Chunk, SourceFile
    from repoeval_bench.core.spans import CharSpan, LineSpan

_PUBLIC = {
    "load_benchmark": "repoeval_bench.api",
    "evaluate": "repoeval_bench.api",
    "compare": "repoeval_bench.api",
    "Benchmark": "repoeval_bench.core.benchmark",
    "CharSpan": "repoeval_bench.core.spans",
    "Chunk": "repoeval_bench.core.source",
    "LineSpan": "repoeval_bench.core.spans",
    "SourceFile": "repoeval_bench.core.source",
    "Task": "repoeval_bench.core.benchmark",
}

__all__ = [
    "Benchmark",
    "CharSpan",
    "Chunk",
    "LineSpan",
    "SourceFile",
    "Task",
    "compare",
    "evaluate",
    "load_benchmark",
]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'repoeval_bench' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
