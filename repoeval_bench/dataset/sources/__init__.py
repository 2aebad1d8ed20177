"""Sources of data: upstream's pinned archives, mirrors of them, and package indexes.

A source yields verified files without installing them; `install` does that. Only this package talks to a network.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator

from pydantic import BaseModel, ConfigDict

from repoeval_bench.core.errors import DatasetError
from repoeval_bench.dataset.repoeval import NAME


class SourceError(DatasetError):
    """A source cannot be reached or has wrong content; another source may work."""


class TamperedError(SourceError):
    """A file is not the one that its hash promises."""


class SetFacts(BaseModel):
    """Facts of a set: `name` is `repoeval` for the published benchmark, `custom-…` for a user's own set."""

    model_config = ConfigDict(frozen=True)

    name: str
    source: str
    licences: dict[str, str] = {}

    @property
    def official(self) -> bool:
        """Return whether every file was verified against the published benchmark."""
        return self.name == NAME


class Source(ABC):
    """A source of data."""

    folder: str
    """The name of the folder that its set is installed in."""
    facts: SetFacts
    """What is written beside the set."""
    # RepoEval has other ones.
    skipped: tuple[str, ...] = ()
    """Files that were found while yielding and not taken."""

    @abstractmethod
    def task_files(self) -> Iterator[tuple[str, bytes]]:
        """Return (file name, content) of every task file it holds; a wrong hash is a DatasetError."""

    @abstractmethod
    def tree_files(self, tree: str) -> Iterator[tuple[str, bytes]]:
        """Return (`repository/path`, content) of a tree's source and licence files, verified likewise."""
