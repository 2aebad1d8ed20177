"""Repository trees: which files belong to a repository, and their text as every stage sees it."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from repoeval_bench.core.errors import DatasetError
from repoeval_bench.core.files import sha256_text
from repoeval_bench.core.source import SourceFile
from repoeval_bench.dataset.repoeval import EXTENSIONS


@dataclass(frozen=True, slots=True)
class Tree:
    """A repository's files, sorted by path, and the paths of those that are not UTF-8."""

    files: tuple[SourceFile, ...]
    undecodable: tuple[str, ...] = ()


def read_trees(root: Path, repos: Iterable[str], endings: tuple[str, ...]) -> dict[str, Tree]:
    """The trees of these repositories by name, sorted; a missing repository is a DatasetError."""
    return {repo: read_tree(root / repo, repo, endings) for repo in sorted(set(repos))}


def read_tree(root: Path, repo: str, endings: tuple[str, ...] = EXTENSIONS) -> Tree:
    """Every source file of a repository outside hidden folders and `__pycache__`, sorted by posix path.

    No link is followed. A file that is not UTF-8 is named in `undecodable`. A folder or file that cannot be read is a
    DatasetError.
    """
    if not root.is_dir():
        raise DatasetError(
            f"repository {repo} is not among the data at {root.parent}; delete that folder "
            "and fetch it again with `repoeval-bench data fetch`"
        )
    files: list[SourceFile] = []
    undecodable: list[str] = []
    for path in _visible_paths(root):
        file = root / path
        if not is_source_path(path, endings) or file.is_symlink():
            continue
        try:
            files.append(SourceFile(repo, path, decode(file.read_bytes())))
        except UnicodeDecodeError:
            undecodable.append(path)
        except OSError as error:
            raise DatasetError(f"cannot read {file} ({error.strerror}); make it readable") from error
    return Tree(tuple(files), tuple(undecodable))


def decode(raw: bytes) -> str:
    """A file's text: UTF-8 with or without BOM, CRLF and CR as LF; UnicodeDecodeError for anything else."""
    return raw.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")


def text_hash(raw: bytes) -> str:
    """SHA-256 of a file's text as `decode` gives it; "" where it is not UTF-8."""
    try:
        return sha256_text(decode(raw))
    except UnicodeDecodeError:
        return ""


def is_source_path(path: str, endings: tuple[str, ...] = EXTENSIONS) -> bool:
    """Return whether a posix path within a repository is one that `read_tree` takes."""
    *folders, name = path.split("/")
    return name.lower().endswith(endings) and not any(map(_is_hidden, folders))


def is_included_path(path: str) -> bool:
    """Return whether a posix path is installed: a source file, or a licence text."""
    return is_source_path(path) or is_licence_path(path)


def is_licence_path(path: str) -> bool:
    """Return whether a posix path is that of a licence text."""
    return path.rpartition("/")[2].upper().startswith(("LICENSE", "LICENCE", "NOTICE", "COPYING"))


def _is_hidden(folder: str) -> bool:
    return folder.startswith(".") or folder == "__pycache__"


def refuse_folder(error: OSError) -> None:
    """Raise a DatasetError for a folder that `os.walk` cannot read."""
    # By default it would leave the folder out.
    raise DatasetError(f"cannot read the folder {error.filename} ({error.strerror}); make it readable") from error


def _visible_paths(root: Path) -> list[str]:
    paths: list[str] = []
    for folder, subfolders, names in os.walk(root, onerror=refuse_folder):  # links to folders are not entered
        subfolders[:] = [name for name in subfolders if not _is_hidden(name)]
        where = Path(folder).relative_to(root).as_posix()
        prefix = "" if where == "." else f"{where}/"
        paths.extend(prefix + name for name in names)
    return sorted(paths)
