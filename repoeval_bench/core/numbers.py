"""Numbers in text files, as C and JSON write them. Python also takes `1_0`, digits of other scripts and blanks."""

from __future__ import annotations

import re

EXACT = 2**53
"""The largest whole number that a file may contain: every program that reads JSON reads it exactly."""

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|[+-]?(?:inf|infinity|nan)", re.IGNORECASE)


def is_whole(text: str) -> bool:
    """Return whether a text is a whole number of at most 18 digits, without a sign.

    >>> is_whole("12"), is_whole("-1"), is_whole("1_0"), is_whole("")
    (True, False, False, False)
    """
    return re.fullmatch("[0-9]{1,18}", text) is not None


def parse_number(text: str) -> float:
    """Read a number, which may be infinite or NaN; ValueError for any other text.

    >>> parse_number("-1.5e3"), parse_number("+.5")
    (-1500.0, 0.5)
    """
    if not _NUMBER.fullmatch(text):
        raise ValueError(text)
    return float(text)
