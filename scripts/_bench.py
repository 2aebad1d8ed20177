"""What all benchmarks share: a row with its bar, and how the rows are printed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable


class Row(NamedTuple):
    """One figure; `passed` says whether it meets the bar; None without a bar."""

    what: str
    figure: str
    bar: str = ""
    passed: bool | None = None


def print_rows(title: str, rows: Iterable[Row]) -> int:
    """Print a table; returns how many bars were missed."""
    print(f"\n{title}")
    missed = 0
    for row in rows:
        verdict = {True: "holds", False: "MISSED", None: ""}[row.passed]
        missed += row.passed is False
        print(f"  {row.what:66} {row.figure:>22}  {row.bar:14} {verdict}".rstrip())
    return missed


def memory(field: str) -> int:
    """Bytes of this process, by Linux's own count; getrusage would count the parent's before it was started."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text("ascii").splitlines())
    return int(status[field].split()[0]) * 1024
