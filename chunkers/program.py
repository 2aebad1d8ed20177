"""A chunker in any language: `exec:COMMAND`, a program that answers JSON lines with JSON lines.

The program is started once and kept for all files. For each file it reads one line

    {"repo": "owner_name", "path": "src/a.py", "text": "…"}

and writes one line

    {"unit": "lines", "chunks": [[0, 12], [12, 40]]}

with half-open ranges from 0 in order of their start, or `{"error": "why"}`. `_answer` has the whole of it: units, and
what version 2 adds. What the program writes to standard error is shown when it fails.
"""

from __future__ import annotations

import json
import os
import queue
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from repoeval_bench.chunkers._answer import AnswerError, chunks_of
from repoeval_bench.core.errors import ChunkError, OutOfTurnError, SpecError, os_reason
from repoeval_bench.core.json_reader import MOST_OF_A_LINE, JsonFaultError, parse_loose

if TYPE_CHECKING:
    from io import BufferedReader
    from typing import IO

    from repoeval_bench.core.source import Chunk, SourceFile


class ProgramChunker:
    """Any program that reads and writes JSON lines, started on the first file and kept for all.

    `time_limit` is seconds per file. A program that dies, says nonsense, hangs, answers more than once or returns spans
    outside the file is a ChunkError with the file's name and the program's last words, and is started afresh for the
    next file. Call `close` after the last file: only then is it known that no answer was one too many.
    """

    def __init__(self, command: str, time_limit: float = 60.0) -> None:
        try:
            self._arguments = shlex.split(command)
        except ValueError as error:
            raise SpecError(f"exec:{command} cannot be split into words ({error}); close the quotes") from error
        if not self._arguments:
            raise SpecError("exec: names no command; write exec:COMMAND")
        if shutil.which(self._arguments[0]) is None:
            raise SpecError(
                f"exec:{command} cannot be started: {self._arguments[0]!r} is not a program on the PATH; give one, or "
                "its path"
            )
        if time_limit <= 0:
            raise SpecError(f"exec:{command}: a time limit of {time_limit} s is impossible; give a positive one")
        self._command = command
        self._time_limit = time_limit
        self._talk: _Conversation | None = None

    @property
    def spec(self) -> str:
        """`exec:COMMAND`; the program's own options are part of the command."""
        return f"exec:{self._command}"

    def chunk(self, file: SourceFile) -> list[Chunk]:
        """Send the file, wait for its line, cut the spans."""
        if not file.text.strip():
            return []
        request = json.dumps({"repo": file.repo, "path": file.path, "text": file.text})
        if self._talk is None:
            self._talk = self._start(file)
        try:
            answer = self._talk.ask(request, self._time_limit)
            return chunks_of(file, answer)
        except (_ProgramError, AnswerError) as failure:
            last_words = self.close()
            raise ChunkError(
                f"{file.name}: {self.spec} {failure}"
                + (f"; its standard error ends with: {last_words}" if last_words else "; its standard error is empty")
            ) from failure

    def close(self) -> str:
        """End the program and all that it started; the end of its standard error.

        An OutOfTurnError where it wrote more lines than it was asked for: each answer after a surplus one was taken for
        the next file's, whether or not its spans fit there.
        """
        if self._talk is None:
            return ""
        talk, self._talk = self._talk, None
        surplus = talk.surplus()
        last_words = talk.end()
        if surplus:
            raise OutOfTurnError(
                f"{self.spec} wrote {talk.asked + surplus} lines for {talk.asked} files, so its answers may belong to "
                "other files; let it write one line for each"
            )
        return last_words

    def _start(self, file: SourceFile) -> _Conversation:
        try:
            return _Conversation(self._arguments)
        except OSError as error:
            raise ChunkError(
                f"{file.name}: {self.spec} cannot be started ({os_reason(error)}); give a program that can be run"
            ) from error


class _ProgramError(Exception):
    """What the program did wrong, as the rest of a sentence that begins with its name."""


_GRACE = 2.0
"""Seconds in which a program ends by itself once its input has."""

_LAST_WORDS = 400
"""Characters of standard error that are shown."""


