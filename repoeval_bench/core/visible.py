"""Text from outside made safe for a terminal: nothing in it can colour, move, erase, or turn what is around it.

Names of repositories, systems and licences, what a program says on standard error, and source code are printed. A
terminal obeys control characters in them, and shows text behind a bidirectional one in another order than it has.
"""

from __future__ import annotations

import re

_OBEYED = re.compile(
    "[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f]"  # C0 without tab and line end, DEL, C1
    "|\r(?!\n)"
    "|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"  # what turns the direction of writing
    "|[\ud800-\udfff]"  # halves of characters, which no terminal can be sent
)


def visible(text: str) -> str:
    r"""The text with what a terminal would obey as escapes that are seen: `\u001b`, as JSON writes it too.

    >>> print(visible("a\x1b[31mb\tc"))
    a\u001b[31mb	c
    """
    return _OBEYED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


_BREAKS = re.compile("[\t-\r\x1c-\x1e\x85\u2028\u2029]+")


def one_line(text: str) -> str:
    r"""The text `visible` and on one line: a name from outside must not break the table or caption that it is in.

    >>> one_line("a\r\nb\x1b[31m")
    'a b\\u001b[31m'
    """
    return visible(_BREAKS.sub(" ", text))
