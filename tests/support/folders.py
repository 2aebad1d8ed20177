"""What the files of a results folder hold."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def copy_home(home: Path, to: Path) -> Path:
    """A copy of a home, made by another process; `to` must not exist.

    A process that closes a file gives up all its locks on it. Copied here, a database that an earlier command left open
    would be written by two processes that do not see each other.
    """
    subprocess.run(["cp", "-R", str(home), str(to)], check=True)
    return to


def content(out: Path) -> dict[str, object]:
    """Run id/file -> what it holds, times apart. What a killed process had begun is hidden and left out."""
    found: dict[str, object] = {}
    for path in sorted(out.glob("[!.]*/*")):
        name = f"{path.parent.name}/{path.name}"
        if path.name == "manifest.json":
            found[name] = {key: value for key, value in json.loads(path.read_text()).items() if key != "created"}
        elif path.name != "timings.jsonl":
            found[name] = path.read_bytes()
    return found
