"""Notice code of a plug-in that ends the process by `os._exit`: the command would end with 0, without a word."""

from __future__ import annotations

import os
import traceback
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

from repoeval_bench.cli.echo import echo

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def silent_ends_refused() -> Iterator[None]:
    """Let `os._exit` in this process name its caller and exit with 1; forked processes end by it as they must.

    What ends a process without Python, such as `_exit` of a library in C, is not noticed.
    """
    end, process = os._exit, os.getpid()

    def ended(status: int) -> NoReturn:
        if os.getpid() == process:
            caller = traceback.extract_stack(limit=2)[0]
            echo(
                f"error: line {caller.lineno} of {caller.filename} ends the whole command by os._exit({status}); raise "
                "an exception there",
                err=True,
            )
            status = 1
        end(status)

    os._exit = ended
    try:
        yield
    finally:
        os._exit = end
