"""Which licence a text is, for the few that the benchmark's repositories use."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_BEGINNINGS = {
    "Apache License Version 2.0": "Apache-2.0",
    "MIT License": "MIT",
    "BSD 2-Clause License": "BSD-2-Clause",
    "BSD 3-Clause License": "BSD-3-Clause",
    "Attribution-NonCommercial 4.0 International": "CC-BY-NC-4.0",
}
"""How a licence's text begins, blanks squeezed -> its SPDX identifier."""

UNKNOWN = "not recognised"


def identify(text: str) -> str | None:
    """The SPDX identifier of a licence's text, or None."""
    squeezed = " ".join(text.split())
    return next((name for begin, name in _BEGINNINGS.items() if squeezed.startswith(begin)), None)


def licence_of(repository: Path) -> str:
    """The licence of a repository's folder, by its LICENSE file; UNKNOWN without one that is recognised."""
    for path in sorted(repository.glob("LICEN[CS]E*")):
        if name := identify(path.read_text(encoding="utf-8", errors="replace")):
            return name
    return UNKNOWN
