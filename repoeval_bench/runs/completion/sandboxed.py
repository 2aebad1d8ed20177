"""What runs inside the sandbox, with the repository's own Python: its tests, under a time limit. Standard library only.

This file is copied into the copy of the repository and run as a program there; nothing of it is imported. `job.json`
beside it names the tests, and which lines of which files are watched; `result.json` is what came out.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
JOB, RESULT = HERE / "job.json", HERE / "result.json"

TOO_LATE = 124
"""The exit code where the tests took too long, as `timeout` has it."""


class Recorder:
    """A pytest plug-in: the outcome of each test, and which of the watched holes it ran through."""

    def __init__(self, watched: dict[str, dict[str, list[int]]]) -> None:
        self.outcomes: dict[str, str] = {}
        self.covers: dict[str, list[str]] = {}
        self._holes: dict[str, dict[int, list[str]]] = {}
        for path, holes in watched.items():
            lines: dict[int, list[str]] = {}
            for name, (start, end) in holes.items():
                for line in range(start + 1, end + 1):  # the interpreter counts from 1
                    lines.setdefault(line, []).append(name)
            self._holes[str((HERE.parent / path).resolve())] = lines
        self._hit: set[str] = set()

    def pytest_runtest_logstart(self, nodeid: str, location: object) -> None:  # noqa: ARG002 - pytest's signature
        """A test begins."""
        self._hit.clear()
        self.outcomes[nodeid] = "passed"
        if self._holes:
            threading.settrace(self._called)
            sys.settrace(self._called)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """A part of a test ended: one that did not pass decides."""
        if report.outcome != "passed":
            self.outcomes[report.nodeid] = str(report.outcome)

    def pytest_runtest_logfinish(self, nodeid: str, location: object) -> None:  # noqa: ARG002 - pytest's signature
        """A test ended."""
        if self._holes:
            sys.settrace(None)
            threading.settrace(None)
        for name in sorted(self._hit):
            self.covers.setdefault(name, []).append(nodeid)

    def _called(self, frame: Any, event: str, arg: object) -> Any:  # noqa: ARG002 - the interpreter's signature
        lines = self._holes.get(frame.f_code.co_filename)
        if lines is None:
            return None

        def ran(inner: Any, kind: str, _: object) -> Any:
            if kind == "line":
                self._hit.update(lines.get(inner.f_lineno, ()))
            return ran

        return ran


def child() -> None:
    """Run the tests in this process and write what came out."""
    import pytest

    job = json.loads(JOB.read_text(encoding="utf-8"))
    recorder = Recorder(job["watched"])
    os.chdir(HERE.parent)
    sys.path.insert(0, str(HERE.parent))
    # Options of the repository may ask for plug-ins that are not there, or for coverage, which traces too.
    words = ["-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-p", "no:randomly", "-o", "addopts="]
    code = pytest.main([*words, *job["tests"]], plugins=[recorder])
    RESULT.write_text(
        json.dumps(
            {
                "code": int(code),
                "outcomes": recorder.outcomes,
                "covers": recorder.covers,
                "environment": environment() if job["watched"] else [],
            }
        ),
        encoding="utf-8",
    )


def environment() -> list[str]:
    """Python and every installed package with its version."""
    from importlib.metadata import distributions

    found = {f"{each.metadata['Name']}=={each.version}" for each in distributions() if each.metadata["Name"]}
    return [f"python=={sys.version.split()[0]}", *sorted(found, key=str.lower)]


def main() -> int:
    """Run the tests in a process of their own and end it, with all that it started, when the time is over."""
    RESULT.unlink(missing_ok=True)
    seconds = float(sys.argv[1])
    environ = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", PYTHONHASHSEED="0", OMP_NUM_THREADS="1")
    process = subprocess.Popen([sys.executable, __file__, "--child"], env=environ, start_new_session=True)
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        RESULT.unlink(missing_ok=True)
        return TOO_LATE
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


if __name__ == "__main__":
    if sys.argv[1:] == ["--child"]:
        child()
    else:
        sys.exit(main())
