"""Write a pack's folder whole or not at all: it gets its name when it is complete."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from repoeval_bench.core.errors import DatasetError, UsageError, os_errors_as
from repoeval_bench.core.files import folder_beside

if TYPE_CHECKING:
    from repoeval_bench.dataset.pack import PackFile


def new_target(out: Path | str, kind: str) -> Path:
    """Return the absolute path of a new folder; a UsageError where something is there."""
    target = Path(out).expanduser().absolute()
    if target.is_file() or (target.is_dir() and any(target.iterdir())):
        raise UsageError(f"{out} exists already; name a new folder for the {kind}, or delete that one")
    return target


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Give a folder that becomes `target` if all goes well, and is deleted otherwise."""
    with (
        os_errors_as(DatasetError, f"the pack cannot be written to {target}", "name another folder"),
        folder_beside(target) as temporary,
    ):
        yield temporary
        temporary.replace(target)


def write_plain(path: Path, raw: bytes) -> None:
    """Write a file of a folder that is in the making."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(raw)


def dump_manifest(content: PackFile) -> bytes:
    """The bytes of a `pack.yaml`; what is asked for or not read is named where something is."""
    fields = content.model_dump(by_alias=True, exclude=None if content.extensions else {"extensions"})
    for source in fields["sources"]:
        if not source["unread"]:
            del source["unread"]
    text: str = yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=100)
    return text.encode()
