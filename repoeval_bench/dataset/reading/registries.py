"""Registries of published packages: the index of pip's settings, and the registry of npm's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from repoeval_bench.core.errors import UsageError
from repoeval_bench.dataset.reading.npm import Npm
from repoeval_bench.dataset.reading.pypi import PyPI, Sdist
from repoeval_bench.dataset.sources.index_client import open_index

if TYPE_CHECKING:
    from repoeval_bench.dataset.reading.origin import Origin


KINDS: Mapping[str, type[Npm | PyPI]] = {"npm": Npm, "pypi": PyPI, "sdist": Sdist}
"""Kind of registry -> its class: how a source is written, and the registry itself."""


@contextmanager
def open_registry(kind: str) -> Iterator[Npm | PyPI]:
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
