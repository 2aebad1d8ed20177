"""The places that hold RepoEval's archives: upstream at pinned commits, and mirrors of it.

Each source yields files that were verified; what they are verified against is the shipped index, or for
somebody's own set (a folder with a `repoeval.json`) the hashes that this manifest pins.
"""

from __future__ import annotations

import hashlib
import io
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from repoeval_bench.dataset import index
from repoeval_bench.dataset.archive import read_zip
from repoeval_bench.dataset.install import SetFacts
from repoeval_bench.dataset.trees import decode, is_source_path
from repoeval_bench.errors import DatasetError
from repoeval_bench.files import git_blob_id, sha256_file
from repoeval_bench.spec import short_hash, slug

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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
                f"{'.'.join(map(str, detail['loc'])) or 'file'}: {detail['msg']}" for detail in error.errors()
            )
            raise DatasetError(f"{where} is no manifest of a data set: {problems}") from error


class MirrorFolder:
    """A folder with archives in upstream's layout; what it holds is verified file by file."""

    def __init__(self, path: Path) -> None:
        self._path = path.expanduser().absolute()
        if not self._path.is_dir():
            raise DatasetError(f"the data folder {path} does not exist; name one with --source FOLDER")
        if not any(self._path.glob("*.zip")):
            raise DatasetError(
                f"the data folder {path} holds no archive; datasets.zip and function_level.zip are expected in it"
            )
        self._manifest: CustomManifest | None = None
        key = str(self._path.resolve())
        manifest = self._path / MANIFEST
        if manifest.is_file():
            raw = manifest.read_bytes()
            self._manifest = CustomManifest.parse(raw, str(manifest))
            key = hashlib.sha256(raw).hexdigest()
        kind = "custom" if self._manifest else "mirror"
        name = self._manifest.name if self._manifest else self._path.name
        self.folder = f"{kind}-{slug(name)}-{short_hash(key)}"
        self.facts = facts_of(self._manifest, "mirror")

    def task_files(self) -> Iterator[tuple[str, bytes]]:
        """See `install.Source`."""
        return task_files(self._archive("datasets.zip"), self._manifest)

    def tree_files(self, tree: str) -> Iterator[tuple[str, bytes]]:
        """See `install.Source`."""
        return tree_files(self._archive(f"{tree}.zip"), tree, self._manifest)

    def _archive(self, name: str) -> Path:
        path = self._path / name
        if not path.is_file():
            raise DatasetError(f"the data folder {self._path} holds no {name}")
        return path


def facts_of(manifest: CustomManifest | None, source: str) -> SetFacts:
    """What is written beside a set: the published benchmark, or the manifest's own name and licences."""
    if manifest is None:
        return SetFacts("repoeval", source)
    return SetFacts(f"custom-{manifest.name}", source, manifest.licences)


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


def tree_files(path: Path, tree: str, manifest: CustomManifest | None) -> Iterator[tuple[str, bytes]]:
    """(`repository/path`, content) of a tree's archive.

    At function level each `.py` is verified by the SHA-256 of its LF-normalised text, one that the index does
    not know is left out, and one that is missing is a DatasetError; elsewhere the whole archive is verified.
    """
    if manifest is not None:
        _check_pin(path, manifest)
    files = read_zip(path, is_wanted)
    known = index.file_hashes(tree) if manifest is None else {}
    if not known:
        if manifest is None and not is_upstream(path, f"{tree}.zip"):
            raise DatasetError(_wrong_hash(str(path)))
        yield from _without_wrapper(files, tree)
        return
    missing = dict(known)
    for name, content in _without_wrapper(files, tree):
        if name.endswith(".py"):
            if name not in known:
                continue
            if text_hash(content) != missing.pop(name):
                raise DatasetError(_wrong_hash(f"{name} in {path}"))
        yield name, content
    if missing:
        first = next(iter(missing))
        raise DatasetError(
            f"{path} is not the whole of RepoEval: {len(missing)} of {len(known)} files are missing, first {first}"
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


def _without_wrapper(files: Iterator[tuple[str, bytes]], tree: str) -> Iterator[tuple[str, bytes]]:
    """The files without the folder named like the tree that some packers put around all of them."""
    for name, content in files:
        yield name.removeprefix(f"{tree}/"), content
