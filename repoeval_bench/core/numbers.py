"""Numbers in text files, as C and JSON write them. Python alone takes `1_0`, digits of other scripts and odd blanks."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|[+-]?(?:inf|infinity|nan)", re.IGNORECASE)


def parse_number(text: str) -> float:
    """Return the number that a text is, which may be infinite or NaN; a ValueError for any other text.

    >>> parse_number("-1.5e3"), parse_number("+.5")
    (-1500.0, 0.5)
    """
    if not _NUMBER.fullmatch(text):
        raise ValueError(text)
    return float(text)
