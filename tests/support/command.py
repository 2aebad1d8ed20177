"""Runs the command line: as a process, as a user does, or in this one."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from unittest import mock


@dataclass(frozen=True)
class Result:
    """What a command left: exit code and what it printed."""

    code: int
    out: str
    err: str


def bench(
    *arguments: object, home: Path | None = None, cwd: Path | None = None, timeout: float = 120, **env: str
) -> Result:
    """`repoeval-bench ARGUMENTS` in a process of its own."""
    environment = dict(os.environ, **env)
    environment.pop("REPOEVAL_SOURCE", None)
    if home is not None:
        environment["REPOEVAL_HOME"] = str(home)
    done = subprocess.run(
        [sys.executable, "-m", "repoeval_bench", *map(str, arguments)],
        capture_output=True, text=True, env=environment, cwd=cwd, timeout=timeout, check=False,
    )  # fmt: skip
    return Result(done.returncode, done.stdout, done.stderr)


def bench_here(*arguments: object, home: Path | None = None, **env: str) -> Result:
    """`repoeval-bench ARGUMENTS` in this process: what it prints and exits with is the same, and it starts at once."""
    from repoeval_bench.cli import main

    given = dict(env, **({"REPOEVAL_HOME": str(home)} if home is not None else {}))
    with (
        mock.patch.dict(os.environ, given),
        mock.patch.object(sys, "argv", ["repoeval-bench", *map(str, arguments)]),
        redirect_stdout(io.StringIO()) as out,
        redirect_stderr(io.StringIO()) as err,
    ):
        os.environ.pop("REPOEVAL_SOURCE", None)
        try:
            main()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 0
    return Result(code, out.getvalue(), err.getvalue())


def one_sentence(result: Result, code: int) -> str:
    """The one error on standard error, after checking exit code and that there is no traceback.

    Several mistakes in it stand on indented lines of their own.
    """
    assert result.code == code, (result.code, result.err, result.out)
    assert "Traceback" not in result.err + result.out
    lines = result.err.splitlines()
    errors = [i for i, line in enumerate(lines) if line.startswith("error: ")]
    assert len(errors) == 1, result.err
    return "\n".join([lines[errors[0]], *takewhile(lambda line: line.startswith("  "), lines[errors[0] + 1 :])])


def heed_interrupts() -> None:
    """For a child's `preexec_fn`: Ctrl-C works in it even where this process was started to ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def interrupt_when(process: subprocess.Popen[str], ready: object) -> None:
    """Send Ctrl-C to the process's group once `ready()` is true."""
    import time

    deadline = time.monotonic() + 60
    while not ready() and process.poll() is None:  # type: ignore[operator]
        assert time.monotonic() < deadline, "the process never got that far"
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
