"""Tasks, benchmarks and repositories that a test writes down: what it does not care about has a value."""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from repoeval_bench.core.benchmark import Benchmark, Task
from repoeval_bench.core.source import Chunk, SourceFile
from repoeval_bench.core.spans import CharSpan, LineSpan
from repoeval_bench.core.uses import UsedDefinition
from repoeval_bench.own.references.resolver import Resolver
from support.cases import read_yaml

LOOKUPS = Path(__file__).parents[1] / "own" / "references" / "lookups"


def task(**fields: Any) -> Task:
    """Return a task on the first line of `r/p.py`, or as the fields say."""
    plain = {"task_id": "r/0", "repo": "r", "path": "p.py", "prompt": "", "ground_truth": "x\n", "level": "function"}
    return Task(**{**plain, "body": LineSpan(0, 1), "context_start": 0, **fields})


def sources(texts: Mapping[str, str], repo: str = "r") -> tuple[SourceFile, ...]:
    """Return the files of a repository, whose texts are given by path."""
    return tuple(SourceFile(repo, path, text) for path, text in texts.items())


def benchmark(files: Mapping[str, tuple[SourceFile, ...]], tasks: Iterable[Task] = (), **fields: Any) -> Benchmark:
    """Return the benchmark of all these tasks and repositories."""
    tasks = tuple(tasks)
    plain = {"name": "b", "fingerprint": "0" * 12, "level": "function", "source": "s"}
    counts = {"whole_tasks": len(tasks), "whole_repos": len(files)}
    return Benchmark(**{**plain, **counts, "tasks": tasks, "files": files, **fields})


def whole(text: str, path: str = "a.py", repo: str = "r") -> Chunk:
    """Return a file's only chunk: all of its text."""
    return Chunk.cut(SourceFile(repo, path, text), CharSpan(0, len(text)))


def corpus(texts: Iterable[str]) -> dict[str, tuple[Chunk, ...]]:
    """Return the chunks of a repository of such files."""
    return {"r": tuple(whole(text, f"f{i}.py") for i, text in enumerate(texts))}


HAND_LINES = ["" if i == 90 else f"v{i:02}" for i in range(100)]
"""100 lines of 3 nws each but for line 90, which is blank."""
HAND_FILE = SourceFile("r", "p.py", "\n".join(HAND_LINES) + "\n")
HAND_TASK = task(
    prompt="\n".join(HAND_LINES[4:34]) + "\n",
    ground_truth="\n".join(HAND_LINES[34:36]) + "\n",
    body=LineSpan(34, 36),
    context_start=4,
)
"""The prompt is at [4, 34) of that file, the body at [34, 36)."""


def uses(texts: Mapping[str, str], path: str, first: int, last: int) -> tuple[UsedDefinition, ...] | None:
    """Return what lines [first, last) of a file use of this repository; None where it cannot be read."""
    resolver = Resolver(sources(texts))
    return resolver.uses(path, LineSpan(first, last))


def names(used: tuple[UsedDefinition, ...] | None) -> set[str]:
    """Return the names of the definitions that are used."""
    assert used is not None
    return {use.definition.name for use in used}


@cache
def lookups(name: str) -> dict[str, Any]:
    """Return the themes of a file of `own/references/lookups`; `own/references/test_lookups.py` explains them."""
    content: dict[str, Any] = read_yaml(LOOKUPS / f"{name}.yaml")
    return content


def gold_text(questions: Benchmark, task: Task) -> str:
    """The lines of a benchmark that answer a task."""
    return "".join(questions.by_name[place.file].line_text(place.lines) for place in task.places)
