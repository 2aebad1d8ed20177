"""A source that is a folder, and what git says of it where it is a checkout.

Git is asked for names and ids only. A checkout can name programs that git runs (hooks, file system monitors, filters),
so none of them is asked for anything: files are read and hashed here.
"""

from __future__ import annotations

import io
import os
import subprocess
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from repoeval_bench.core.errors import DatasetError, os_errors_as
from repoeval_bench.core.files import git_blob_id
from repoeval_bench.dataset.archives import Entry
from repoeval_bench.dataset.build.code import name_reason
from repoeval_bench.dataset.build.origin import Origin, repository_name

PACK = "pack.yaml"


def open_folder(path: Path) -> Origin:
    """A folder with everything that is in it, or of a git checkout what git does not ignore.

    DatasetError: it cannot be read, or is a checkout and git cannot be asked.
    """
    root = path.resolve()
    name = repository_name(root.name)
    if (root / PACK).is_file():
        raise DatasetError(f"{path} is a pack already; name it with --source, or build a pack of its sources")
    paths, left_out = _walk(root)
    checkout = _Checkout.of(root)
    facts: dict[str, object] = {"kind": "folder"}
    if checkout is not None:
        left_out["ignored by git"] = sum(map(_is_code, set(paths) - checkout.known))
        paths = [each for each in paths if each in checkout.known]
        facts = {"kind": "git", "commit": checkout.commit, "changed_files": checkout.changed(root, paths)}
    return Origin(
        name=name, facts=facts, paths=frozenset(paths), entries=lambda: _entries(root, paths), left_out=+left_out
    )


def _entries(root: Path, paths: list[str]) -> Iterator[Entry]:
    for path in paths:
        yield Entry(path, _size(root / path), _reader(root / path))


def _size(file: Path) -> int:
    with _readable(file):
        return file.stat().st_size


def _reader(file: Path) -> Callable[[], bytes]:
    def read() -> bytes:
        with _readable(file):
            return file.read_bytes()

    return read


def _readable(file: Path) -> AbstractContextManager[None]:
    return os_errors_as(DatasetError, f"{file} cannot be read", "make it readable, or name another source")


def _walk(root: Path) -> tuple[list[str], Counter[str]]:
    """Every regular file by posix path, sorted; and how many links and files of other packs there are."""

    def stop(error: OSError) -> None:
        raise DatasetError(f"cannot read the folder {error.filename}: {error.strerror}") from error

    found: list[str] = []
    left_out: Counter[str] = Counter()
    for folder, subfolders, names in os.walk(root, onerror=stop):  # links to folders are not entered
        where = os.path.relpath(folder, root)
        prefix = "" if where == os.curdir else f"{where}/".replace(os.sep, "/")
        if PACK in names and prefix:
            left_out["pack"] += 1
            subfolders.clear()
            continue
        links = [each for each in subfolders if os.path.islink(os.path.join(folder, each))]  # noqa: PTH114, PTH118  # 4x faster in large trees
        left_out["link"] += len(links)
        subfolders[:] = sorted(each for each in subfolders if each not in {*links, ".git"})
        for name in names:
            path = os.path.join(folder, name)  # noqa: PTH118  # as above
            if os.path.islink(path):  # noqa: PTH114  # as above
                left_out["link"] += 1
            elif os.path.isfile(path):  # noqa: PTH113  # as above; sockets and pipes are not files
                found.append(prefix + name)
    return sorted(found), left_out


@dataclass(frozen=True, slots=True)
class _Checkout:
    """What git knows of a folder: the commit, its files (path -> blob id), and the paths that it does not ignore."""

    commit: str
    committed: Mapping[str, str]
    known: frozenset[str]

    @classmethod
    def of(cls, root: Path) -> _Checkout | None:
        """None where the folder is not in a checkout, or is one that git itself ignores."""
        if not any((each / ".git").exists() for each in (root, *root.parents)):
            return None
        if not (root / ".git").exists() and _git(root, "check-ignore", "--", ".", allowed=(0, 1)).strip():
            return None
        head = _git(root, "rev-parse", "--verify", "--quiet", "HEAD", allowed=(0, 1)).strip()
        committed: dict[str, str] = {}
        for row in _rows(_git(root, "ls-tree", "-r", "-z", head, "--", ".")) if head else ():
            facts, _, name = row.partition("\t")
            mode, _, blob = facts.split(" ")
            if mode.startswith("100"):  # neither a link nor a submodule
                committed[name] = blob
        listed = _git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", ".")
        return cls(head, committed, frozenset(_rows(listed)))

    def changed(self, root: Path, paths: Collection[str]) -> int:
        """How many files of code are not those of the commit, line ends apart; new and deleted ones too."""
        here = set(paths)
        gone = sum(map(_is_code, self.committed.keys() - here))
        return gone + sum(not self._has(path, _reader(root / path)()) for path in filter(_is_code, here))

    def _has(self, path: str, raw: bytes) -> bool:
        plain = raw.replace(b"\r\n", b"\n")
        algorithm = "sha256" if len(self.commit) == 64 else "sha1"
        return self.committed.get(path) in {
            git_blob_id(io.BytesIO(each), len(each), algorithm) for each in (raw, plain)
        }


def _is_code(path: str) -> bool:
    return name_reason(path) is None


def _rows(output: str) -> list[str]:
    return [each for each in output.split("\0") if each]


def _git(root: Path, *arguments: str, allowed: tuple[int, ...] = (0,)) -> str:
    """What git prints. Its settings cannot make it run a program, nor wait for one."""
    command = ["git", "-C", str(root), "-c", "core.fsmonitor=false", "-c", "core.quotePath=false", *arguments]
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(command, capture_output=True, env=environment, stdin=subprocess.DEVNULL, check=False)
    except FileNotFoundError as error:
        raise DatasetError(
            f"{root} is a git checkout and git is not installed, so what it ignores is not known; install git, or name "
            "an archive of the code"
        ) from error
    if done.returncode not in allowed:
        reason = next(iter(done.stderr.decode("utf-8", "replace").splitlines()), "it gave no reason")
        raise DatasetError(f"git cannot read the checkout {root} ({reason.removeprefix('fatal: ').rstrip('.')})")
    return done.stdout.decode("utf-8", "surrogateescape")
