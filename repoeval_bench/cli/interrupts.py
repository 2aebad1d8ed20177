"""Hold Ctrl-C back where something would swallow `KeyboardInterrupt`, and the command would go on.

Python itself swallows it in `__del__` and in the callbacks of weak references. The import of a module written in C may.
Even if it does not, Python may have noted the exception, and dies of the signal after everything was closed.
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
"""The longest that Ctrl-C is held back."""

_SECONDS_BETWEEN = 0.02


@contextmanager
def interrupts_heeded() -> Iterator[None]:
    """Raise `KeyboardInterrupt` at Ctrl-C once nothing swallows it; an ignored Ctrl-C stays ignored."""
    can_wait = threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer")
    if not can_wait or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    pressed: float | None = None
    """The time of a Ctrl-C whose exception is still to be raised."""

    def interrupt(_number: int, frame: FrameType | None) -> None:
        """Raise the exception, or set a timer to try again as long as something would swallow it."""
        nonlocal pressed
        now = time.monotonic()
        pressed = pressed or now
        if _swallowed(frame) and now - pressed < _SECONDS_AT_MOST:
            signal.setitimer(signal.ITIMER_REAL, _SECONDS_BETWEEN)
            return
        pressed = None
        raise KeyboardInterrupt

    alarm = signal.signal(signal.SIGALRM, interrupt)
    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGALRM, alarm)
    if pressed:
        raise KeyboardInterrupt


def _swallowed(frame: FrameType | None) -> bool:
    while frame is not None:
        code = frame.f_code
        if code.co_filename in _SWALLOWING or code.co_name == "__del__":
            return True
        frame = frame.f_back
    return False
