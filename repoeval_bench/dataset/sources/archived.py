"""Upstream's archives, from upstream itself, a folder or an address; or those of a user's own set.

Each file is checked against the shipped index. A folder with a `repoeval.json` such as `{"name": "mini"}` is a set of
the user's own, which has nothing to be checked against.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field

from repoeval_bench.core.errors import DatasetError, NoDataError
from repoeval_bench.core.files import git_blob_id, sha256_file, short_hash, slug, work_folder, write_atomic
from repoeval_bench.core.json_reader import faults_as, parse, read_document
from repoeval_bench.core.progress import progress
from repoeval_bench.dataset import index
from repoeval_bench.dataset.archives import read_zip
from repoeval_bench.dataset.repoeval import FUNCTION, NAME, TASK_ARCHIVE, TASK_FILE_END
from repoeval_bench.dataset.sources import SetFacts, Source, SourceError
from repoeval_bench.dataset.trees import is_included_path, is_source_path, text_hash

if TYPE_CHECKING:
    import httpx

MANIFEST = "repoeval.json"

# The published archives stay far below.
LARGEST = 256 * 1024 * 1024
"""Bytes of a download."""

ATTEMPTS = 4
"""Attempts after a break or a silence in the middle."""

PAUSE = 0.5
"""Seconds before the second attempt at most, doubled with each further one."""

TIMEOUT = 30.0
"""Seconds to wait for the next bytes."""


class _OwnSet(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,40}$")]


class ArchiveSource(Source):
    """A source of archives in upstream's layout; a subclass says where an archive comes from."""

    facts = SetFacts(name=NAME, source="mirror")

    @abstractmethod
    def archive(self, name: str) -> AbstractContextManager[Path]:
        """An archive by its file name, for as long as it is read."""

    def task_files(self) -> Iterator[tuple[str, bytes]]:
        """See `Source`; found at any depth, and where published each verified by its git blob id."""
        blobs = index.sources().task_files if self.facts.official else {}

        def is_included(name: str) -> bool:
            base = name.rpartition("/")[2]
            return base in blobs if blobs else base.endswith(TASK_FILE_END)

        with self.archive(TASK_ARCHIVE) as path:
            for name, content in read_zip(path, is_included):
                base = name.rpartition("/")[2]
                if blobs and git_blob_id(content) != blobs[base]:
                    raise _wrong_hash(f"{base} in {path}")
                yield base, content

    def tree_files(self, tree: str) -> Iterator[tuple[str, bytes]]:
        """See `Source`.

        At function level each source file is verified by the SHA-256 of its LF-normalised text. A file that the index
        does not know goes to `skipped`, and a missing one is a DatasetError. At the other levels the whole archive is
        verified. The files may be in a folder of the tree's name.
        """
        with self.archive(f"{tree}.zip") as path:
            known = index.file_hashes(tree) if self.facts.official else {}
            if self.facts.official and not known and not is_upstream(path):
                raise _wrong_hash(str(path))
            files = ((name.partition(f"{tree}/")[2] or name, raw) for name, raw in read_zip(path, is_included_path))
            yield from self._verified(files, known, path) if known else files

    def _verified(
        self, files: Iterator[tuple[str, bytes]], known: dict[str, str], path: Path
    ) -> Iterator[tuple[str, bytes]]:
        missing = set(known)
        for name, content in files:
            if is_source_path(name):
                if name not in known:
                    self.skipped += (name,)
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
def downloaded(url: str, name: str) -> Iterator[Path]:
    """Give a downloaded archive under its name, and delete it afterwards."""
    with work_folder("archives") as folder:
        download(url, folder / name)
        yield folder / name


