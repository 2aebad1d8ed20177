"""What to call runs where a whole spec has no room: only what tells them apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from repoeval_bench.core.errors import SpecError
from repoeval_bench.core.spec import Spec
from repoeval_bench.runs.config import NO_EMBEDDER

if TYPE_CHECKING:
    from collections.abc import Sequence

BETWEEN = " · "
"""What stands between the parts of a run's name."""

LONGEST = 40
"""Characters of a name in a figure; the middle of a longer one is left out."""


def short_names(names: Sequence[str]) -> list[str]:
    """Each name without the options that all of its kind share; as it was where that would make two alike.

    An embedder that some of them ask and the others ask none is left out too: the retriever tells them apart.

    >>> short_names(["ast:max_nws=1500,overlap=0", "fixed:max_nws=1500,offset=0", "fixed:max_nws=800,offset=0"])
    ['ast', 'fixed:max_nws=1500', 'fixed:max_nws=800']
    >>> short_names(["minilm · dense", "none · bm25:k1=1.2"])
    ['dense', 'bm25']
    """
    parts = [name.split(BETWEEN) for name in names]
    if len(set(map(len, parts))) > 1:
        return list(names)
    try:
        columns = list(map(_shorten, zip(*parts, strict=True)))
    except SpecError:  # a run's id or folder is no spec
        return list(names)
    telling = [column for column in columns if NO_EMBEDDER not in column or len(set(column)) > 2]
    for kept in (telling, columns):
        short = [BETWEEN.join(row) for row in zip(*kept, strict=True)]
        if len(set(short)) == len(names):
            return short
    return list(names)


def _shorten(column: Sequence[str]) -> list[str]:
    specs = [Spec.parse(text) for text in column]
    short = []
    for spec in specs:
        alike = [other.params for other in specs if (other.name, other.target) == (spec.name, spec.target)]
        differing = {
            key: value for key, value in spec.params.items() if any(params.get(key) != value for params in alike)
        }
        short.append(str(Spec(spec.name, spec.target, differing)))
    return short


def printable(text: str) -> str:
    """The text with whatever cannot be shown (control characters, lone surrogates) as `?`."""
    return "".join(char if char.isprintable() else "?" for char in text)


def elided(name: str, longest: int = LONGEST) -> str:
    """The name, `printable`, with the middle of a long one left out."""
    name = printable(name)
    if len(name) <= longest:
        return name
    kept = longest - 1
    return f"{name[: kept - kept // 2]}…{name[len(name) - kept // 2 :]}"
