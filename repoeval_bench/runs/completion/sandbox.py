"""Running a repository's tests where they can do no harm: in a fresh copy, in a sandbox that the user named."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel

from repoeval_bench.core.errors import CompletionError, UsageError
from repoeval_bench.core.json_reader import JsonFaultError, parse, read_document
from repoeval_bench.core.source import spliced
from repoeval_bench.runs.completion import sandboxed

if TYPE_CHECKING:
    from repoeval_bench.core.spans import LineSpan

PLACE = "{repo}"
"""Where a sandbox's command names the copy's folder."""

FOLDER = ".repoeval"
"""In the copy: what runs there, what it is asked, and what came out."""

_PATIENCE = 30.0
"""Seconds beyond the time limit, for the sandbox itself to start and end."""

_RESULT_BYTES = 64 * 2**20
_SHOWN = 300  # characters of what a sandbox wrote last, in an error


@dataclass(frozen=True, slots=True)
class Job:
    """Tests to run: of pytest's ids these, or all.

    `replaced` are (path, lines, the text in their place). `watched` are (path, task's id, lines): which tests run
    through these is recorded.
    """

    tests: tuple[str, ...]
    replaced: tuple[tuple[str, LineSpan, str], ...] = ()
    watched: tuple[tuple[str, str, LineSpan], ...] = ()


class Result(BaseModel, strict=True, extra="forbid"):
    """What came out: pytest's exit code, each test's outcome, and task -> the tests that ran through its hole.

    `environment` are Python and its packages, stated where lines were watched.
    """

    code: int
    outcomes: dict[str, str]
    covers: dict[str, list[str]]
    environment: list[str]

    def passed(self, tests: Sequence[str]) -> bool:
        """Whether all of these tests passed."""
        return self.code == 0 and all(self.outcomes.get(test) == "passed" for test in tests)


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A command with the place of the copy in it, and the Python that has what the repository needs."""

    words: tuple[str, ...]
    python: str

    @classmethod
    def parse(cls, text: str, python: str) -> Sandbox:
        """`bwrap`, or any command with `{repo}` in it; a UsageError where it cannot be used."""
        if text == "bwrap":
            if shutil.which("bwrap") is None:
                raise UsageError("--sandbox bwrap: bwrap is not installed; install bubblewrap, or name another sandbox")
            return cls(_bubblewrap(python), python)
        try:
            words = tuple(shlex.split(text))
        except ValueError as error:
            raise UsageError(f"--sandbox {text!r} cannot be read ({error}); quote it as a shell would") from error
        if not words or not any(PLACE in word for word in words):
            raise UsageError(
                f"--sandbox {text!r} does not say where the copy of the repository goes; write {PLACE} for its folder, "
                f"as in 'docker run --rm --network none -v {PLACE}:/repo -w /repo IMAGE', or bwrap"
            )
        if shutil.which(words[0]) is None:
            raise UsageError(f"--sandbox {text!r}: {words[0]} is not installed or not on the path")
        return cls(words, python)

    def run(self, repository: Path, job: Job, seconds: float) -> Result | None:
        """What the tests say in a fresh copy of the repository; None where they took longer than `seconds`.

        A CompletionError where the sandbox did not start.
        """
        with tempfile.TemporaryDirectory(prefix="repoeval-", ignore_cleanup_errors=True) as folder:
            copy = Path(folder) / "repository"
            shutil.copytree(repository, copy, symlinks=True)
            for path, lines, text in job.replaced:
                # The file's bytes elsewhere stay as they are, so that CRLF stays too.
                content = (copy / path).read_bytes().decode("utf-8")
                (copy / path).write_bytes(spliced(content, lines, text).encode("utf-8"))
            place = copy / FOLDER
            place.mkdir()
            shutil.copy(Path(sandboxed.__file__), place / "sandboxed.py")
            (place / "job.json").write_text(_job(job), encoding="utf-8")
            words = [word.replace(PLACE, str(copy)) for word in self.words]
            code, said = _wait([*words, self.python, f"{FOLDER}/sandboxed.py", str(seconds)], copy, seconds + _PATIENCE)
            return _read(place / "result.json", code, said, self.words[0])


def _bubblewrap(python: str) -> tuple[str, ...]:
    """No network, no other processes, nothing writable but the copy and a /tmp of its own; homes are not seen."""
    words = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--ro-bind", "/", "/"]
    words += ["--dev", "/dev", "--proc", "/proc"]
    for hidden in ("/tmp", "/home", "/root", "/run"):  # noqa: S108 - hidden, not written
        if Path(hidden).is_dir():
            words += ["--tmpfs", hidden]
    found = shutil.which(python)
    if found is None:
        raise UsageError(f"--python {python} is not there; name the Python that has what the tests need")
    # A virtual environment has its libraries in one place, and its interpreter in another.
    for prefix in dict.fromkeys(str(path.parents[1]) for path in (Path(found).absolute(), Path(found).resolve())):
        if prefix not in ("/", "/usr"):
            words += ["--ro-bind", prefix, prefix]
    words += ["--bind", PLACE, PLACE, "--chdir", PLACE, "--clearenv"]
    for name, value in {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8"}.items():  # noqa: S108
        words += ["--setenv", name, value]
    return tuple(words)


def _job(job: Job) -> str:
    watched: dict[str, dict[str, list[int]]] = {}
    for path, name, lines in job.watched:
        watched.setdefault(path, {})[name] = [lines.start, lines.end]
    content: Mapping[str, object] = {"tests": job.tests, "watched": watched}
    return json.dumps(content)


def _wait(words: Sequence[str], folder: Path, seconds: float) -> tuple[int | None, str]:
    """(exit code, None where it was killed as it took too long; the end of what it wrote)."""
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            words, cwd=folder, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            code: int | None = process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        said.seek(max(0, said.seek(0, os.SEEK_END) - 4 * _SHOWN))
        return code, " ".join(said.read().decode("utf-8", "replace").split())[-_SHOWN:]


def _read(path: Path, code: int | None, said: str, name: str) -> Result | None:
    if code is None or code == sandboxed.TOO_LATE:
        return None
    if not path.is_file():
        if code == 0 or code < 0:  # the tests ended the process that ran them
            return Result(code=1, outcomes={}, covers={}, environment=[])
        if "sandboxed.py" in said or code in (126, 127) or "No module named" in said:
            raise CompletionError(f"the sandbox {name} ran no tests (exit code {code}): {said or 'it said nothing'}")
        return Result(code=code, outcomes={}, covers={}, environment=[])
    try:
        return parse(read_document(path, _RESULT_BYTES), Result)
    except (JsonFaultError, OSError):  # the tests wrote into it
        return Result(code=1, outcomes={}, covers={}, environment=[])