class _Conversation:
    """One running program; `asked` counts the lines it was sent.

    Threads read and write, so that neither side can block the other for ever.
    What is held of its output is bounded: one answer, a line that is being read, the end of its standard error.
    """

    def __init__(self, arguments: list[str]) -> None:
        self._process = subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # A group of its own, so that what the program starts ends with it.
            process_group=None if sys.platform == "win32" else 0,
        )
        stdin, stdout, stderr = self._process.stdin, self._process.stdout, self._process.stderr
        assert stdin is not None
        assert stdout is not None
        assert stderr is not None
        self.asked = 0
        self._over = threading.Event()
        self._requests: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._answers: queue.Queue[bytes | None] = queue.Queue(maxsize=1)
        self._last_words = bytearray()
        self._stderr_reader = _thread(_keep_end, stderr, self._last_words)
        _thread(_read_lines, stdout, self._answers, self._over)
        _thread(_write_all, stdin, self._requests)
        # Called at the latest when Python exits: no program outlives the run.
        self._end = weakref.finalize(self, _end, self._process, self._requests, self._over)

    def ask(self, request: str, time_limit: float) -> Any:
        """The program's answer to one line, as JSON; _ProgramError where none comes or it is no JSON."""
        if any(line is not None for line in self._waiting()):
            raise _ProgramError("wrote a line that it was not asked for")
        self.asked += 1
        self._requests.put(request.encode("utf-8") + b"\n")
        try:
            line = self._answers.get(timeout=time_limit)
        except queue.Empty:
            raise _ProgramError(f"gave no answer within {time_limit:g} s") from None
        if line is None:
            self._answers.put(None)  # it stays at its end
            code = self._process.wait()
            raise _ProgramError(f"ended with exit code {code} before it answered")
        if len(line) > MOST_OF_A_LINE:
            raise _ProgramError(f"wrote more than {MOST_OF_A_LINE:,} bytes without a line end")
        try:
            return parse_loose(line)
        except JsonFaultError:
            raise _ProgramError(f"wrote {_shown(line)}, which is not a line of JSON") from None

    def _waiting(self) -> list[bytes | None]:
        """What the program has sent and nobody has taken yet; None is the end of its output."""
        with self._answers.mutex:
            return list(self._answers.queue)

    def surplus(self) -> int:
        """Let the program end by itself, as its input does: how many lines it wrote beyond those it was asked for."""
        self._requests.put(None)
        found = 0
        # It is over with the end of its output, or with silence.
        with suppress(queue.Empty):
            while self._answers.get(timeout=_GRACE) is not None and found < _MANY:
                found += 1
        return found

    def end(self) -> str:
        """End the program and return the end of its standard error as one line."""
        self._end()
        self._stderr_reader.join(timeout=1)
        words = self._last_words.decode("utf-8", "replace").splitlines()[-5:]
        return " | ".join(line.strip() for line in words if line.strip())[-_LAST_WORDS:]


_MANY = 1000
"""Surplus lines that are counted; a program may write without end."""


def _shown(line: bytes) -> str:
    return repr(line[:240].decode("utf-8", "replace").strip()[:60])


def _thread(target: Any, *arguments: object) -> threading.Thread:
    thread = threading.Thread(target=target, args=arguments, daemon=True)
    thread.start()
    return thread


def _read_lines(stream: BufferedReader, answers: queue.Queue[bytes | None], over: threading.Event) -> None:
    """Pass on line by line, each once the one before it was taken, and None at the end.

    Of a line without an end one byte more than is allowed is passed on, and nothing after it.
    """
    line: bytes | None = b""
    while line is not None and not over.is_set():
        line = stream.readline(MOST_OF_A_LINE + 1) or None
        while not over.is_set():
            try:
                answers.put(line, timeout=0.2)
                break
            except queue.Full:
                continue
        if line is not None and len(line) > MOST_OF_A_LINE:
            return


def _keep_end(stream: BufferedReader, kept: bytearray) -> None:
    while block := stream.read1(1 << 16):
        kept += block
        del kept[: -4 * _LAST_WORDS]


def _write_all(stream: IO[bytes], lines: queue.SimpleQueue[bytes | None]) -> None:
    try:
        while (line := lines.get()) is not None:
            stream.write(line)
            stream.flush()
        stream.close()
    except OSError:
        return  # the program has gone: the reader sees the end of its output and says so


def _end(process: subprocess.Popen[bytes], requests: queue.SimpleQueue[bytes | None], over: threading.Event) -> None:
    requests.put(None)
    over.set()
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=0.2)
    if sys.platform == "win32":
        process.kill()
    else:
        with suppress(ProcessLookupError):  # it has ended, and left nobody
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
