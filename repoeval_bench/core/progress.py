"""Progress on standard error: a bar on a terminal; without one a line now and then for each step that takes long."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from multiprocessing import parent_process
from threading import RLock
from time import monotonic
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from repoeval_bench.core.notices import NOTICES
from repoeval_bench.core.visible import visible

# No thread that watches slow bars: with `miniters=1` every step looks at the clock.
tqdm.monitor_interval = 0
# A killed worker would leave a lock that processes share, and the command would report it at its end.
tqdm.set_lock(RLock())

SECONDS = 15.0
"""Seconds between two lines of a step, where there is no terminal."""

if TYPE_CHECKING:
    _Tqdm = tqdm[Any]
else:
    _Tqdm = tqdm


class _Bar(_Tqdm):
    """A bar of tqdm that, with `lines`, is a line every `SECONDS` where tqdm shows nothing."""

    def __init__(self, *arguments: Any, lines: bool, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._lines = lines and bool(self.disable)
        self._what, self._done = options["desc"], 0.0
        self._first: tuple[float, float] | None = None
        self._said = monotonic()

    def __iter__(self) -> Iterator[Any]:
        if not self._lines:
            yield from super().__iter__()
            return
        for item in self.iterable:
            yield item
            self.update()

    def update(self, n: float | None = 1) -> bool | None:
        """Move on by `n`."""
        if self._lines:
            self._done += n or 0
            self._say(monotonic())
        return super().update(n)

    def _say(self, now: float) -> None:
        """Print a line if the last one is `SECONDS` old: the share that is done, and the time left."""
        # Before the first step ends, a model is loaded.
        begun, before = self._first = self._first or (now, self._done)
        if now - self._said < SECONDS or not self.total or self._done >= self.total:
            return
        self._said, done, left = now, self._done - before, ""
        if done:
            left = f", about {(now - begun) * (self.total - self._done) / done:,.0f} s left"
        NOTICES.info(f"{self._what}: {self._done / self.total:.0%}{left}")


def progress(
    items: Iterable[Any] | None = None,
    *,
    desc: str,
    unit: str,
    total: int | None = None,
    lines: bool = True,
    **options: Any,
) -> tqdm[Any]:
    """A tqdm bar over `items` (or to `.update()` by hand); without a terminal, a line every `SECONDS` (with `lines`).

    In a child process it is silent, because it would overwrite another bar.
    """
    is_child = parent_process() is not None
    options |= {"disable": True if is_child else None, "leave": False, "miniters": 1}
    return _Bar(items, desc=visible(desc), unit=f" {unit}", total=total, lines=lines and not is_child, **options)
