"""What the leaves bring: a leaf may be deleted with its entry points, and then the tests that use it are skipped."""

import re
from importlib.util import find_spec
from typing import Any

import pytest

PARTS = {
    "lab": {"lab"},
    "logs": {"logs"},
    "completion": {"complete"},
    "mcp": {"mcp"},
    "peers": {*("astchunk", "ck", "cocoindex", "grepai", "semantic-text-splitter")},
}
"""Leaf -> the commands and chunkers that tests of the spine use."""


def is_of_a_lost_leaf(dotted: str) -> bool:
    """Return whether a dotted name is in a leaf that is not here."""
    leaf = ".".join(dotted.split(".")[:3])
    return leaf.startswith("repoeval_bench.plugins.") and find_spec(leaf) is None


LOST = {name for leaf, names in PARTS.items() if is_of_a_lost_leaf(f"repoeval_bench.plugins.{leaf}") for name in names}
"""Parts of leaves that are not here."""


def needs(*names: str) -> pytest.MarkDecorator:
    """Skip a test that uses these parts, if one is of a leaf that was deleted."""
    return pytest.mark.skipif(not LOST.isdisjoint(names), reason=f"of a leaf that was deleted: {', '.join(names)}")


def of_leaves(*values: str | tuple[Any, ...]) -> list[object]:
    """Rows of a parametrised test, each of which needs the part whose spec it begins with."""
    of_values = [(value,) if isinstance(value, str) else value for value in values]
    return [pytest.param(*row, marks=needs(re.split("[: ]", row[0])[0])) for row in of_values]