def download(url: str, target: Path) -> None:
    """Fetch `url` to `target`, which gets its name when it is complete; the caller checks its bytes by hash.

    SourceError: the server cannot be reached, refuses, breaks off too often, or sends more than `LARGEST` bytes.
    """
    import httpx
    from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

    broken = retry_if_exception_type((httpx.ReadError, httpx.ReadTimeout, httpx.RemoteProtocolError))
    wait = wait_random_exponential(multiplier=PAUSE, max=30)
    shown = re.sub(r"//[^/]*@", "//", url)  # without a password
    timeout = httpx.Timeout(TIMEOUT, connect=5.0)
    try:
        # pooch would not do: it bounds no size.
        with httpx.Client(timeout=timeout, follow_redirects=True, headers={"Accept-Encoding": "identity"}) as client:
            again = Retrying(stop=stop_after_attempt(ATTEMPTS), wait=wait, retry=broken, reraise=True)
            again(_transfer, client, url, target)
    except httpx.HTTPStatusError as error:
        raise SourceError(f"the server answers {error.response.status_code} for {shown}") from error
    except (httpx.HTTPError, httpx.InvalidURL, ImportError, ValueError, FileNotFoundError) as error:
        # The last three: the environment names a proxy or certificates that do not exist or are not supported.
        raise SourceError(f"{shown} cannot be fetched ({error or type(error).__name__}); try again") from error


def _transfer(client: httpx.Client, url: str, target: Path) -> None:
    with client.stream("GET", url) as reply:
        reply.raise_for_status()
        total = int(reply.headers.get("Content-Length", 0)) or None
        with progress(desc=target.name, unit="B", total=total, unit_scale=True) as bar:

            def blocks() -> Iterator[bytes]:
                for block in reply.iter_raw():
                    if reply.num_bytes_downloaded > LARGEST:
                        raise SourceError(f"{target.name} is refused: it has more than {LARGEST:,} bytes")
                    yield block
                    bar.update(len(block))

            write_atomic(target, blocks())


def is_upstream(path: Path) -> bool:
    """Return whether an archive is, byte for byte, the one that upstream publishes under this name."""
    return git_blob_id(path.read_bytes()) == index.sources().archives[path.name].blob


def _wrong_hash(what: str) -> DatasetError:
    return DatasetError(
        f"{what} has a wrong hash: it is not RepoEval's; fetch it again, or add a {MANIFEST} for a set of your own"
    )


class GitHub(ArchiveSource):
    """Upstream itself, at the commits that the index pins; each archive is verified as a whole."""

    folder = "github"
    facts = SetFacts(name=NAME, source=folder)

    @contextmanager
    def archive(self, name: str) -> Iterator[Path]:
        """See `ArchiveSource`."""
        url = index.sources().archives[name].url
        with downloaded(url, name) as path:
            if not is_upstream(path):
                raise SourceError(f"{name} from {url} has a wrong hash; fetch it again")
            yield path


class MirrorFolder(ArchiveSource):
    """A folder with archives."""

    def __init__(self, path: Path) -> None:
        self._path = path.expanduser().absolute()
        archives = sorted(self._path.glob("*.zip"))
        if not archives:
            lacks = "has no archives" if self._path.is_dir() else "does not exist"
            raise NoDataError(
                f"the source {path} {lacks}; {TASK_ARCHIVE} and {FUNCTION.tree}.zip are expected in it (for code, use "
                "`repoeval-bench recommend FOLDER`, or make a pack with `data build`)"
            )
        manifest = self._path / MANIFEST
        self.folder = f"mirror-{slug(self._path.name)}-{short_hash(str(self._path.resolve()))}"
        if manifest.is_file():
            with faults_as(DatasetError, manifest, 'write {"name": "NAME"} in it'):
                own = parse(read_document(manifest), _OwnSet, "file")
            self.facts = SetFacts(name=f"custom-{own.name}", source="mirror")
            # A user's own set is known by its content, so that an edited one gets a folder of its own.
            self.folder = f"custom-{slug(own.name)}-{short_hash(' '.join(map(sha256_file, archives)))}"

    def archive(self, name: str) -> AbstractContextManager[Path]:
        """See `ArchiveSource`."""
        path = self._path / name
        if not path.is_file():
            raise DatasetError(f"the data folder {self._path} holds no {name}")
        return nullcontext(path)


class MirrorUrl(ArchiveSource):
    """An address with archives; nothing is asked of the server while its set is installed."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        bare = re.sub(r"//[^/]*@", "//", self._url)  # a password is not part of a folder's name
        self.folder = f"mirror-{slug(bare.partition('//')[2])}-{short_hash(bare)}"

    def archive(self, name: str) -> AbstractContextManager[Path]:
        """See `ArchiveSource`."""
        return downloaded(f"{self._url}/{name}", name)
