"""Package indexes: the wheel or sdist of a version, and the part of RepoEval that is published as wheels.

Files come from where pip's settings say, and are checked against the index's hashes.

Three repositories of RepoEval are published file for file. Their tasks are rebuilt from the shipped coordinates, and
every text is checked against its SHA-256.
"""

from __future__ import annotations

import ast
import os
import ssl
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from repoeval_bench.core.benchmark import Task
from repoeval_bench.core.errors import DatasetError
from repoeval_bench.core.files import sha256_file, sha256_text, work_folder
from repoeval_bench.core.source import SourceFile
from repoeval_bench.dataset import index
from repoeval_bench.dataset.archives import read_zip
from repoeval_bench.dataset.repoeval import FUNCTION, NAME, TaskSet, dump_tasks, task_sets
from repoeval_bench.dataset.sources import SetFacts, Source, SourceError, TamperedError
from repoeval_bench.dataset.trees import decode, is_included_path, is_source_path, text_hash

if TYPE_CHECKING:
    from unearth import Package, PackageFinder


def fetch_wheels(folder: Path) -> Iterator[tuple[index.Wheel, Path]]:
    """Yield each pinned wheel, fetched; a SourceError says why one could not be, or that it is another one."""
    with open_index() as packages:
        for wheel in index.sources().wheels:
            name, _, version = wheel.requirement.partition("==")
            path = packages.fetch(name, version, folder)
            if sha256_file(path) != wheel.sha256:
                raise SourceError(f"the package index has another {path.name} than the one that was published")
            yield wheel, path


class PackageIndex(Source):
    """The pinned wheels; a source file whose text is not RepoEval's is `skipped`."""

    folder = "pypi"
    facts = SetFacts(name=NAME, source="pypi")

    @cached_property
    def _files(self) -> dict[str, bytes]:
        """`repository/path` -> content of what is taken from the wheels."""
        with work_folder("wheels") as folder:
            files, self.skipped = take_files(fetch_wheels(folder))
            return files

    def task_files(self) -> Iterator[tuple[str, bytes]]:
        """See `Source`; all task files of the function level, in upstream's format."""
        for task_set in task_sets(FUNCTION):
            yield task_set.task_file, dump_tasks(rebuild_tasks(task_set, self._files))

    def tree_files(self, tree: str) -> Iterator[tuple[str, bytes]]:
        """See `Source`; other levels are refused before a source is opened."""
        assert tree == FUNCTION.tree
        yield from self._files.items()


def take_files(wheels: Iterable[tuple[index.Wheel, Path]]) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Return (`repository/path` -> content, files left out) of the wheels.

    Source files are taken whose text hashes as the index says, and licences.
    """
    known = index.file_hashes(FUNCTION.tree)
    taken: dict[str, bytes] = {}
    skipped: list[str] = []
    for wheel, path in wheels:
        for name, packed in read_zip(path, is_included_path):
            if not is_source_path(name):
                taken[f"{wheel.repository}/{name.rpartition('/')[2]}"] = packed
                continue
            full, content = f"{wheel.repository}/{name}", packed
            # Two published files differ from the repository's by one word, which the index names.
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
        task, name = coordinates.task, coordinates.task.file
        if coordinates.prompt is None or name not in files:
            continue
        if name not in sources:
            sources[name] = SourceFile(task.repo, task.path, decode(files[name]))
        prompt, ground_truth = sources[name].slice(coordinates.prompt), sources[name].line_text(task.body)
        if (sha256_text(prompt), sha256_text(ground_truth)) != coordinates.hashes:
            raise DatasetError(f"{task.task_id}: the text at its place in {name} has a wrong hash")
        tasks.append(replace(task, prompt=prompt, ground_truth=ground_truth))
    return tasks


_DEFAULT_INDEX = "https://pypi.org/simple/"


# `pip download` would build what it fetches to learn its dependencies; unearth fetches, and runs nothing.
class Index:
    """The package index of pip's settings, asked over one connection; see `open_index`."""

    def __init__(self, finder: PackageFinder) -> None:
        self._finder = finder

    def files(self, name: str) -> list[Package]:
        """All files of a package, the newest version first; a SourceError where the index has no such package."""
        import httpx2

        try:
            packages = list(self._finder.find_all_packages(name, allow_yanked=True))
        except (httpx2.HTTPError, OSError, ValueError) as error:
            raise SourceError(f"the package index does not answer for {name} ({error})") from error
        if not packages:
            raise SourceError(
                f"the package index has no package {name}, or cannot be reached; check the name, and pip's settings"
            )
        return packages

    def fetch(self, name: str, version: str, folder: Path, *, file: str = "", sdist: bool = False) -> Path:
        """Fetch the pure-Python wheel of a version, else its sdist, into this folder.

        With `sdist` it is the sdist alone. `file` names another file of it. A SourceError where the index has no such
        version, neither wheel nor sdist of it, cannot be reached, or states another hash.
        """
        import httpx2
        from unearth.errors import HashMismatchError, UnpackError
        from unearth.preparer import download_link

        package = self._choose(name, version, file, sdist=sdist)
        try:
            return download_link(self._finder.session, package.link, folder, package.link.hash_option)
        except HashMismatchError as error:
            raise TamperedError(
                f"{package.link.filename} could not be fetched (its bytes have another hash)"
            ) from error
        except (httpx2.HTTPError, UnpackError, OSError) as error:
            raise SourceError(f"{package.link.filename} could not be fetched ({str(error).splitlines()[0]})") from error

    def _choose(self, name: str, version: str, file: str, *, sdist: bool) -> Package:
        """The pure-Python wheel of a version, else its sdist, or the `file`; a SourceError says what is missing."""
        packages = self.files(name)
        # As pip does (PEP 592), a version that is named exactly is taken though it was yanked.
        matching = list(self._finder.find_matches(f"{name}=={version}", allow_yanked=True, allow_prereleases=True))
        if not matching:
            known = list(dict.fromkeys(str(package.version) for package in packages))[:5]
            raise SourceError(
                f"the package index has no {name} in version {version}; the newest are {', '.join(known)}"
            )
        wheels = [] if sdist else [one for one in matching if one.link.filename.endswith("-none-any.whl")]
        sdists = [one for one in matching if not one.link.is_wheel]
        fitting = [one for one in matching if one.link.filename == file] if file else wheels or sdists
        if not fitting:
            sought = file or ("sdist" if sdist else "pure-Python wheel or sdist")
            raise SourceError(f"the package index has no {sought} of {name} {version}; name a folder or an archive")
        return fitting[0]


