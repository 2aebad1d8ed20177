"""Registries of published packages: the index of pip's settings, and the registry of npm's. One protocol for both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from repoeval_bench.core.errors import UsageError
from repoeval_bench.dataset.build.npm import Npm
from repoeval_bench.dataset.build.pypi import PyPI, Sdist
from repoeval_bench.dataset.sources.index_client import Release, open_index

if TYPE_CHECKING:
    from repoeval_bench.dataset.build.origin import Origin


class Registry(Protocol):
    """A registry of published packages. A file that cannot be fetched is a DatasetError."""

    def releases(self, name: str) -> list[Release]:
        """All releases of a package, the newest version first."""

    def open_release(self, name: str, version: str, work: Path, pinned: Mapping[str, Any] | None = None) -> Origin:
        """The package of a version, fetched into the folder `work`; `pinned` is what a pack has recorded of it.

        A TamperedError where it is not the one that was pinned.
        """

    def licence(self, path: Path) -> str:
        """The licence that the metadata of a fetched package states, as an SPDX expression where it can; else ""."""

    def source(self, name: str, version: str) -> str:
        """Return how the version is written as a source of a pack."""


KINDS: Mapping[str, type[Npm | PyPI]] = {"npm": Npm, "pypi": PyPI, "sdist": Sdist}
"""Kind of registry -> its class: how a source is written, and the registry itself."""


@contextmanager
def open_registry(kind: str) -> Iterator[Registry]:
    """The registry of a kind, `pypi`, `sdist` or `npm`, as the user's own settings name it."""
    if kind == "npm":
        yield Npm()
        return
    with open_index() as index:
        yield Sdist(index) if kind == "sdist" else PyPI(index)


def open_package(kind: str, text: str, work: Path) -> Origin:
    """The package that the source `kind:text` names, fetched into the folder `work`.

    UsageError: it is not written so. DatasetError: it cannot be fetched, or is not what the registry states.
    """
    written = KINDS[kind]
    match = written.spec.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"the source '{kind}:{text}' is not of the form {written.form}, such as {written.example}")
    with open_registry(kind) as registry:
        return registry.open_release(match["name"], match["version"], work)
