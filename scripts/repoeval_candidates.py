"""Count how many of RepoEval's own function tasks the rules of `data build` find, and why not the others.

python scripts/repoeval_candidates.py SOURCE
"""

from __future__ import annotations

import sys
from collections import defaultdict
from typing import TYPE_CHECKING

from repoeval_bench.core.definitions import definitions
from repoeval_bench.core.languages import LANGUAGES
from repoeval_bench.core.notices import show_notices
from repoeval_bench.core.occurrences import occurrences
from repoeval_bench.core.syntax import segments
from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.own.packs.candidates import comment_lines, examine, target_span_of

if TYPE_CHECKING:
    from repoeval_bench.core.benchmark import Task
    from repoeval_bench.core.source import SourceFile
    from repoeval_bench.core.spans import LineSpan

PYTHON = LANGUAGES["python"]


def main() -> None:
    """Print the counts, and the reasons with their tasks."""
    show_notices(print)
    benchmark = load_benchmark(sys.argv[1] if len(sys.argv) > 1 else "auto")
    tasks: dict[str, list[Task]] = defaultdict(list)
    for task in benchmark.tasks:
        tasks[task.file].append(task)
    candidates = 0
    missing: dict[str, list[str]] = defaultdict(list)
    for file in benchmark.by_name.values():
        functions = examine(file, PYTHON).functions
        candidates += len(functions)
        target_spans = {function.target_span for function in functions}
        for task in tasks[file.name]:
            if task.body not in target_spans:
                missing[_why(file, task, target_spans)].append(task.task_id)
    print(f"{candidates} candidates in {len(benchmark.by_name)} files")
    n_missing = sum(map(len, missing.values()))
    print(f"{len(benchmark.tasks) - n_missing} of {len(benchmark.tasks)} function tasks are among them; the others:")
    for reason, ids in sorted(missing.items(), key=lambda item: -len(item[1])):
        print(f"  {len(ids):3} {reason}: {', '.join(ids[:4])}{' …' if len(ids) > 4 else ''}")


def _why(file: SourceFile, task: Task, target_spans: set[LineSpan]) -> str:
    """Return the rule by which a task's function is not a candidate, or how its lines differ."""
    comments = comment_lines(file, [span for tree in segments(file, PYTHON) for span in occurrences(tree).comments])
    functions = [
        definition
        for definition in definitions(file, PYTHON)
        if definition.kind not in {"variable", "class"} and definition.body
        if definition.lines.start < task.body.start < definition.lines.end
    ]
    if not functions:
        return "no function is around its lines"
    target_span = target_span_of(file, functions[-1], comments)
    if isinstance(target_span, str):
        return target_span
    if target_span == task.body:
        nested = any(span.contains(task.body) for span in target_spans)
        return "nested: in the body of another candidate" if nested else "overloaded: the second of that name"
    return f"other lines: starts {task.body.start - target_span.start:+}, ends {task.body.end - target_span.end:+}"


if __name__ == "__main__":
    main()