def pip_settings() -> dict[str, str]:
    """Settings of pip for downloads by name (`index-url`), merged as pip does: files, then variables."""
    # So index, mirrors, proxy, certificates and keys are the user's own.
    command = [sys.executable, "-P", "-m", "pip", "config", "list"]  # not a pip.py of the current folder
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    layers: dict[str, dict[str, str]] = {"global": {}, "download": {}, ":env:": {}}
    for line in done.stdout.splitlines():
        key, equals, value = line.partition("=")
        section, dot, option = key.partition(".")
        if equals and dot and section in layers:
            layers[section][option] = str(ast.literal_eval(value))
    if done.returncode != 0:  # an environment without pip: its variables are what is left of its settings
        variables = ((key.partition("PIP_"), value) for key, value in os.environ.items() if key.startswith("PIP_"))
        layers[":env:"] = {name.lower().replace("_", "-"): value for (_, _, name), value in variables}
    return layers["global"] | layers["download"] | layers[":env:"]


@contextmanager
def open_index() -> Iterator[Index]:
    """The package index that pip's settings name."""
    from unearth import PackageFinder
    from unearth.auth import MultiDomainBasicAuth
    from unearth.fetchers.sync import PyPIClient

    settings = pip_settings()

    def words(option: str) -> list[str]:
        return settings.get(option, "").split()

    alone = settings.get("no-index", "") in {"1", "true", "yes", "on"}
    indexes = [] if alone else [settings.get("index-url", _DEFAULT_INDEX), *words("extra-index-url")]
    try:
        verify: ssl.SSLContext | bool = True
        if settings.get("cert"):
            verify = ssl.create_default_context(cafile=settings["cert"])
        client = PyPIClient(
            trusted_hosts=words("trusted-host"),
            verify=verify,
            cert=settings.get("client-cert"),
            timeout=float(settings.get("default-timeout", settings.get("timeout", 15))),
            proxy=settings.get("proxy"),
            follow_redirects=True,
        )
    except (ValueError, OSError, ImportError) as error:
        raise SourceError(f"pip's settings of proxy, certificates or time cannot be used ({error})") from error
    with client:
        client.auth = MultiDomainBasicAuth(prompting=False, index_urls=indexes)
        finder = PackageFinder(
            client,  # type: ignore[arg-type]  # unearth's own client, whose signature is wider than its protocol
            index_urls=indexes,
            find_links=words("find-links"),
            trusted_hosts=words("trusted-host"),
            ignore_compatibility=True,
        )
        yield Index(finder)
