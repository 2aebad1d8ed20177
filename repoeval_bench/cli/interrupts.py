"""Hold Ctrl-C back, or raise it again, where something swallows `KeyboardInterrupt` and the command would go on.

Python itself swallows it in `__del__` and in the callbacks of weak references. The import of a module written in C may.
Even if it does not, Python may have noted the exception, and dies of the signal after everything was closed.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_IMPORTING = "<frozen importlib._bootstrap>"

_SECONDS_AT_MOST = 5.0
"""The longest that Ctrl-C is held back."""

_SECONDS_BETWEEN = 0.02


@contextmanager
def interrupts_heeded() -> Iterator[None]:
    """Raise `KeyboardInterrupt` at Ctrl-C until nothing swallows it; an ignored Ctrl-C stays ignored.

    After the block Ctrl-C ends the process at once.
    """
    can_wait = threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer")
    if not can_wait or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    pressed: float | None = None
    """The time of a Ctrl-C whose exception is still to be raised."""

    def interrupt(_number: int, frame: FrameType | None) -> None:
        """Raise the exception, or try again later as long as a module is imported."""
        nonlocal pressed
        now = time.monotonic()
        pressed = pressed or now
        if _imports(frame) and now - pressed < _SECONDS_AT_MOST:
            signal.setitimer(signal.ITIMER_REAL, _SECONDS_BETWEEN)
            return
        pressed = None
        raise KeyboardInterrupt

    def swallowed(unraisable: sys.UnraisableHookArgs) -> None:
        """Raise the exception again where Python has just ignored it."""
        nonlocal pressed
        if not isinstance(unraisable.exc_value, KeyboardInterrupt):
            said(unraisable)
            return
        pressed = time.monotonic()
        signal.setitimer(signal.ITIMER_REAL, _SECONDS_BETWEEN)

    alarm, said = signal.signal(signal.SIGALRM, interrupt), sys.unraisablehook
    signal.signal(signal.SIGINT, interrupt)
    sys.unraisablehook = swallowed
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        # What is left is a sentence and Python's own end, where an exception would be a traceback.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGALRM, alarm)
        sys.unraisablehook = said
    if pressed:
        raise KeyboardInterrupt


def _imports(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename == _IMPORTING:
            return True
        frame = frame.f_back
    return False
