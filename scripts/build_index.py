"""Write data/index from the full data: python scripts/build_index.py --source FOLDER.

The index holds coordinates, hashes and licences, never a line of code. The trees are read without the index that is
being written; the task files are still verified by their published git blob ids.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path

from repoeval_bench.core.benchmark import Task
from repoeval_bench.core.errors import DatasetError
from repoeval_bench.core.files import sha256_text, write_atomic
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import CharSpan, LineSpan
from repoeval_bench.dataset.archives import read_zip
from repoeval_bench.dataset.index import Repository, table_name
from repoeval_bench.dataset.repoeval import FUNCTION, parse_tasks, task_sets
from repoeval_bench.dataset.sources.archived import MirrorFolder
from repoeval_bench.dataset.trees import decode, is_included_path, is_source_path, text_hash

HEADER = (
    "task_id\tpath\tprompt_start\tprompt_end\tcontext_start\tbody_start\tbody_end\tfunction_name\t"
    "prompt_sha256\tground_truth_sha256"
)


def build_index(source: Path, output: Path) -> list[Path]:
    """Write `repositories.json`, `files.tsv` and the task tables of the function level; return their paths.

    A DatasetError if the archives are not the published ones, a task's ground truth is not at its lines, or a licence
    is not recognised.
    """
    blobs = dict(read_zip(source / f"{FUNCTION.tree}.zip", is_included_path))
    files: dict[str, SourceFile] = {}
    for name in sorted(filter(is_source_path, blobs)):
        repo, _, path = name.partition("/")
        files[name] = SourceFile(repo, path, decode(blobs[name]))
    task_files = dict(MirrorFolder(source).task_files())
    tables = {}
    tasks: tuple[Task, ...] = ()
    for task_set in task_sets(FUNCTION):
        name = task_set.task_file
        tasks = parse_tasks(task_files[name], name=name, level=task_set.level)
        lines = (_row(task, files[task.file]) for task in tasks)
        tables[table_name(task_set)] = "\n".join([HEADER, *lines]) + "\n"
    hashes = "".join(f"{name}\t{text_hash(blobs[name])}\n" for name in files)
    texts = tables | {
        "files.tsv": f"file\tsha256\n{hashes}",
        "repositories.json": _repositories(files.values(), tasks, blobs),
    }
    for name, text in texts.items():
        write_atomic(output / name, text)
    return [output / name for name in texts]


def _row(task: Task, file: SourceFile) -> str:
    """Return a line of a table, columns as in `HEADER`; dashes if the prompt has no exact range."""
    if file.line_text(task.body) != task.ground_truth:
        raise DatasetError(f"{task.task_id}: its ground truth is not at line {task.body.start + 1}")
    span = _prompt_range(task, file)
    prompt = (span.start, span.end) if span else ("-", "-")
    lines = (task.context_start, task.body.start, task.body.end)
    hashes = sha256_text(task.prompt), sha256_text(task.ground_truth)
    return "\t".join(map(str, (task.task_id, task.path, *prompt, *lines, task.function_name or "", *hashes)))


def _prompt_range(task: Task, file: SourceFile) -> CharSpan | None:
    """Return the last occurrence of the prompt before the ground truth; None if there is none."""
    body = file.chars_of(LineSpan(task.body.start, task.body.start)).start
    start = file.text.rfind(task.prompt, 0, body)
    return None if start < 0 else CharSpan(start, start + len(task.prompt))


_LICENCES = {
    "Apache License Version 2.0": "Apache-2.0",
    "MIT License": "MIT",
    "BSD 2-Clause License": "BSD-2-Clause",
    "BSD 3-Clause License": "BSD-3-Clause",
    "Attribution-NonCommercial 4.0 International": "CC-BY-NC-4.0",
}
"""Beginning of a licence's text, blanks squeezed -> its SPDX identifier."""


def _repositories(files: Iterable[SourceFile], tasks: Iterable[Task], blobs: Mapping[str, bytes]) -> str:
    n_files = Counter(file.repo for file in files)
    n_tasks = Counter(task.repo for task in tasks)
    results = {}
    for repo in sorted(n_files):
        text = decode(blobs[f"{repo}/LICENSE"])
        squeezed = " ".join(text.split())
        licence = next((name for begin, name in _LICENCES.items() if squeezed.startswith(begin)), None)
        if licence is None:
            raise DatasetError(f"the licence of {repo} is not recognised: it begins {text.strip()[:60]!r}")
        results[repo] = asdict(Repository(n_tasks[repo], n_files[repo], licence))
    return json.dumps(results, indent=2) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", required=True, type=Path, help="folder with datasets.zip and function_level.zip")
    parser.add_argument("--output", type=Path, default=Path(__file__).resolve().parents[1] / "data" / "index")
    arguments = parser.parse_args()
    for written in build_index(arguments.source, arguments.output):
        print(f"{written}: {written.stat().st_size} bytes")
