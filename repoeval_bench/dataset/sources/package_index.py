"""The part of RepoEval that package indexes serve: three repositories, published file for file as wheels.

The wheels come from where pip's settings say, so that a company's own index, proxy and certificates are honoured. The
tasks are rebuilt from the shipped coordinates, and every text is checked against its SHA-256. Two published files
differ from the repository's by one word; the index names the word, and the hash decides as for any file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path

from repoeval_bench.core.benchmark import Task
from repoeval_bench.core.errors import DatasetError
from repoeval_bench.core.files import sha256_file, sha256_text, work_folder
from repoeval_bench.core.source import SourceFile
from repoeval_bench.dataset import index
from repoeval_bench.dataset.archives import read_zip
from repoeval_bench.dataset.repoeval import FUNCTION, NAME, TaskSet, dump_tasks, task_sets
from repoeval_bench.dataset.sources import SetFacts, Source, SourceError
from repoeval_bench.dataset.sources.index_client import open_index
from repoeval_bench.dataset.trees import decode, is_included_path, is_source_path, text_hash


def fetch_wheels(folder: Path) -> None:
    """Fetch the pinned wheels; a SourceError says why one could not be fetched, or that it is another one."""
    with open_index() as packages:
        for wheel in index.sources().wheels:
            name, _, version = wheel.requirement.partition("==")
            path, _ = packages.fetch(name, version, folder)
            if sha256_file(path) != wheel.sha256:
                raise SourceError(f"the package index has another {path.name} than the one that was published")


class PackageIndex(Source):
    """The pinned wheels; a source file whose text is not RepoEval's is `skipped`."""

    folder = "pypi"
    facts = SetFacts(name=NAME, source="pypi")

    @cached_property
    def _files(self) -> dict[str, bytes]:
        """`repository/path` -> content of what is taken from the wheels."""
        with work_folder("wheels") as folder:
            fetch_wheels(folder)
            files, self.skipped = take_files(folder)
            return files

    def task_files(self) -> Iterator[tuple[str, bytes]]:
        """See `Source`; all task files of the function level, in upstream's format."""
        for task_set in task_sets(FUNCTION):
            yield task_set.task_file, dump_tasks(rebuild_tasks(task_set, self._files))

    def tree_files(self, tree: str) -> Iterator[tuple[str, bytes]]:
        """See `Source`."""
        if tree != FUNCTION.tree:
            raise DatasetError(f"the source pypi holds no {tree}; it carries the {FUNCTION.name} level only")
        yield from self._files.items()


def take_files(folder: Path) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Return (`repository/path` -> content, files left out) of the wheels.

    Source files are taken whose text hashes as the index says, and licences.
    """
    known = index.file_hashes(FUNCTION.tree)
    taken: dict[str, bytes] = {}
    skipped: list[str] = []
    for wheel in index.sources().wheels:
        project, _, version = wheel.requirement.partition("==")
        path = next(folder.glob(f"{project.replace('-', '_')}-{version}-*.whl"), None)
        if path is None:
            raise SourceError(f"the package index sent no wheel of {wheel.requirement}")
        for name, packed in read_zip(path, is_included_path):
            if not is_source_path(name):
                taken[f"{wheel.repository}/{name.rpartition('/')[2]}"] = packed
                continue
            full, content = f"{wheel.repository}/{name}", packed
            if name in wheel.edits and text_hash(content) != known.get(full):
                content = wheel.edits[name].apply(decode(content)).encode()
            if text_hash(content) == known.get(full):
                taken[full] = content
            else:
                skipped.append(full)
    return taken, tuple(skipped)


def rebuild_tasks(task_set: TaskSet, files: Mapping[str, bytes]) -> list[Task]:
    """The tasks whose file is here and whose prompt is an exact range of it, equal to upstream's.

    `files` is `repository/path` -> content. A text that does not hash as the index says is a DatasetError.
    """
    tasks = []
    sources: dict[str, SourceFile] = {}
    for coordinates in index.coordinates(task_set):
        name = f"{coordinates.repo}/{coordinates.path}"
        if coordinates.prompt is None or name not in files:
            continue
        if name not in sources:
            sources[name] = SourceFile(coordinates.repo, coordinates.path, decode(files[name]))
        prompt = sources[name].slice(coordinates.prompt)
        ground_truth = sources[name].line_text(coordinates.body)
        if (sha256_text(prompt), sha256_text(ground_truth)) != coordinates.hashes:
            raise DatasetError(f"{coordinates.task_id}: the text at its place in {name} has a wrong hash")
        tasks.append(
            Task(
                task_id=coordinates.task_id,
                repo=coordinates.repo,
                path=coordinates.path,
                prompt=prompt,
                ground_truth=ground_truth,
                body=coordinates.body,
                context_start=coordinates.context_start,
                level=task_set.level,
                function_name=coordinates.function_name,
            )
        )
    return tasks
