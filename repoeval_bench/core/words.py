"""Counts with their nouns, for printed sentences."""

from __future__ import annotations

from collections.abc import Sequence


def count(number: int, one: str, many: str = "") -> str:
    """A number with its noun, `1 query` or `3 queries`; `many` is the plural if it is not `plural(one)`.

    >>> count(1, "task"), count(0, "repository"), count(12_000, "interval rests", "intervals rest")
    ('1 task', '0 repositories', '12,000 intervals rest')
    """
    return f"{number:,} {one if number == 1 else many or plural(one)}"


def few(names: Sequence[str], most: int, separator: str = ", ") -> str:
    """The first `most` names, and the number of the others.

    >>> few(["a", "b", "c"], 2), few(["a"], 2)
    ('a, b and 1 more', 'a')
    """
    more = len(names) - most
    return separator.join(names[:most]) + (f" and {more} more" if more > 0 else "")


def plural(one: str) -> str:
    """The plural of a noun, which may be the name of a field: `queries`, `files`, `conversations`, `branches`.

    >>> [plural(one) for one in ("query", "day", "class", "branch", "box", "file", "group of files")]
    ['queries', 'days', 'classes', 'branches', 'boxes', 'files', 'groups of files']
    """
    if " of " in one:
        noun, _, rest = one.partition(" of ")
        return f"{plural(noun)} of {rest}"
    if one.endswith("y") and not one.endswith(("ay", "ey", "oy", "uy")):
        return f"{one[:-1]}ies"
    return one + ("es" if one.endswith(("s", "x", "z", "ch", "sh")) else "s")
