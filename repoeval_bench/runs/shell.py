"""A request as the shell line that makes its run."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from repoeval_bench.runs.parts import RESULTS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from repoeval_bench.runs.request import Request, RunRequest

PROGRAM = "repoeval-bench"


def eval_line(request: RunRequest, *, out: Path = RESULTS, home: Path | None = None) -> str:
    """The `eval` that makes the request's run, in one line of words that a POSIX shell reads back."""
    words = [PROGRAM, "eval", *_options(request)]
    if out != RESULTS:
        words += ["--out", str(out)]
    if home is not None:
        words += ["--home", str(home)]
    return shlex.join(words)


def _options(request: Request) -> Iterator[str]:
    """What of a request is not as it is by itself, as options and their values."""
    usual = type(request)()
    for name, option in request.options().items():
        value: Any = getattr(request, name)
        if value == getattr(usual, name):
            continue
        spelled = option.spelled or f"--{name.replace('_', '-')}"
        if value is True:
            yield spelled
        elif option.words:
            yield from (spelled, ",".join(map(str, value)))
        elif isinstance(value, tuple):
            yield from (word for each in value for word in (spelled, each))
        else:
            yield from (spelled, str(value))
