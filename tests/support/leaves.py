"""What the leaves bring: a leaf may be deleted with its entry points, and then the tests that use it are skipped."""

import re
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]


def is_of_a_lost_leaf(dotted: str) -> bool:
    """Return whether a dotted name is in a leaf that is not here."""
    leaf = ".".join(dotted.split(".")[:3])
    return leaf.startswith("repoeval_bench.plugins.") and find_spec(leaf) is None


LOST = {
    name for points in PROJECT["entry-points"].values() for name, where in points.items() if is_of_a_lost_leaf(where)
}
"""Commands, chunkers and other parts of leaves that are not here."""


def needs(*names: str) -> pytest.MarkDecorator:
    """Skip a test that uses these parts, if one is of a leaf that was deleted."""
    return pytest.mark.skipif(not LOST.isdisjoint(names), reason=f"of a leaf that was deleted: {', '.join(names)}")


def of_leaves(*values: str | tuple[Any, ...]) -> list[object]:
    """Rows of a parametrised test, each of which needs the part whose spec it begins with."""
    of_values = [(value,) if isinstance(value, str) else value for value in values]
    return [pytest.param(*row, marks=needs(re.split("[: ]", row[0])[0])) for row in of_values]
