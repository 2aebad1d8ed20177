"""Compare code chunkers on RepoEval. See README.md and docs/.

The public names are loaded on first use, so that importing the package costs no torch, faiss or numpy:

- `load_benchmark` finds the data; `evaluate` and `evaluate_all` make runs, `plan_run` only chunks and asks;
- `RunRequest` has every option of a run, with its default and its meaning;
- `compare` says which differences between runs are real, `sensitivity` whether they hold in other settings;
- `make_embedder` gives an embedder with the vector cache; `InProcess` and `ProcessPool` are where runs are made;
- `Benchmark`, `Task`, `SourceFile`, `Chunk`, `CharSpan` and `LineSpan` are what chunkers and scripts meet.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from repoeval_bench.analysis.comparison import compare
    from repoeval_bench.analysis.grid import sensitivity
    from repoeval_bench.core.benchmark import Benchmark, Task
    from repoeval_bench.core.source import Chunk, SourceFile
    from repoeval_bench.core.spans import CharSpan, LineSpan
    from repoeval_bench.runs.executors import InProcess, ProcessPool
    from repoeval_bench.runs.experiment import evaluate, evaluate_all, plan_run
    from repoeval_bench.runs.parts import load_benchmark, make_embedder
    from repoeval_bench.runs.request import RunRequest

_PUBLIC = {
    "Benchmark": "core.benchmark:Benchmark",
    "CharSpan": "core.spans:CharSpan",
    "Chunk": "core.source:Chunk",
    "InProcess": "runs.executors:InProcess",
    "LineSpan": "core.spans:LineSpan",
    "ProcessPool": "runs.executors:ProcessPool",
    "RunRequest": "runs.request:RunRequest",
    "SourceFile": "core.source:SourceFile",
    "Task": "core.benchmark:Task",
    "compare": "analysis.comparison:compare",
    "evaluate": "runs.experiment:evaluate",
    "evaluate_all": "runs.experiment:evaluate_all",
    "load_benchmark": "runs.parts:load_benchmark",
    "make_embedder": "runs.parts:make_embedder",
    "plan_run": "runs.experiment:plan_run",
    "sensitivity": "analysis.grid:sensitivity",
}
"""Public name -> where it is defined."""

__all__ = [
    "Benchmark",
    "CharSpan",
    "Chunk",
    "InProcess",
    "LineSpan",
    "ProcessPool",
    "RunRequest",
    "SourceFile",
    "Task",
    "compare",
    "evaluate",
    "evaluate_all",
    "load_benchmark",
    "make_embedder",
    "plan_run",
    "sensitivity",
]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'repoeval_bench' has no attribute {name!r}")
    module, _, attribute = _PUBLIC[name].partition(":")
    return getattr(import_module(f"repoeval_bench.{module}"), attribute)


def __dir__() -> list[str]:
    return sorted(__all__)
