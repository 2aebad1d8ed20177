"""What a command line says, as words that a POSIX shell reads back."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from repoeval_bench.runs.parts import RESULTS

if TYPE_CHECKING:
    from repoeval_bench.runs.request import RunRequest

PROGRAM = "repoeval-bench"


def shell_line(words: Iterable[str], *, out: Path = RESULTS, home: Path | None = None) -> str:
    """The line of a command and its options, with the folders where they are not the usual ones."""
    places = [*(["--out", str(out)] if out != RESULTS else []), *(["--home", str(home)] if home else [])]
    return shlex.join([PROGRAM, *words, *places])


def eval_line(request: RunRequest, *, out: Path = RESULTS, home: Path | None = None, short: bool = False) -> str:
    """The `eval` that makes the request's run; `short`: see `Request.words`."""
    return shell_line(["eval", *request.words(short=short)], out=out, home=home)
