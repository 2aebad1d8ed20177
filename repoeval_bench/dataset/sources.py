"""The places that hold RepoEval's archives: upstream at pinned commits, and mirrors of it.

Each source yields files that were verified; what they are verified against is the shipped index, or for
somebody's own set (a folder with a `repoeval.json`) the hashes that this manifest pins.
"""

from __future__ import annotations

import hashlib
import io
import re
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from repoeval_bench.core.errors import DatasetError
from repoeval_bench.core.files import git_blob_id, sha256_file
from repoeval_bench.core.spec import short_hash, slug
from repoeval_bench.core.validation import expectation
from repoeval_bench.dataset import index
from repoeval_bench.dataset.archive import read_zip
from repoeval_bench.dataset.install import SetFacts, SourceError
from repoeval_bench.dataset.trees import decode, is_source_path

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from repoeval_bench.dataset.download import Patience

MANIFEST = "repoeval.json"


class CustomManifest(BaseModel):
    """A `repoeval.json`: it names somebody's own set and pins each of its archives by SHA-256."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,40}$")]
    sha256: dict[str, Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]]
    licences: dict[str, str] = {}

    @classmethod
    def parse(cls, raw: bytes, where: str) -> CustomManifest:
        """Read a manifest; a DatasetError lists every field that is not as expected."""
        try:
            return cls.model_validate_json(raw)
        except ValidationError as error:
            problems = "; ".join(
                f"{'.'.join(map(str, detail['loc'])) or 'file'}: {expectation(dict(detail))}"
                for detail in error.errors()
            )
            raise DatasetError(f"{where} is no manifest of a data set: {problems}") from error


class GitHub:
    """Upstream itself, at the commits that the index pins; each archive is verified as a whole."""

    folder = "github"
    facts = SetFacts("repoeval", "github")

    def __init__(self, home: Path) -> None:
        self.left_out: list[str] = []
        self._downloads = home / "datasets" / self.folder / "downloads"

    def task_files(self) -> Iterator[tuple[str, bytes]]:
        """See `install.Source`."""
        path = self._archive("datasets.zip")
        yield from task_files(path, None)
        path.unlink()

    def tree_files(self, tree: str) -> Iterator[tuple[str, bytes]]:
        """See `install.Source`."""
        path = self._archive(f"{tree}.zip")
        yield from tree_files(path, tree, None, self.left_out)
        path.unlink()

    def _archive(self, name: str) -> Path:
        from repoeval_bench.dataset.download import download

        path = download(index.archive(name).url, self._downloads / name)
        if not is_upstream(path, name):
            path.unlink()
            raise SourceError(f"{name} from {index.archive(name).url} has a wrong hash; fetch it again")
        return path


class MirrorFolder:
    """A folder with archives in upstream's layout; what it holds is verified file by file."""

    def __init__(self, path: Path) -> None:
        self.left_out: list[str] = []
        self._path = path.expanduser().absolute()
        if not self._path.is_dir():
            raise DatasetError(f"the data folder {path} does not exist; name another with --source FOLDER")
        if not any(self._path.glob("*.zip")):
            raise DatasetError(
                f"the data folder {path} holds no archive; datasets.zip and function_level.zip are expected in it"
            )
        manifest = self._path / MANIFEST
        self._manifest = CustomManifest.parse(manifest.read_bytes(), str(manifest)) if manifest.is_file() else None
        self.facts = facts_of(self._manifest)
        # A custom set is known by its pins, so that an edited one gets a folder of its own.
        self.folder = (
            f"{slug(self.facts.name)}-{self.facts.pins[:8]}"
            if self._manifest
            else f"mirror-{slug(self._path.name)}-{short_hash(str(self._path.resolve()))}"
        )

    def task_files(self) -> Iterator[tuple[str, bytes]]:
        """See `install.Source`."""
        return task_files(self._archive("datasets.zip"), self._manifest)

    def tree_files(self, tree: str) -> Iterator[tuple[str, bytes]]:
        """See `install.Source`."""
        return tree_files(self._archive(f"{tree}.zip"), tree, self._manifest, self.left_out)

    def _archive(self, name: str) -> Path:
        path = self._path / name
        if not path.is_file():
            raise DatasetError(f"the data folder {self._path} holds no {name}")
        return path


class MirrorUrl:
    """An address under which the archives lie in upstream's layout; verified like a folder.

    Nothing is asked of the server while its set is installed.
    """

    def __init__(self, url: str, home: Path, patience: Patience | None = None) -> None:
        self.left_out: list[str] = []
        self._url = url.rstrip("/")
        self._patience = patience
        bare = re.sub(r"//[^/]*@", "//", self._url)  # a password is no part of a folder's name
        self.folder = f"mirror-{slug(bare.partition('//')[2])}-{short_hash(bare)}"
        self._downloads = home / "datasets" / self.folder / "downloads"

    @cached_property
    def _manifest(self) -> CustomManifest | None:
        from repoeval_bench.dataset.download import Patience, fetch_small

        raw = fetch_small(f"{self._url}/{MANIFEST}", self._patience or Patience())
        return None if raw is None else CustomManifest.parse(raw, f"{MANIFEST} of the mirror")

    @cached_property
    def facts(self) -> SetFacts:
        """See `install.Source`; asks the server whether the set is a custom one."""
        return facts_of(self._manifest)

    def task_files(self) -> Iterator[tuple[str, bytes]]:
        """See `install.Source`."""
        with self._archive("datasets.zip") as path:
            yield from task_files(path, self._manifest)

    def tree_files(self, tree: str) -> Iterator[tuple[str, bytes]]:
        """See `install.Source`."""
        with self._archive(f"{tree}.zip") as path:
            yield from tree_files(path, tree, self._manifest, self.left_out)

    @contextmanager
    def _archive(self, name: str) -> Iterator[Path]:
        """The downloaded archive; gone afterwards, also where it was refused: it would be refused again."""
        from repoeval_bench.dataset.download import Patience, download

        path = download(f"{self._url}/{name}", self._downloads / name, self._patience or Patience())
        try:
            yield path
        except DatasetError:
            path.unlink()
            raise
        path.unlink()


