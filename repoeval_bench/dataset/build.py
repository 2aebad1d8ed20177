"""Writing the shipped index from the full data: coordinates, hashes and licences, never a line of code.

Run through `scripts/build_index.py`. The archives are read without the index that is being written; the task
files are still verified by their published git blob ids.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING

from repoeval_bench.core.errors import DatasetError
from repoeval_bench.core.files import sha256_text, write_atomic
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import CharSpan, LineSpan
from repoeval_bench.dataset.archives import read_zip
from repoeval_bench.dataset.index import Coordinates, Repository, table_name
from repoeval_bench.dataset.repoeval import FUNCTION, combinations, parse_tasks
from repoeval_bench.dataset.sources.mirror import MirrorFolder
from repoeval_bench.dataset.summary import identify_licence
from repoeval_bench.dataset.trees import decode, is_source_path, is_wanted_path, text_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from repoeval_bench.core.benchmark import Task


def build_index(source: Path, output: Path) -> list[Path]:
    """Write `repositories.json`, `files.tsv` and the task tables of the function level; their paths.

    A DatasetError where the archives are not the published ones, a task's ground truth is not at its lines, or a
    licence is not recognised.
    """
    blobs = dict(read_zip(source / f"{FUNCTION.tree}.zip", is_wanted_path))
    files: dict[str, SourceFile] = {}
    for name in sorted(filter(is_source_path, blobs)):
        repo, _, path = name.partition("/")
        files[name] = SourceFile(repo, path, decode(blobs[name]))
    task_files = dict(MirrorFolder(source).task_files())
    tables = {}
    tasks: tuple[Task, ...] = ()
    for combination in combinations(FUNCTION):
        name = combination.task_file
        tasks = parse_tasks(task_files[name], name=name, level=combination.level)
        lines = (str(_coordinates(task, files[task.file])) for task in tasks)
        tables[table_name(combination)] = "\n".join([Coordinates.HEADER, *lines]) + "\n"
    hashes = "".join(f"{name}\t{text_hash(blobs[name])}\n" for name in files)
    texts = tables | {
        "files.tsv": f"file\tsha256\n{hashes}",
        "repositories.json": _repositories(files.values(), tasks, blobs),
    }
    for name, text in texts.items():
        write_atomic(output / name, text)
    return [output / name for name in texts]


def _coordinates(task: Task, file: SourceFile) -> Coordinates:
    if file.line_text(task.body) != task.ground_truth:
        raise DatasetError(f"{task.task_id}: its ground truth is not at line {task.body.start + 1}")
    return Coordinates(
        task_id=task.task_id,
        path=task.path,
        prompt=_prompt_range(task, file),
        context_start=task.context_start,
        body=task.body,
        function_name=task.function_name or "",
        prompt_sha256=sha256_text(task.prompt),
        ground_truth_sha256=sha256_text(task.ground_truth),
    )


def _prompt_range(task: Task, file: SourceFile) -> CharSpan | None:
    """Where the prompt is before the ground truth: the last of its occurrences that ends there."""
    body = file.chars_of(LineSpan(task.body.start, task.body.start)).start
    start = file.text.rfind(task.prompt, 0, body)
    return None if start < 0 else CharSpan(start, start + len(task.prompt))


def _repositories(files: Iterable[SourceFile], tasks: Iterable[Task], blobs: Mapping[str, bytes]) -> str:
    n_files = Counter(file.repo for file in files)
    n_tasks = Counter(task.repo for task in tasks)
    found = {}
    for repo in sorted(n_files):
        text = decode(blobs[f"{repo}/LICENSE"])
        licence = identify_licence(text)
        if licence is None:
            raise DatasetError(f"the licence of {repo} is not recognised: it begins {text.strip()[:60]!r}")
        found[repo] = asdict(Repository(n_tasks[repo], n_files[repo], licence))
    return json.dumps(found, indent=2) + "\n"
