"""Sources in ten languages with what is found in them, as data: a file of `core/languages` for each."""

from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parents[1] / "core"


def _read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(path.read_text("utf-8"))
    return content


def samples(what: str) -> dict[str, dict[str, Any]]:
    """Return language -> its source and what is found in it: `definitions`, `occurrences` or `identifiers`."""
    return {path.stem: _read(path)[what] for path in sorted((FOLDER / "languages").glob("*.yaml"))}


MORE = _read(FOLDER / "more_definitions.yaml")
"""Definitions that a wrapper, a macro or illegible code hides, by what they are cases of."""