def facts_of(manifest: CustomManifest | None) -> SetFacts:
    """What is written beside a mirror's set: the published benchmark, or the manifest's name and licences."""
    if manifest is None:
        return SetFacts("repoeval", "mirror")
    pins = short_hash(manifest.model_dump_json(), 64)
    return SetFacts(f"custom-{manifest.name}", "mirror", pins, manifest.licences)


def task_files(path: Path, manifest: CustomManifest | None) -> Iterator[tuple[str, bytes]]:
    """(name, content) of the task files in an archive, at any depth, each verified by its git blob id."""
    blobs = index.task_file_blobs()
    if manifest is not None:
        _check_pin(path, manifest)

    def wanted(name: str) -> bool:
        base = _base_name(name)
        return not name.startswith("__MACOSX/") and (
            base.endswith(".test.jsonl") if manifest is not None else base in blobs
        )

    for name, content in read_zip(path, wanted):
        base = _base_name(name)
        if manifest is None and git_blob_id(io.BytesIO(content), len(content)) != blobs[base]:
            raise DatasetError(_wrong_hash(f"{base} in {path}"))
        yield base, content


def tree_files(
    path: Path, tree: str, manifest: CustomManifest | None, left_out: list[str]
) -> Iterator[tuple[str, bytes]]:
    """(`repository/path`, content) of a tree's archive.

    At function level each `.py` is verified by the SHA-256 of its LF-normalised text, one that the index does
    not know is put to `left_out`, and one that is missing is a DatasetError; at the other levels, and for a
    custom set, the whole archive is verified.
    """
    if manifest is not None:
        _check_pin(path, manifest)
    known = index.file_hashes(tree) if manifest is None else {}
    if manifest is None and not known and not is_upstream(path, f"{tree}.zip"):
        raise DatasetError(_wrong_hash(str(path)))
    files = _without_wrapper(read_zip(path, is_wanted), tree, several=manifest is None)
    if not known:
        yield from files
        return
    missing = set(known)
    for name, content in files:
        if name.endswith(".py") and name not in known:
            left_out.append(name)
            continue
        if name.endswith(".py"):
            if text_hash(content) != known[name]:
                raise DatasetError(_wrong_hash(f"{name} in {path}"))
            missing.discard(name)
        yield name, content
    if missing:
        raise DatasetError(
            f"{path} is not the whole of RepoEval: {len(missing)} of {len(known)} files are missing, "
            f"first {min(missing)}"
        )


def text_hash(raw: bytes) -> str:
    """SHA-256 of a file's text as every stage sees it, LF and no BOM; '' where it is no UTF-8."""
    try:
        return hashlib.sha256(decode(raw).encode()).hexdigest()
    except UnicodeDecodeError:
        return ""


def is_upstream(path: Path, name: str) -> bool:
    """Whether an archive is, byte for byte, the one that upstream publishes under this name."""
    with path.open("rb") as stream:
        return git_blob_id(stream, path.stat().st_size) == index.archive(name).blob


def _check_pin(path: Path, manifest: CustomManifest) -> None:
    if path.name not in manifest.sha256:
        raise DatasetError(f"{MANIFEST} of {manifest.name!r} pins no {path.name}; add its SHA-256")
    if sha256_file(path) != manifest.sha256[path.name]:
        raise DatasetError(
            f"{path} has not the SHA-256 that {MANIFEST} of {manifest.name!r} pins; fetch it again or correct "
            "the manifest"
        )


def _wrong_hash(what: str) -> str:
    return f"{what} has a wrong hash: it is not RepoEval's; fetch it again, or give a set of your own a {MANIFEST}"


def _base_name(name: str) -> str:
    return name.rpartition("/")[2]


def is_wanted(name: str) -> bool:
    """Whether a tree's archive entry is installed: the `.py` of `read_tree`, and licence texts."""
    base = _base_name(name)
    return not name.startswith("__MACOSX/") and (
        is_source_path(name) or base.upper().startswith(("LICENSE", "LICENCE", "NOTICE", "COPYING"))
    )


def _without_wrapper(found: Iterator[tuple[str, bytes]], tree: str, *, several: bool) -> list[tuple[str, bytes]]:
    """The files without the folder that some packers put around all repositories.

    A folder around everything is a wrapper where it is named like the tree, or where `several` repositories
    are known to be inside; otherwise it is the one repository.
    """
    files = list(found)
    while files:
        tops = {name.partition("/")[0] for name, _ in files if "/" in name}
        (top,) = tops if len(tops) == 1 else ("",)
        if top != tree and not (top and several):
            break
        files = [(name.removeprefix(f"{top}/"), content) for name, content in files]
    return files
