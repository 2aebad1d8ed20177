"""Upstream itself, at the commits that the index pins; each archive is verified as a whole."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from repoeval_bench.dataset import index
from repoeval_bench.dataset.sources import SourceError
from repoeval_bench.dataset.sources.archived import ArchiveSource, downloaded, is_upstream

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class GitHub(ArchiveSource):
    """The published archives."""

    kind = folder = "github"

    def __init__(self, home: Path) -> None:
        super().__init__()
        self._downloads = home / "datasets" / self.folder / "downloads"

    @contextmanager
    def archive(self, name: str) -> Iterator[Path]:
        """See `ArchiveSource`."""
        url = index.sources().archives[name].url
        with downloaded(url, self._downloads / name) as path:
            if not is_upstream(path):
                raise SourceError(f"{name} from {url} has a wrong hash; fetch it again")
            yield path
