"""Ctrl-C, held back where `KeyboardInterrupt` would be swallowed and the command go on as if nobody had pressed a key.

Python itself swallows it in `__del__` and in the callbacks of weak references. The start of a module written in C may.
If it does not, Python can note the exception on the way, and die of the signal after everything was closed.
"""

from __future__ import annotations

import signal
import threading
import time
import weakref
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_SWALLOWING = {"<frozen importlib._bootstrap>", weakref.__file__}

_SECONDS_AT_MOST = 5.0
"""Ctrl-C waits for no longer."""

_SECONDS_BETWEEN = 0.02


@contextmanager
def interrupts_heeded() -> Iterator[None]:
    """Raise `KeyboardInterrupt` at Ctrl-C where nothing swallows it; where Ctrl-C is ignored it stays so."""
    ours = threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer")
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    interrupt = _Interrupt()
    alarm = signal.signal(signal.SIGALRM, interrupt)
    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGALRM, alarm)
    if interrupt.waiting:
        raise KeyboardInterrupt


class _Interrupt:
    """The handler: a timer calls it again until nothing would swallow the exception."""

    def __init__(self) -> None:
        self._since: float | None = None

    @property
    def waiting(self) -> bool:
        """Return whether Ctrl-C was pressed and is not raised yet."""
        return self._since is not None

    def __call__(self, _number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if self._since is None:
            self._since = now
        if _swallowed(frame) and now - self._since < _SECONDS_AT_MOST:
            signal.setitimer(signal.ITIMER_REAL, _SECONDS_BETWEEN)
            return
        self._since = None
        raise KeyboardInterrupt


def _swallowed(frame: FrameType | None) -> bool:
    while frame is not None:
        code = frame.f_code
        if code.co_filename in _SWALLOWING or code.co_name == "__del__":
            return True
        frame = frame.f_back
    return False
