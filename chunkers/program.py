"""A chunker in any language: `exec:COMMAND`, a program that answers JSON lines with JSON lines.

The program is started once and kept for all files. For each file it reads one line

    {"repo": "owner_name", "path": "src/a.py", "text": "…"}

and writes one line

    {"unit": "lines", "chunks": [[0, 12], [12, 40]]}

with half-open ranges from 0 in order of their start. `unit` is `characters` (code points), `bytes` (of the
text's UTF-8), `utf16` (code units, what JavaScript and Java call a string's length) or `lines`. It may write
`{"error": "why"}` instead. What it writes to standard error is shown when it fails.
"""

from __future__ import annotations

import json
import queue
import shlex
import subprocess
import threading
import weakref
from collections import deque
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from repoeval_bench.chunkers._adapters import char_offsets
from repoeval_bench.chunkers._lines import cut_spans
from repoeval_bench.core.errors import ChunkError, SpecError
from repoeval_bench.core.spec import nearest

if TYPE_CHECKING:
    from typing import IO

    from repoeval_bench.core.source import Chunk, SourceFile

UNITS = ("characters", "bytes", "utf16", "lines")


class ProgramChunker:
    """Any program that reads and writes JSON lines, started on the first file and kept for all.

    `time_limit` is seconds per file. A program that dies, says nonsense, hangs or returns spans outside the
    file is a ChunkError with the file's name and the program's last words, and is started afresh for the
    next file.
    """

    def __init__(self, command: str, time_limit: float = 60.0) -> None:
        try:
            self._arguments = shlex.split(command)
        except ValueError as error:
            raise SpecError(f"exec:{command} cannot be split into words ({error}); close the quotes") from error
        if not self._arguments:
            raise SpecError("exec: names no command; write exec:COMMAND")
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
            return cut_spans(file, _spans(file, answer))
        except _ProgramError as failure:
            last_words = self._talk.end()
            self._talk = None
            raise ChunkError(
                f"{file.name}: {self.spec} {failure}"
                + (f"; its standard error ends with: {last_words}" if last_words else "; its standard error is empty")
            ) from failure

    def close(self) -> None:
        """End the program; done at exit in any case."""
        if self._talk is not None:
            self._talk.end()
            self._talk = None

    def _start(self, file: SourceFile) -> _Conversation:
        try:
            return _Conversation(self._arguments)
        except OSError as error:
            raise ChunkError(
                f"{file.name}: {self.spec} cannot be started "
                f"({error.strerror or error}: {self._arguments[0]}); give a program that is on the PATH"
            ) from error


class _ProgramError(Exception):
    """What the program did wrong, as the rest of a sentence that begins with its name."""


class _Conversation:
    """One running program. Threads read and write, so that neither side can block the other for ever."""

    def __init__(self, arguments: list[str]) -> None:
        self._process = subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
        )
        stdin, stdout, stderr = self._process.stdin, self._process.stdout, self._process.stderr
        assert stdin is not None
        assert stdout is not None
        assert stderr is not None
        self._requests: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._last_words: deque[str] = deque(maxlen=5)
        self._stderr_reader = _thread(self._last_words.extend, stderr)
        _thread(_read_all, stdout, self._answers)
        _thread(_write_all, stdin, self._requests)
        # Called at the latest when Python exits: no program outlives the run.
        self._finish = weakref.finalize(self, _finish, self._process, self._requests)

    def ask(self, request: str, time_limit: float) -> Any:
        """The program's answer to one line, as JSON; _ProgramError where none comes or it is no JSON."""
        self._requests.put(request)
        try:
            line = self._answers.get(timeout=time_limit)
        except queue.Empty:
            raise _ProgramError(f"gave no answer within {time_limit:g} s") from None
        if line is None:
            code = self._process.wait()
            raise _ProgramError(f"ended with exit code {code} before it answered")
        try:
            return json.loads(line)
        except ValueError:
            raise _ProgramError(f"wrote {line.strip()[:60]!r}, which is not a line of JSON") from None

    def end(self) -> str:
        """End the program and return the end of its standard error as one line."""
        self._finish()
        self._stderr_reader.join(timeout=1)
        return " | ".join(line.strip() for line in self._last_words if line.strip())[-400:]


def _thread(target: Any, *arguments: object) -> threading.Thread:
    thread = threading.Thread(target=target, args=arguments, daemon=True)
    thread.start()
    return thread


def _read_all(stream: IO[str], lines: queue.SimpleQueue[str | None]) -> None:
    for line in stream:
        lines.put(line)
    lines.put(None)


def _write_all(stream: IO[str], lines: queue.SimpleQueue[str | None]) -> None:
    try:
        while (line := lines.get()) is not None:
            stream.write(line + "\n")
            stream.flush()
        stream.close()
    except OSError:
        return  # the program has gone: the reader sees the end of its output and says so


def _finish(process: subprocess.Popen[str], requests: queue.SimpleQueue[str | None]) -> None:
    requests.put(None)
    try:
        process.wait(timeout=0.2)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _spans(file: SourceFile, answer: Any) -> list[tuple[int, int]]:
    """Character spans of an answer; _ProgramError says what is wrong with it."""
    if isinstance(answer, dict) and isinstance(answer.get("error"), str):
        raise _ProgramError(f"reported: {answer['error'][:200]}")
    if not isinstance(answer, dict) or not isinstance(answer.get("chunks"), list):
        raise _ProgramError('answered without "chunks"; write {"unit": "lines", "chunks": [[0, 12], …]}')
    unit = answer.get("unit")
    if unit not in UNITS:
        raise _ProgramError(f"answered with {nearest('unit', str(unit), UNITS)}")
    to_chars = _positions(file, unit)
    spans: list[tuple[int, int]] = []
    for chunk in answer["chunks"]:
        if not isinstance(chunk, list) or len(chunk) != 2 or not all(type(end) is int for end in chunk):
            raise _ProgramError(f"returned the chunk {str(chunk)[:60]}, which is not a pair of whole numbers")
        start, end = chunk
        if not 0 <= start < end <= max(to_chars):
            raise _ProgramError(f"returned [{start}, {end}), empty or outside the file's {max(to_chars)} {unit}")
        if start not in to_chars or end not in to_chars:
            raise _ProgramError(f"returned [{start}, {end}), which cuts a character in two (unit {unit})")
        if spans and to_chars[start] < spans[-1][0]:
            raise _ProgramError(f"returned [{start}, {end}) after a chunk that starts later")
        spans.append((to_chars[start], to_chars[end]))
    return spans


def _positions(file: SourceFile, unit: str) -> dict[int, int]:
    """Position in the unit -> character offset, for every position at which a chunk may start or end."""
    if unit == "characters":
        return {index: index for index in range(len(file.text) + 1)}
    if unit == "bytes":
        return char_offsets(file.text)
    if unit == "utf16":
        widths = (1 + (char > "\uffff") for char in file.text)
    else:
        lengths = map(len, file.text.splitlines(keepends=True))
        return dict(enumerate(accumulate(lengths, initial=0)))
    return {position: index for index, position in enumerate(accumulate(widths, initial=0))}
