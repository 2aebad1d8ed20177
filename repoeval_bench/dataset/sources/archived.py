"""Upstream's archives, from upstream itself, a folder or an address; or those of a user's own set.

Each file is checked against the shipped index, or against the pins of the user's own set.
"""

from __future__ import annotations

import io
import re
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from repoeval_bench.core.errors import DatasetError, NoDataError
from repoeval_bench.core.files import git_blob_id, sha256_file
from repoeval_bench.core.json_reader import JsonFaultError, UnreadableError, parse, read_document
from repoeval_bench.core.spec import short_hash, slug
from repoeval_bench.dataset import index
from repoeval_bench.dataset.archives import read_zip
from repoeval_bench.dataset.repoeval import FUNCTION, NAME, TASK_ARCHIVE, TASK_FILE_END
from repoeval_bench.dataset.sources import SetFacts, Source, SourceError
from repoeval_bench.dataset.trees import is_included_path, is_source_path, text_hash

MANIFEST = "repoeval.json"

MOST_OF_A_MANIFEST = 1024 * 1024
"""Bytes; one of ten archives has a thousand."""


class SetManifest(BaseModel):
    """A `repoeval.json`: it names a user's own set and pins each of its archives by SHA-256."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,40}$")]
    sha256: dict[str, Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]]
    licences: dict[str, str] = {}

    @classmethod
    def read(cls, path: Path, where: str) -> SetManifest:
        """Read a manifest; a DatasetError lists every field that is not as expected."""
        try:
            return parse(read_document(path), cls, "file")
        except (JsonFaultError, UnreadableError) as fault:
            faults = getattr(fault, "faults", [str(fault)])
            raise DatasetError(f"{where} is not a manifest of a data set: {'; '.join(faults)}") from fault

    def check(self, path: Path) -> None:
        """A DatasetError where an archive is not the pinned one."""
        if path.name not in self.sha256:
            raise DatasetError(f"{MANIFEST} of {self.name!r} does not pin {path.name}; add its SHA-256")
        if sha256_file(path) != self.sha256[path.name]:
            raise DatasetError(
                f"{path} does not have the SHA-256 that {MANIFEST} of {self.name!r} pins; fetch it again or correct "
                "the manifest"
            )


class ArchiveSource(Source):
    """A source of archives in upstream's layout; a subclass says where an archive comes from."""

    kind: str

    @property
    def manifest(self) -> SetManifest | None:
        """Return the manifest of a user's own set; None for the published benchmark."""
        return None

    @property
    def facts(self) -> SetFacts:
        """See `Source`."""
        manifest = self.manifest
        if manifest is None:
            return SetFacts(name=NAME, source=self.kind)
        pins = short_hash(manifest.model_dump_json(), 64)
        return SetFacts(name=f"custom-{manifest.name}", source=self.kind, pins=pins, licences=manifest.licences)

    @abstractmethod
    def archive(self, name: str) -> AbstractContextManager[Path]:
        """An archive by its file name, for as long as it is read."""

    def task_files(self) -> Iterator[tuple[str, bytes]]:
        """See `Source`; found at any depth, and where published each verified by its git blob id."""
        blobs = index.sources().task_files if self.manifest is None else None

        def is_included(name: str) -> bool:
            base = _base_name(name)
            return base.endswith(TASK_FILE_END) if blobs is None else base in blobs

        with self.archive(TASK_ARCHIVE) as path:
            if self.manifest is not None:
                self.manifest.check(path)
            taken: set[str] = set()
            for name, content in read_zip(path, is_included):
                base = _base_name(name)
                if base in taken:
                    raise DatasetError(f"the archive {path} is refused: it holds two task files named {base}; keep one")
                taken.add(base)
                if blobs is not None and git_blob_id(io.BytesIO(content), len(content)) != blobs[base]:
                    raise _wrong_hash(f"{base} in {path}")
                yield base, content

    def tree_files(self, tree: str) -> Iterator[tuple[str, bytes]]:
        """See `Source`.

        At function level each source file is verified by the SHA-256 of its LF-normalised text. A file that the index
        does not know goes to `skipped`, and a missing one is a DatasetError. At the other levels, and for a user's own
        set, the whole archive is verified.
        """
        with self.archive(f"{tree}.zip") as path:
            known = index.file_hashes(tree) if self.manifest is None else {}
            if self.manifest is not None:
                self.manifest.check(path)
            elif not known and not is_upstream(path):
                raise _wrong_hash(str(path))
            files = read_zip(path, is_included_path)
            bare = _without_wrapper(files, tree, several=self.manifest is None)
            yield from self._verified(bare, known, path) if known else bare

    def _verified(
        self, files: list[tuple[str, bytes]], known: dict[str, str], path: Path
    ) -> Iterator[tuple[str, bytes]]:
        missing = set(known)
        for name, content in files:
            if is_source_path(name):
                if name not in known:
                    self.skipped.append(name)
                    continue
                if text_hash(content) != known[name]:
                    raise _wrong_hash(f"{name} in {path}")
                missing.discard(name)
            yield name, content
        if missing:
            raise DatasetError(
                f"{path} is not the whole of RepoEval: {len(missing)} of {len(known)} files are missing, "
                f"first {min(missing)}"
            )


