"""Facts of a task, read from its file's syntax: segments are made of them."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from repoeval_bench.core.benchmark import Benchmark, Task
from repoeval_bench.core.run import Fact

FACTS = {
    "function_lines": "lines of the function that is to be completed, from its def to its end",
    "prompt_lines": "lines of the whole prompt, the line to be completed not counted",
    "nesting_depth": "functions and classes around that function: 0 at module level, 1 for a method",
    "has_docstring": "whether that function has a docstring",
    "is_method": "whether that function is directly in a class",
}
"""Facts of a task; None where the file is not valid Python 3 for this parser, or the task is not in a function."""


def task_facts(benchmark: Benchmark) -> dict[str, dict[str, Fact]]:
    """task_id -> fact -> value, for every task; see `FACTS`."""
    files = benchmark.by_name
    return {task.task_id: _facts(task, files[task.file].text) for task in benchmark.tasks}


def _facts(task: Task, text: str) -> dict[str, Fact]:
    line = task.body.start + 1
    # A function that begins on the line itself is what is to be written, not what surrounds it.
    around = [candidate for candidate in _functions(text) if candidate.first < line <= candidate.last]
    function = max(around, key=lambda candidate: candidate.depth, default=None)
    return {
        "function_lines": function.last - function.first + 1 if function else None,
        "prompt_lines": task.body.start - task.context_start,
        "nesting_depth": function.depth if function else None,
        "has_docstring": function.has_docstring if function else None,
        "is_method": function.is_method if function else None,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Function:
    """A function's lines (1-based, both included) and its facts."""

    first: int
    last: int
    depth: int
    has_docstring: bool
    is_method: bool


@lru_cache(maxsize=4096)
def _functions(text: str) -> tuple[_Function, ...]:
    # str.splitlines() also ends lines at form feeds, which the parser does not; then lines cannot be matched.
    if len(text.splitlines()) != len(text.removesuffix("\n").split("\n")):
        return ()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the files' own invalid escapes
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # nothing is known then, as FACTS says
        return ()
    return tuple(_functions_in(tree))


def _functions_in(tree: ast.Module) -> Iterator[_Function]:
    """The functions of a file, by a stack: a chain of `elif` is nested as deeply as it is long."""
    ahead: list[tuple[ast.AST, int, bool]] = [(tree, 0, False)]
    while ahead:
        node, depth, in_class = ahead.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield _Function(
                first=node.lineno,
                last=node.end_lineno or node.lineno,
                depth=depth,
                has_docstring=ast.get_docstring(node, clean=False) is not None,
                is_method=in_class,
            )
        is_class = isinstance(node, ast.ClassDef)
        opened = depth + isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        # What is directly in a class is a method, also in an `if` there. No expression holds a definition.
        inner = [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr)]
        method = is_class or (in_class and opened == depth)
        ahead += [(child, opened, method) for child in reversed(inner)]
