"""Compare code chunkers on RepoEval. See README.md and docs/.

The public names are loaded on first use, so that importing the package costs no torch, faiss or numpy:

- `load_benchmark` loads the data, and `build_pack` makes a benchmark of any code (a `BuildRequest`);
- `evaluate` makes a run, `plan_run` only its chunks and queries; `RunRequest` has every option of a run, with its
  default and its meaning;
- `compare` says which differences between runs are real, `choose` which run to use, and `recommend` which chunker to
  use for your code (`ProcessPool` makes its runs in parallel);
- `score_run` scores rankings of your own, which `read_run` and `read_qrels` read from TREC files;
- `find_run` reads a stored run; `diff`, `segment`, `compare_segments` and `gate` (with limits of `read_gates`) analyse
  runs, each with a record as the result;
- `verify` runs a stored request again on the data, and says whether the stored run is the same;
- `uses_of` says which definitions of a repository some lines use, in ten languages;
- `benchmark_of` loads a stored run's tasks;
- `plot` returns one figure of a report as a matplotlib figure;
- `export_beir` writes runs as data sets for BEIR and MTEB;
- `make_chunker` makes the chunker that a spec names, which also cuts texts: `chunk(text, path="a.py")` gives strings
  with their lines; `make_embedder` an embedder with the vector cache;
- functions of the leaves (`import_run`, `sensitivity`, …) are in `repoeval_bench.plugins` (docs/api.md);
- `Benchmark`, `Task`, `SourceFile`, `Chunk`, `CharSpan` and `LineSpan` are the types of data that chunkers and scripts
  use. A user's mistake is a `BenchError` of one sentence.
"""

from __future__ import annotations

from importlib import import_module

# Not from typing: under `python -m` that module is still looked for in the current folder first.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from repoeval_bench.api.chunking import make_chunker as make_chunker
    from repoeval_bench.api.stored_runs import choose as choose
    from repoeval_bench.api.stored_runs import compare as compare
    from repoeval_bench.api.stored_runs import compare_segments as compare_segments
    from repoeval_bench.api.stored_runs import diff as diff
    from repoeval_bench.api.stored_runs import gate as gate
    from repoeval_bench.api.stored_runs import plot as plot
    from repoeval_bench.api.stored_runs import read_gates as read_gates
    from repoeval_bench.api.stored_runs import segment as segment
    from repoeval_bench.api.stored_runs import verify as verify
    from repoeval_bench.core.benchmark import Benchmark as Benchmark
    from repoeval_bench.core.benchmark import Task as Task
    from repoeval_bench.core.errors import BenchError as BenchError
    from repoeval_bench.core.source import Chunk as Chunk
    from repoeval_bench.core.source import SourceFile as SourceFile
    from repoeval_bench.core.spans import CharSpan as CharSpan
    from repoeval_bench.core.spans import LineSpan as LineSpan
    from repoeval_bench.dataset.loader import load_benchmark as load_benchmark
    from repoeval_bench.metrics.scoring import RunScores as RunScores
    from repoeval_bench.metrics.scoring import score_run as score_run
    from repoeval_bench.own.packs.pack import build_pack as build_pack
    from repoeval_bench.own.packs.request import BuildRequest as BuildRequest
    from repoeval_bench.own.recommend.recommendation import recommend as recommend
    from repoeval_bench.own.references.resolver import uses_of as uses_of
    from repoeval_bench.runs.beir import export_beir as export_beir
    from repoeval_bench.runs.executors import ProcessPool as ProcessPool
    from repoeval_bench.runs.naming import find_run as find_run
    from repoeval_bench.runs.parts import make_embedder as make_embedder
    from repoeval_bench.runs.replay import benchmark_of as benchmark_of
    from repoeval_bench.runs.request import RunRequest as RunRequest
    from repoeval_bench.runs.runner import evaluate as evaluate
    from repoeval_bench.runs.runner import plan_run as plan_run
    from repoeval_bench.runs.trec import read_qrels as read_qrels
    from repoeval_bench.runs.trec import read_run as read_run

_PUBLIC = {
    "BenchError": "core.errors:BenchError",
    "Benchmark": "core.benchmark:Benchmark",
    "BuildRequest": "own.packs.request:BuildRequest",
    "CharSpan": "core.spans:CharSpan",
    "Chunk": "core.source:Chunk",
    "LineSpan": "core.spans:LineSpan",
    "ProcessPool": "runs.executors:ProcessPool",
    "RunRequest": "runs.request:RunRequest",
    "RunScores": "metrics.scoring:RunScores",
    "SourceFile": "core.source:SourceFile",
    "Task": "core.benchmark:Task",
    "benchmark_of": "runs.replay:benchmark_of",
    "build_pack": "own.packs.pack:build_pack",
    "choose": "api.stored_runs:choose",
    "compare": "api.stored_runs:compare",
    "compare_segments": "api.stored_runs:compare_segments",
    "diff": "api.stored_runs:diff",
    "evaluate": "runs.runner:evaluate",
    "export_beir": "runs.beir:export_beir",
    "find_run": "runs.naming:find_run",
    "gate": "api.stored_runs:gate",
    "load_benchmark": "dataset.loader:load_benchmark",
    "make_chunker": "api.chunking:make_chunker",
    "make_embedder": "runs.parts:make_embedder",
    "plan_run": "runs.runner:plan_run",
    "plot": "api.stored_runs:plot",
    "read_gates": "api.stored_runs:read_gates",
    "read_qrels": "runs.trec:read_qrels",
    "read_run": "runs.trec:read_run",
    "recommend": "own.recommend.recommendation:recommend",
    "score_run": "metrics.scoring:score_run",
    "segment": "api.stored_runs:segment",
    "uses_of": "own.references.resolver:uses_of",
    "verify": "api.stored_runs:verify",
}
"""Public name -> `module:name` of its definition."""

__all__ = list(_PUBLIC)


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'repoeval_bench' has no attribute {name!r}")
    module, _, attribute = _PUBLIC[name].partition(":")
    return getattr(import_module(f"repoeval_bench.{module}"), attribute)


def __dir__() -> list[str]:
    return sorted(_PUBLIC)
