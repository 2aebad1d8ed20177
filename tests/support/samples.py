"""Sources in ten languages with what is found in them, as data: a file of `core/languages` for each."""

from pathlib import Path
from typing import Any

from support.cases import read_yaml

FOLDER = Path(__file__).parents[1] / "core"


def samples(what: str) -> dict[str, dict[str, Any]]:
    """Return language -> its source and what is found in it: `definitions`, `occurrences` or `identifiers`."""
    return {path.stem: read_yaml(path)[what] for path in sorted((FOLDER / "languages").glob("*.yaml"))}


MORE: dict[str, Any] = read_yaml(FOLDER / "more_definitions.yaml")
"""Definitions that a wrapper, a macro or illegible code hides, by what they are cases of."""
