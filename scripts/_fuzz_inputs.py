"""Valid inputs that the fuzz mutates, and a small benchmark whose stored run it damages."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from repoeval_bench import Benchmark, LineSpan, SourceFile, Task, evaluate, find_run
from repoeval_bench.plugins.logs.import_log import import_run

if TYPE_CHECKING:
    from pathlib import Path

    from repoeval_bench.runs.view import RunView

TASK = {
    "prompt": "import os\n\n\ndef size(path):\n",
    "metadata": {
        "task_id": "acme--tools/7",
        "ground_truth": "    return os.stat(path).st_size\n",
        "fpath_tuple": ["acme_tools", "tools", "files.py"],
        "context_start_lineno": 0,
        "lineno": 4,
        "function_name": "size",
    },
}
TASKS: list[Any] = [
    TASK,
    TASK | {"metadata": TASK["metadata"] | {"task_id": "acme--tools/8", "fpath_tuple": "('acme--tools', 'a b.py')"}},  # type: ignore[operator]
]


def _hit(rank: int) -> dict[str, Any]:
    return {
        "rank": rank,
        "chunk_id": f"docs/f{rank}.md@0-{rank}00",
        "score": 1.0 / rank,
        "file": f"docs/f{rank}.md",
        "start_line": rank,
        "end_line": rank + 20,
        "doc_version": "2024-05-01",
        "source": "docs",
        "entities": ["a"],
    }


LOG: list[Any] = [
    {
        "query_id": f"q{i}",
        "query": "how large is a file",
        "query_tokens": 6,
        "system": "search 1.0",
        "k_raw": 10,
        "topk": [_hit(rank) for rank in range(1, 3 + i % 2)],
        "raw_topk": [_hit(rank) for rank in range(1, 4)],
        "index_version": "3",
        "chunker": {"algo": "fixed", "parameters": {"max_nws": 1500}},
        "latency_ms": {"retrieve": 5.5, "rerank": 1.0},
        "as_of": "2024-06-01T10:00:00+02:00",
        "source": "docs",
        "expected_source": "docs",
        "entities": ["a", "b"],
        "conversation": f"c{i % 2}",
        "index": {"vectors": 100, "tokens": 5000, "bytes": 4000, "seconds": 2.5},
        "extra": {"note": "any", "n": [1, 2.5, None]},
    }
    for i in range(3)
]
GOLD: dict[str, list[Any]] = {
    "chunks": [
        {"query_id": "q0", "chunk_id": "docs/f2.md@0-200", "gain": 2.0},
        {"query_id": "q0", "chunk_id": "docs/f9.md@0-900", "gain": 0},
        {"query_id": "q1", "chunk_id": "docs/f1.md@0-100"},
        {"query_id": "q2", "chunk_id": "docs/none.md@0-1", "gain": 0.5},
    ],
    "files": [{"query_id": f"q{i}", "file": f"docs/f{i + 1}.md"} for i in range(3)],
    "lines": [{"query_id": f"q{i}", "file": f"docs/f{i + 1}.md", "start_line": 3, "end_line": 9} for i in range(3)],
}
TIMES: list[Any] = [
    {"step": "embed", "seconds": 1.5, "encoded": 3, "usage": {"total_tokens": 9}},
    {"query_id": "q0", "latency_ms": {"retrieve": 1.5}},
]
FACTS: list[Any] = [{"query_id": f"q{i}", "lines": i, "kind": "method", "new": True, "share": 0.5} for i in range(3)]
FACTS_CSV = b"query_id,lines,kind,new\nq0,3,method,yes\nq1,4.5,function,no\nq2,,,\n"
QUESTIONS: list[Any] = [
    {"query": "how large is a file", "file": "r/pkg/part1.py", "start_line": 9, "end_line": 12, "quote": "os.stat"},
    {"query": "names", "id": "n", "places": [{"file": "./r/pkg/part2.py", "start_line": 15, "end_line": 17}]},
    {"query": "what", "file": "s/pkg/part3.py", "start_line": 1, "end_line": 1},
]
RUN = b"q0 Q0 a 1 0.9 t\nq0 Q0 b 2 0.5 t\nq1 Q0 a 1 0.25 t\nq2 Q0 c 1 -3e-1 t\n"
QRELS = b"q0 0 a 1\nq0 0 b 0\nq1 0 c 2\nq2 0 none 0\n"
GATES = b"""\
baseline: last
gates:
  - measure: ndcg@10
    at_least: 0.45
  - {measure: recall@10, max_drop: 0.02, mean: macro, segment: {is_method: true}}
latency:
  - step: retrieve
    median_ms: 20.5
    p90_ms: 100
"""
BENCH = b"""\
pack: mine@1
chunkers:
  - ast
  - fixed:max_nws=800
protocol: [context, body]
retrievers: bm25
measures: [ndcg@10, recall@10]
k: 50
repositories: six
baseline: ast
equivalence: 0.01
"""
SPECS = {
    "chunker": ["ast:max_nws=800,overlap=0", "fixed:max_nws=1500", "window:lines=20,step=10", "recursive", "file"],
    "measure": ["ndcg@10", "recall@5", "line_recall@3000", "rbp:p=0.8", "mrr", "f1@3"],
    "protocol": ["context", "body+exclusion=body", "coderag", "function+relevance=iou:0.5"],
    "retriever": ["bm25:k1=1.2,b=0.75", "hybrid:k=60", "dense", "jaccard"],
    "embedder": ["minilm:max_length=128", "hash:dim=64,seed=1", "st:all-mpnet-base-v2"],
}
MEMBERS = {"a/b.py": b"x = 1\n", "a/c.py": b"y = 2\n", "LICENSE": b"free\n"}
MANIFEST: Any = {"name": "mine", "sha256": {"datasets.zip": "0" * 64}, "licences": {"acme_tools": "MIT"}}

_CODE = '''\
"""Part {i}."""

import os


class Part{i}:
    """Holds {i}."""

    def value(self, path):
        """The size of a path."""
        size = os.stat(path).st_size
        return size + {i}


def helper{i}(part):
    names = [part.value(str(n)) for n in range({i})]
    return sorted(names)
'''


def benchmark() -> Benchmark:
    """Return a benchmark of two repositories that have the same paths."""
    files = {
        repo: tuple(SourceFile(repo, f"pkg/part{i}.py", _CODE.format(i=i)) for i in range(4)) for repo in ("r", "s")
    }
    tasks = tuple(
        Task(
            task_id=f"{repo}/{i}",
            repo=repo,
            path=f"pkg/part{i}.py",
            prompt="".join(_CODE.format(i=i).splitlines(keepends=True)[:10]),
            ground_truth="        size = os.stat(path).st_size\n",
            body=LineSpan(10, 11),
            context_start=0,
            level="function",
            function_name="value",
        )
        for repo in files
        for i in range(4)
    )
    return Benchmark(
        name="mine-function-2k-codex",
        fingerprint="0" * 12,
        level="function",
        tasks=tasks,
        files=files,
        source="mirror",
        whole_tasks=len(tasks),
        whole_repos=len(files),
    )


def stored_runs(folder: Path, benchmark: Benchmark) -> list[RunView]:
    """Store a run of the benchmark and an imported run."""
    run = evaluate(benchmark, "fixed:max_nws=100", retriever="bm25", k=10, out=folder)
    for name, rows in (("log.jsonl", LOG), ("gold.jsonl", GOLD["chunks"])):
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    imported = import_run(folder / "log.jsonl", folder / "gold.jsonl", folder, created="2026-01-01T00:00:00+00:00")
    return [run, find_run(str(imported.folder), folder)]
