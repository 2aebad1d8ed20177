"""Text for people: counts with their nouns, and text from outside that no terminal obeys."""

import re
from collections.abc import Callable, Mapping, Sequence


def count(number: int, one: str, many: str = "") -> str:
    """A number with its noun, `1 query` or `3 queries`; `many` is the plural if it is not `plural(one)`.

    >>> count(1, "task"), count(0, "repository"), count(12_000, "interval rests", "intervals rest")
    ('1 task', '0 repositories', '12,000 intervals rest')
    """
    return f"{number:,} {one if number == 1 else many or plural(one)}"


def few(names: Sequence[str], most: int) -> str:
    """The first `most` names, and the number of the others.

    >>> few(["a", "b", "c"], 2), few(["a"], 2)
    ('a, b and 1 more', 'a')
    """
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def few_of(numbers: Mapping[str, int], most: int) -> str:
    """The numbers of the first `most` things, and the number of all others.

    >>> few_of({".sh file": 10, ".rb file": 5, ".hs file": 1}, 1)
    '10 .sh files and 6 more'
    """
    first, others = [*numbers.items()][:most], sum([*numbers.values()][most:])
    return ", ".join(count(number, what) for what, number in first) + (f" and {others} more" if others else "")


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


def unbroken(text: str, fold: Callable[[str], str]) -> str:
    r"""The text as `fold` folds it, without a line end between a number and its `%`.

    >>> unbroken("it finds 95 % of it", lambda text: text.replace(" ", "\n"))
    'it\nfinds\n95 %\nof\nit'
    """
    return fold(re.sub(r"(?<=\d) (?=%)", "\u00a0", text)).replace("\u00a0", " ")


# Names of repositories, systems and licences, the errors of programs, and source code are printed. A terminal obeys the
# control characters in them, and shows what is after a bidirectional character in another order.
_OBEYED = re.compile(
    "[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f]"  # C0 without tab and line end, DEL, C1
    "|\r(?!\n)"
    "|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"  # characters that change the direction of writing
    "|[\ud800-\udfff]"  # lone surrogates, which cannot be encoded
)


def visible(text: str) -> str:
    r"""The text with the characters that a terminal obeys as visible escapes: `\u001b`, as in JSON.

    >>> print(visible("a\x1b[31mb\tc"))
    a\u001b[31mb	c
    """
    return _OBEYED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


# A name from outside must not break its table or caption.
_BREAKS = re.compile("[\t-\r\x1c-\x1e\x85\u2028\u2029]+")


def one_line(text: str) -> str:
    r"""The text `visible` and on one line.

    >>> one_line("a\r\nb\x1b[31m")
    'a b\\u001b[31m'
    """
    return visible(_BREAKS.sub(" ", text))
