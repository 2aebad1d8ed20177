"""kill -9 of processes at random moments."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

KILLS = 10
_DEADLINE = 120.0  # seconds for each wait


def wait_until(holds: Callable[[], object], what: str) -> None:
    """Until something holds; an AssertionError that says what did not, after a long time."""
    deadline = time.monotonic() + _DEADLINE
    while not holds():
        assert time.monotonic() < deadline, f"not in {_DEADLINE:.0f} s: {what}"
        time.sleep(0.01)


def children(parents: Collection[int], title: str = "") -> list[int]:
    """The processes that these have started and whose command line has `title` in it; nobody else's."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if parent in parents and title.encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:  # it has ended meanwhile
            continue
    return found


class Killer(threading.Thread):
    """Kills one of the `victims` at random moments, `KILLS` times in the context and while it waits at its end.

    Before every third kill something more must be `done`, so that no job loses its worker as often as makes it fail.
    """

    def __init__(self, victims: Callable[[], list[int]], done: Callable[[], int], *, seed: int) -> None:
        super().__init__(daemon=True)
        self._victims, self._done, self._rng = victims, done, random.Random(seed)
        self.killed = 0
        self._leaving = threading.Event()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._leaving.set()
        self.join(_DEADLINE)

    @property
    def more(self) -> bool:
        """Whether kills are left to be done."""
        return self.killed < KILLS

    def run(self) -> None:
        """Until all are done, or the context is left."""
        seen = self._done()
        while self.more and not self._leaving.wait(self._rng.uniform(0.0, 0.4)):
            if self.killed % 3 == 2:
                if self._done() == seen:
                    continue
                seen = self._done()
            if victims := self._victims():
                with suppress(ProcessLookupError):
                    os.kill(self._rng.choice(victims), signal.SIGKILL)
                    self.killed += 1
