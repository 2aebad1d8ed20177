"""Writing the shipped index from the full data: coordinates, hashes and licences, never a line of code.

Run through `scripts/build_index.py`. The archives are read without the index that is being written; the task
files are still verified by their published git blob ids.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from repoeval_bench.core.errors import DatasetError
from repoeval_bench.core.files import sha256_text, write_atomic
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.dataset import index
from repoeval_bench.dataset.archive import read_zip
from repoeval_bench.dataset.jsonl import parse_tasks
from repoeval_bench.dataset.licences import identify
from repoeval_bench.dataset.sources import is_wanted, task_files, text_hash
from repoeval_bench.dataset.trees import decode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from repoeval_bench.core.benchmark import Task


def build_index(source: Path, output: Path) -> list[Path]:
    """Write `repositories.json`, `files.tsv` and the task tables of the function level; their paths.

    A DatasetError where the archives are not the published ones, a task's ground truth does not stand at its
    lines, or a licence is not recognised.
    """
    level = "function"
    tree = index.levels()[level].tree
    blobs = dict(read_zip(source / f"{tree}.zip", is_wanted))
    files: dict[str, SourceFile] = {}
    for name in sorted(blobs):
        if name.endswith(".py"):
            repo, _, path = name.partition("/")
            files[name] = SourceFile(repo, path, decode(blobs[name]))
    by_name = dict(task_files(source / "datasets.zip", None))
    written = []
    tasks: tuple[Task, ...] = ()
    for tokenizer, contexts in index.levels()[level].contexts.items():
        for context in contexts:
            combination = index.Combination(level, context, tokenizer)
            name = combination.task_file
            tasks = parse_tasks(by_name[name], name=name, level=level)
            rows = (_coordinates(task, files) for task in tasks)
            table = output / combination.table
            write_atomic(table, "\n".join(["\t".join(index.TASK_COLUMNS), *rows]) + "\n")
            written.append(table)
    hashes = "".join(f"{name}\t{text_hash(blobs[name])}\n" for name in files)
    write_atomic(output / "files.tsv", f"file\tsha256\n{hashes}")
    write_atomic(output / "repositories.json", _repositories(files, tasks, blobs))
    return [*written, output / "files.tsv", output / "repositories.json"]


def _coordinates(task: Task, files: Mapping[str, SourceFile]) -> str:
    file = files[f"{task.repo}/{task.path}"]
    if file.line_text(task.body) != task.ground_truth:
        raise DatasetError(f"{task.task_id}: its ground truth does not stand at line {task.body.start + 1}")
    start, end = _prompt_range(task, file) or ("-", "-")
    return "\t".join(
        map(
            str,
            (
                task.task_id,
                task.path,
                start,
                end,
                task.context_start,
                task.body.start,
                task.body.end,
                task.function_name,
                sha256_text(task.prompt),
                sha256_text(task.ground_truth),
            ),
        )
    )


def _prompt_range(task: Task, file: SourceFile) -> tuple[int, int] | None:
    """Where the prompt stands before the ground truth: the last of its occurrences that ends there."""
    body = file.chars_of(LineSpan(task.body.start, task.body.start)).start
    start = file.text.rfind(task.prompt, 0, body)
    return None if start < 0 else (start, start + len(task.prompt))


def _repositories(files: Mapping[str, SourceFile], tasks: Iterable[Task], blobs: Mapping[str, bytes]) -> str:
    n_files = Counter(file.repo for file in files.values())
    n_tasks = Counter(task.repo for task in tasks)
    facts = {
        repo: {
            "tasks": n_tasks[repo],
            "files": n_files[repo],
            "licence": _licence(repo, decode(blobs[f"{repo}/LICENSE"])),
        }
        for repo in sorted(n_files)
    }
    return json.dumps(facts, indent=2) + "\n"


def _licence(repo: str, text: str) -> str:
    name = identify(text)
    if name is None:
        raise DatasetError(f"the licence of {repo} is not recognised: it begins {text.strip()[:60]!r}")
    return name
