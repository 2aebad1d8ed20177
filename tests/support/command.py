"""Runs the command line: in this process, or as a user does in one of its own."""

import gc
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any, NoReturn

import pytest

from support.leaves import LOST


@dataclass(frozen=True)
class Result:
    """The result of a command: exit code and what it printed."""

    code: int
    out: str
    err: str


def bench(*arguments: object, home: Path | None = None, cwd: Path | None = None, **env: str) -> Result:
    """`repoeval-bench ARGUMENTS` in this process, with these variables and this working directory.

    What a test promises about a process (signals, imports, memory) needs `bench_process`; a path of modules gets it.
    """
    if arguments and arguments[0] in LOST:
        pytest.skip(f"of a leaf that was deleted: {arguments[0]}")
    if "PYTHONPATH" in env:
        return bench_process(*arguments, home=home, cwd=cwd, **env)
    from repoeval_bench.cli import main

    out, err = _Stream(), _Stream()
    before = dict(os.environ), Path.cwd(), sys.argv
    os.environ.pop("REPOEVAL_SOURCE", None)
    os.environ.update(_environment(home, env))
    try:
        if cwd is not None:
            os.chdir(cwd)
        sys.argv = ["repoeval-bench", *map(str, arguments)]
        with redirect_stdout(out), redirect_stderr(err):
            code = _exit_code(main)
    finally:
        os.chdir(before[1])
        os.environ.clear()
        os.environ.update(before[0])
        sys.argv = before[2]
    return Result(code, out.text, err.text)


def succeed(*arguments: object, **options: Any) -> Result:
    """`bench` of a command that ends with 0."""
    done = bench(*arguments, **options)
    assert done.code == 0, done.err
    return done


def json_of(*arguments: object, **options: Any) -> Any:
    """Return what a command that ends with 0 prints with --json."""
    return json.loads(succeed(*arguments, "--json", **options).out)


def bench_process(
    *arguments: object, home: Path | None = None, cwd: Path | None = None, timeout: float = 120, **env: str
) -> Result:
    """`repoeval-bench ARGUMENTS` in a process of its own, as a user runs it."""
    variables: dict[str, str | None] = {"REPOEVAL_SOURCE": None, **_environment(home, env)}
    return python("-m", "repoeval_bench", *arguments, cwd=cwd, timeout=timeout, **variables)


def python(*words: object, cwd: Path | None = None, timeout: float = 900, **env: str | None) -> Result:
    """Run this Python in a process of its own; a variable of the environment that is None is taken away."""
    done = subprocess.run(
        [sys.executable, *map(str, words)],
        capture_output=True,
        text=True,
        env={name: value for name, value in (os.environ | env).items() if value is not None},
        cwd=cwd,
        timeout=timeout,
        check=False,
        preexec_fn=heed_interrupts,
    )
    return Result(done.returncode, done.stdout, done.stderr)


def start(
    *words: object, cwd: Path | None = None, start_new_session: bool = False, **env: str
) -> subprocess.Popen[str]:
    """Start this Python in a process of its own, whose output the test reads."""
    return subprocess.Popen(
        [sys.executable, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | env,
        cwd=cwd,
        preexec_fn=heed_interrupts,
        start_new_session=start_new_session,
    )


def pdflatex(folder: Path, tables: str) -> None:
    """Have pdflatex print tables, which must not fail."""
    page = (
        f"\\documentclass{{article}}\\usepackage{{booktabs,graphicx}}\\begin{{document}}\n{tables}\\end{{document}}\n"
    )
    (folder / "page.tex").write_text(page, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "page.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]


def at_terminal(*arguments: object, columns: int = 100, **env: str) -> str:
    """Return what a command prints on a terminal of its own."""
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = dict(os.environ, TERM="xterm-256color", PYTHONUTF8="1", **env)
    process = subprocess.Popen(
        [sys.executable, "-m", "repoeval_bench", *map(str, arguments)],
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    os.close(theirs)
    printed = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:
            break
        if not piece:
            break
        printed += piece
    os.close(ours)
    assert process.wait(timeout=60) == 0
    return printed.decode().replace("\r\n", "\n")


class _Stream(io.TextIOWrapper):
    """A text stream like a pipe: not a terminal, with bytes below it."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)

    @property
    def text(self) -> str:
        return self.buffer.getvalue().decode("utf-8")  # type: ignore[attr-defined]


def _environment(home: Path | None, env: dict[str, str]) -> dict[str, str]:
    return env if home is None else {**env, "REPOEVAL_HOME": str(home)}


def _exit_code(main: Callable[[], NoReturn]) -> int:
    thresholds, handler = gc.get_threshold(), signal.getsignal(signal.SIGINT)
    try:
        main()
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    finally:
        gc.set_threshold(*thresholds)
        if signal.getsignal(signal.SIGINT) is not handler:
            signal.signal(signal.SIGINT, handler)


def one_sentence(result: Result, code: int) -> str:
    """The one error on standard error, after checking the exit code and the absence of a traceback.

    Several mistakes in it are on indented lines of their own.
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
