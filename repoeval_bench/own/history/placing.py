"""The place of removed or added lines if lines around are equal to them: as git decides it, by indentation.

A function that was added between two others can begin at its first line, or at the closing bracket of the one before
it: both texts are the same. `git diff` scores the places by indentation and blank lines, its "indent heuristic". The
numbers are those of its `xdiffi.c`, which were fitted to places that people chose.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from repoeval_bench.core.spans import LineSpan

Hunk = tuple[LineSpan, LineSpan]
"""Lines of the text before, and the lines of the text after that replace them; one of both may be empty."""

_MOST_BLANKS, _MOST_PLACES, _MOST_INDENT = 20, 100, 200
_NONE = -1
"""The indentation of a blank line, and of what is beyond the ends of a text."""


def placed(old: Sequence[str], new: Sequence[str], hunks: Sequence[Hunk]) -> list[Hunk]:
    """Move each hunk that only removes or only adds lines to the best of the places that mean the same."""
    done: list[Hunk] = []
    end = LineSpan(len(old), len(old)), LineSpan(len(new), len(new))
    for hunk, after in pairwise([*hunks, end]):
        if all(hunk):
            done.append(hunk)
            continue
        side = 0 if hunk[0] else 1
        least = done[-1][side].end if done else 0
        shift = _shift((old, new)[side], hunk[side], least, after[side].start)
        removed, added = (LineSpan(span.start + shift, span.end + shift) for span in hunk)
        done.append((removed, added))
    return done


def _shift(rows: Sequence[str], span: LineSpan, least: int, most: int) -> int:
    """The lines by which a run of lines moves within [least, most), without another text; the last one of equals."""
    first = start = span.start
    while first > least and rows[first - 1] == rows[first + len(span) - 1]:
        first -= 1
    while start + len(span) < most and rows[start] == rows[start + len(span)]:
        start += 1
    first = max(first, start - len(span) - 1, start - _MOST_PLACES)
    if first == start:
        return start - span.start
    best, scored = first, _scored(rows, first, len(span))
    for place in range(first + 1, start + 1):
        indent, penalty = _scored(rows, place, len(span))
        if 60 * ((indent > scored[0]) - (indent < scored[0])) + penalty <= scored[1]:
            best, scored = place, (indent, penalty)
    return best - span.start


def _scored(rows: Sequence[str], start: int, size: int) -> tuple[int, int]:
    """Indentation and penalty of the two lines at which a run of lines divides a text."""
    (indent, penalty), (other, more) = _divided(rows, start), _divided(rows, start + size)
    return indent + other, penalty + more


def _divided(rows: Sequence[str], at: int) -> tuple[int, int]:
    """Indentation and penalty of dividing a text before a line."""
    blanks_before, before = _next(rows, range(at - 1, -1, -1))
    blanks_after, after = _next(rows, range(at + 1, len(rows)))
    indent = _indent(rows[at]) if at < len(rows) else _NONE
    blanks_after = 1 + blanks_after if indent == _NONE else 0
    blanks = blanks_before + blanks_after
    penalty = 6 * blanks_after - 30 * blanks + (before == _NONE and not blanks_before) + 21 * (at >= len(rows))
    indent = after if indent == _NONE else indent
    if _NONE in (indent, before) or indent == before:
        return indent, penalty
    if indent > before:
        return indent, penalty + (10 if blanks else -4)
    is_opened = after > indent
    return indent, penalty + (17 if blanks else 24 if is_opened else 23)


def _next(rows: Sequence[str], order: Iterable[int]) -> tuple[int, int]:
    """The number of blank lines in an order, and the indentation of the line after them."""
    blanks = 0
    for number in order:
        if (indent := _indent(rows[number])) != _NONE:
            return blanks, indent
        blanks += 1
        if blanks == _MOST_BLANKS:
            return blanks, 0
    return blanks, _NONE


def _indent(row: str) -> int:
    """The column of a line's first character; tabs go to the next multiple of eight."""
    text = row.lstrip()
    if not text:
        return _NONE
    return min(len(row[: len(row) - len(text)].expandtabs(8)), _MOST_INDENT)
