"""kill -9 of processes at random moments."""

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Self

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
    results = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        with suppress(OSError):  # it has ended meanwhile
            parent = int((folder / "stat").read_bytes().rpartition(b")")[2].split()[1])
            if parent in parents and title.encode() in (folder / "cmdline").read_bytes():
                results.append(int(folder.name))
    return results


class Killer(threading.Thread):
    """Kills one of the `victims` (with `every`, all of them) at random moments, `KILLS` times while the context lasts.

    With `done`, before every second kill something more must be done. A job that has stored its run and is killed before
    it has said so has done something too.
    """

    def __init__(
        self, victims: Callable[[], list[int]], *, seed: int, done: Callable[[], int] | None = None, every: bool = False
    ) -> None:
        super().__init__(daemon=True)
        self._victims, self._done, self._every, self._rng = victims, done, every, random.Random(seed)
        self.killed = 0
        self._leaving = threading.Event()
        self._until = time.monotonic() + 2 * _DEADLINE

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._leaving.set()
        self.join(_DEADLINE)

    @property
    def more(self) -> bool:
        """Tell whether kills are left to be done; an AssertionError where nobody does them, or they take too long."""
        left = KILLS - self.killed
        assert not left or (self.is_alive() and time.monotonic() < self._until), f"{left} kills were not done"
        return left > 0

    def run(self) -> None:
        """Until all are done, or the context is left."""
        seen = self._done() if self._done else 0
        while self.killed < KILLS and not self._leaving.wait(self._rng.uniform(0.0, 0.4)):
            if self._done and self.killed % 2 == 1:
                if self._done() == seen:
                    continue
                seen = self._done()
            while not (victims := self._victims()) and not self._leaving.wait(0.05):
                pass
            for victim in victims if self._every else self._rng.sample(victims, min(1, len(victims))):
                with suppress(ProcessLookupError):
                    os.kill(victim, signal.SIGKILL)
            self.killed += bool(victims)