@contextmanager
def downloaded(url: str, path: Path, most: int | None = None) -> Iterator[Path]:
    """Give a downloaded archive, and delete it afterwards, also if it is refused.

    `most` bounds its bytes where it is not an archive but a small file.
    """
    from repoeval_bench.dataset.sources.download import LARGEST, download

    download(url, path, most or LARGEST)
    try:
        yield path
    except DatasetError:
        path.unlink()
        raise
    path.unlink()


def is_upstream(path: Path) -> bool:
    """Return whether an archive is, byte for byte, the one that upstream publishes under this name."""
    with path.open("rb") as stream:
        return git_blob_id(stream, path.stat().st_size) == index.sources().archives[path.name].blob


def _wrong_hash(what: str) -> DatasetError:
    return DatasetError(
        f"{what} has a wrong hash: it is not RepoEval's; fetch it again, or add a {MANIFEST} for a set of your own"
    )


def _base_name(name: str) -> str:
    return name.rpartition("/")[2]


def _without_wrapper(members: Iterator[tuple[str, bytes]], tree: str, *, several: bool) -> list[tuple[str, bytes]]:
    """The files without the folder that some packers put around all repositories.

    A folder around everything is a wrapper if it is named like the tree, or if `several` repositories are known to be
    inside. Otherwise it is the one repository.
    """
    files = list(members)
    while files:
        tops = {name.partition("/")[0] for name, _ in files if "/" in name}
        (top,) = tops if len(tops) == 1 else ("",)
        if top != tree and not (top and several):
            break
        files = [(name.removeprefix(f"{top}/"), content) for name, content in files]
    return files


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
            what = "is not a folder" if self._path.exists() else "does not exist"
            raise NoDataError(f"the data folder {path} {what}; name another with --source FOLDER")
        if not any(self._path.glob("*.zip")):
            raise NoDataError(
                f"the data folder {path} holds no archive; {TASK_ARCHIVE} and {FUNCTION.tree}.zip are expected in it "
                "(with code use `repoeval-bench recommend FOLDER`, or make a pack with `data build`)"
            )
        # A user's own set is known by its pins, so that an edited one gets a folder of its own.
        self.folder = (
            f"{slug(self.facts.name)}-{self.facts.pins[:8]}"
            if self.manifest
            else f"mirror-{slug(self._path.name)}-{short_hash(str(self._path.resolve()))}"
        )

    @cached_property
    def manifest(self) -> SetManifest | None:
        """See `ArchiveSource`."""
        path = self._path / MANIFEST
        return SetManifest.read(path, str(path)) if path.is_file() else None

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
    def manifest(self) -> SetManifest | None:
        """See `ArchiveSource`; asks the server."""
        from repoeval_bench.dataset.sources.download import AbsentError

        path = self._downloads / MANIFEST
        path.unlink(missing_ok=True)  # one that was left behind may be outdated
        try:
            with downloaded(f"{self._url}/{MANIFEST}", path, MOST_OF_A_MANIFEST):
                return SetManifest.read(path, f"{MANIFEST} of the mirror")
        except AbsentError:
            return None

    def archive(self, name: str) -> AbstractContextManager[Path]:
        """See `ArchiveSource`."""
        return downloaded(f"{self._url}/{name}", self._downloads / name)
