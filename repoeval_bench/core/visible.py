"""Make text from outside safe for a terminal: it cannot colour, move, erase or reverse the text around it.

Names of repositories, systems and licences, the standard error of programs, and source code are printed. A terminal
obeys control characters in them, and shows text after a bidirectional character in another order.
"""

from __future__ import annotations

import re

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


_BREAKS = re.compile("[\t-\r\x1c-\x1e\x85\u2028\u2029]+")


def one_line(text: str) -> str:
    r"""The text `visible` and on one line, so that a name from outside does not break its table or caption.

    >>> one_line("a\r\nb\x1b[31m")
    'a b\\u001b[31m'
    """
    return visible(_BREAKS.sub(" ", text))
