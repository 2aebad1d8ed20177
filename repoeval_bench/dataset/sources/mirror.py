"""Upstream's archives, or mirrors of them in a folder or at an address, verified by hash; or a user's own set."""

from __future__ import annotations

import re
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from repoeval_bench.core.errors import DatasetError, NoDataError
from repoeval_bench.core.spec import short_hash, slug
from repoeval_bench.dataset import index
from repoeval_bench.dataset.repoeval import FUNCTION, TASK_ARCHIVE
from repoeval_bench.dataset.sources import SourceError
from repoeval_bench.dataset.sources.archived import (
    MANIFEST,
    MOST_OF_A_MANIFEST,
    ArchiveSource,
    Manifest,
    downloaded,
    is_upstream,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path


class GitHub(ArchiveSource):
    """Upstream itself, at the commits that the index pins; each archive is verified as a whole."""

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


class MirrorFolder(ArchiveSource):
    """A folder with archives."""

    kind = "mirror"

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path.expanduser().absolute()
        if not self._path.is_dir():
            raise NoDataError(f"the data folder {path} does not exist; name another with --source FOLDER")
        if not any(self._path.glob("*.zip")):
            raise NoDataError(
                f"the data folder {path} holds no archive; {TASK_ARCHIVE} and {FUNCTION.tree}.zip are expected in it "
                "(of a folder of code, `repoeval-bench data build` makes a pack)"
            )
        # A user's own set is known by its pins, so that an edited one gets a folder of its own.
        self.folder = (
            f"{slug(self.facts.name)}-{self.facts.pins[:8]}"
            if self.manifest
            else f"mirror-{slug(self._path.name)}-{short_hash(str(self._path.resolve()))}"
        )

    @cached_property
    def manifest(self) -> Manifest | None:
        """See `ArchiveSource`."""
        path = self._path / MANIFEST
        return Manifest.read(path, str(path)) if path.is_file() else None

    @contextmanager
    def archive(self, name: str) -> Iterator[Path]:
        """See `ArchiveSource`."""
        path = self._path / name
        if not path.is_file():
            raise DatasetError(f"the data folder {self._path} holds no {name}")
        yield path


class MirrorUrl(ArchiveSource):
    """An address with archives; nothing is asked of the server while its set is installed."""

    kind = "mirror"

    def __init__(self, url: str, home: Path) -> None:
        super().__init__()
        self._url = url.rstrip("/")
        bare = re.sub(r"//[^/]*@", "//", self._url)  # a password is not part of a folder's name
        self.folder = f"mirror-{slug(bare.partition('//')[2])}-{short_hash(bare)}"
        self._downloads = home / "datasets" / self.folder / "downloads"

    @cached_property
    def manifest(self) -> Manifest | None:
        """See `ArchiveSource`; asks the server."""
        from repoeval_bench.dataset.sources.download import AbsentError

        path = self._downloads / MANIFEST
        path.unlink(missing_ok=True)  # one that was left behind may be outdated
        try:
            with downloaded(f"{self._url}/{MANIFEST}", path, MOST_OF_A_MANIFEST):
                return Manifest.read(path, f"{MANIFEST} of the mirror")
        except AbsentError:
            return None

    def archive(self, name: str) -> AbstractContextManager[Path]:
        """See `ArchiveSource`."""
        return downloaded(f"{self._url}/{name}", self._downloads / name)
