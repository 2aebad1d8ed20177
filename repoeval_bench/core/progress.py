"""Progress on standard error: a bar on a terminal; without one a line now and then for a step that takes long."""

import sys
from collections.abc import Iterable
from multiprocessing import parent_process
from threading import RLock
from typing import Any

from tqdm import tqdm

from repoeval_bench.core.words import visible

# No thread that watches slow bars: with `miniters=1` every step looks at the clock.
tqdm.monitor_interval = 0
# A killed worker would leave a lock that processes share, and the command would report it at its end.
tqdm.set_lock(RLock())

SECONDS = 15.0
"""Seconds between two lines of a step, where there is no terminal."""


class _Lines:
    """Standard error where a bar that is drawn again begins a line."""

    def write(self, text: str) -> None:
        """Write what tqdm draws, on a line of its own."""
        if line := text.strip("\r\n "):
            sys.stderr.write(f"{line}\n")

    def flush(self) -> None:
        """Do nothing: the error stream has no buffer."""


def progress(
    items: Iterable[Any] | None = None, *, desc: str, unit: str, lines: bool = True, **options: Any
) -> "tqdm[Any]":
    """A tqdm bar over `items` (or to `.update()` by hand); with `lines` and no terminal, a line every `SECONDS`."""
    # In a child process it is silent, because it would overwrite another bar.
    options |= {"leave": False, "miniters": 1, "disable": parent_process() is not None}
    if not sys.stderr.isatty():
        options |= {"file": _Lines(), "mininterval": SECONDS, "delay": SECONDS, "ncols": 0}
        options["disable"] = options["disable"] or not lines
    return tqdm(items, desc=visible(desc), unit=f" {unit}", **options)
