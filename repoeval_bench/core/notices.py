"""Notices: lines for the user who waits, such as the origin of data or what is left out. They are no result.

A command prints them on standard error; a job returns those of its worker.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# Records of one logger, so that scripts read them by `logging` and functions need no callback.
NOTICES = logging.getLogger("repoeval_bench")

_collecting: ContextVar[list[str] | None] = ContextVar("collecting", default=None)


def _is_shown(record: logging.LogRecord) -> bool:
    """Add a notice to the list that collects those of this thread; without one, pass it to the handlers."""
    lines = _collecting.get()
    if lines is not None:
        lines.append(record.getMessage())
    return lines is None


NOTICES.addFilter(_is_shown)


@contextmanager
def collected() -> Iterator[list[str]]:
    """Collect the notices of a block in a list instead of passing them to the handlers."""
    lines: list[str] = []
    token, level = _collecting.set(lines), NOTICES.level
    NOTICES.setLevel(logging.INFO)
    try:
        yield lines
    finally:
        _collecting.reset(token)
        NOTICES.setLevel(level)


class _Shown(logging.Handler):
    def __init__(self, show: Callable[[str], None]) -> None:
        super().__init__()
        self._show = show

    def emit(self, record: logging.LogRecord) -> None:
        self._show(record.getMessage())


def show_notices(show: Callable[[str], None]) -> None:
    """Pass every notice from now on to a function, and to nothing else."""
    NOTICES.propagate = False
    NOTICES.handlers[:] = [_Shown(show)]
    NOTICES.setLevel(logging.INFO)
