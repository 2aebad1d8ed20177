"""Facts of a task, read from its file's syntax, by which results are segmented."""

from collections.abc import Sequence

from repoeval_bench.core.benchmark import Benchmark, Task
from repoeval_bench.core.definitions import Definition, definitions
from repoeval_bench.core.languages import language_of
from repoeval_bench.core.run import Fact
from repoeval_bench.core.source import SourceFile

FACTS = {
    "function_lines": "lines of the target function, from its name to its end",
    "prompt_lines": "lines of the whole prompt, the line to be completed not counted",
    "nesting_depth": "definitions around that function in its file: 0 at the top, 1 in a class",
    "has_docstring": "whether that function has a docstring",
    "is_method": "whether that function is a method",
}
"""Facts of a task; None where the language is not known, or the task is not in a function."""

COMMIT_FACTS = {
    "age_days": "days from the base, whose tree is searched, to the commit whose subject is the query",
    "words": "words of the query",
    "lines_changed": "lines that the commit removed and added",
    "is_insertion": "whether the commit removed nothing, so that the target is the line before",
}
"""Facts of a task of protocol `commits`, beside the others."""


def commit_facts(task: Task) -> dict[str, Fact]:
    """The facts of a question of a history; see `COMMIT_FACTS`."""
    words = len(task.prompt.split())
    return {name: words if name == "words" else getattr(task.change, name) for name in COMMIT_FACTS}


def task_facts(benchmark: Benchmark) -> dict[str, dict[str, Fact]]:
    """Return task_id -> fact -> value, for every task; see `FACTS`."""
    lines: dict[str, list[int]] = {}
    files = benchmark.by_name
    for task in benchmark.tasks:
        # A place may begin with a comment, which belongs to a definition and is not in its syntax.
        lines.setdefault(task.file, []).extend(task.body if task.places else [task.body.start])
    defined = {name: _defined(files[name], of_file) for name, of_file in lines.items()}
    return {task.task_id: _facts(task, defined[task.file]) for task in benchmark.tasks}


def _defined(file: SourceFile, lines: Sequence[int]) -> tuple[Definition, ...]:
    language = language_of(file.path, file.text)
    return definitions(file, language, tuple(sorted({*lines}))) if language else ()


def _facts(task: Task, defined: Sequence[Definition]) -> dict[str, Fact]:
    # A function that begins on the line itself is what is to be written, not what surrounds it; or what answers.
    first = task.body.start
    around = [
        definition
        for definition in defined
        if definition.kind in {"function", "method"}
        and (definition.lines.start <= first if task.places else definition.named < first)
        and first < definition.lines.end
    ]
    prompt_lines = task.body.start - task.context_start
    if not around:
        return dict.fromkeys(FACTS) | {"prompt_lines": prompt_lines}
    function = max(around, key=lambda definition: _depth(definition, defined))
    return {
        "function_lines": function.lines.end - function.named,
        "prompt_lines": prompt_lines,
        "nesting_depth": _depth(function, defined),
        "has_docstring": function.doc is not None,
        "is_method": function.kind == "method",
    }


def _depth(definition: Definition, defined: Sequence[Definition]) -> int:
    depth = 0
    while definition.parent is not None:
        definition, depth = defined[definition.parent], depth + 1
    return depth
