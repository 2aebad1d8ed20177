r"""A chunker in any language: `exec:COMMAND`, a program that answers JSON lines with JSON lines.

The program is started once and kept for all files. For each file it reads one line

    {"repo": "owner_name", "path": "src/a.py", "text": "…"}

and writes one line

    {"unit": "lines", "chunks": [[0, 12], {"start": 12, "end": 40, "header": "# in: class A\n"}]}

with half-open ranges from 0 in order of their start, or `{"error": "why"}`. A chunk with more than its range is an
object, with a header or with a text to embed in place of its lines.

What the program writes to standard error is shown when it fails.
"""

import json
import os
import queue
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
import weakref
from contextlib import suppress
from itertools import accumulate
from typing import IO, Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from repoeval_bench.chunkers.registry import CHUNKERS
from repoeval_bench.core.errors import ChunkError, OutOfTurnError, SpecError
from repoeval_bench.core.json_reader import JsonFaultError, parse_loose
from repoeval_bench.core.source import Chunk, SourceFile
from repoeval_bench.core.spans import CharSpan
from repoeval_bench.core.validation import STRICT, mistakes


class _ProgramError(Exception):
    """A program's fault; the text completes a sentence that begins with the program's name."""


class _Piece(BaseModel):
    """A chunk of an answer: start and end in the answer's unit, and a header or a text that replaces the file's."""

    model_config = STRICT

    start: int
    end: int
    header: str = ""
    text: str = ""

    @model_validator(mode="before")
    @classmethod
    def _pair(cls, value: Any) -> Any:
        return {"start": value[0], "end": value[1]} if isinstance(value, list) and len(value) == 2 else value


class _Answer(BaseModel):
    model_config = ConfigDict(strict=True)

    unit: Literal["characters", "bytes", "utf16", "lines"]
    chunks: list[_Piece]


def chunks_of(file: SourceFile, answer: Any) -> list[Chunk]:
    """Return the chunks of an answer, without blank ones; a _ProgramError says what is wrong with the answer."""
    if isinstance(answer, dict) and isinstance(answer.get("error"), str):
        raise _ProgramError(f"reported: {answer['error'][:200]}")
    try:
        checked = _Answer.model_validate(answer)
    except ValidationError as error:
        raise _ProgramError(f"gave a wrong answer: {mistakes(error, 'the line')[0]}") from None
    to_chars = _positions(file, checked.unit)
    last = max(to_chars)
    chunks: list[Chunk] = []
    for piece in checked.chunks:
        span = f"[{piece.start}, {piece.end})"
        if not 0 <= piece.start < piece.end <= last:
            raise _ProgramError(f"returned {span}, empty or outside the file's {last} {checked.unit}")
        if piece.start not in to_chars or piece.end not in to_chars:
            raise _ProgramError(f"returned {span}, which cuts a character in two (unit {checked.unit})")
        chars = CharSpan(to_chars[piece.start], to_chars[piece.end])
        if not file.slice(chars).isspace():
            chunks.append(Chunk.cut(file, chars, piece.header, piece.text))
    return chunks


def _positions(file: SourceFile, unit: str) -> dict[int, int]:
    """Return position in the unit -> character offset, for every position at which a chunk may start or end."""
    if unit == "lines":
        return dict(enumerate(accumulate(map(len, file.text.splitlines(keepends=True)), initial=0)))
    if unit == "bytes":
        widths = [len(char.encode("utf-8", "surrogatepass")) for char in file.text]
    else:
        # UTF-16 has two units for a character beyond the first 65,536.
        widths = [1 + (unit == "utf16" and char > "\uffff") for char in file.text]
    return {position: index for index, position in enumerate(accumulate(widths, initial=0))}


TIME_LIMIT = 60.0
"""Seconds that a program may take for a file."""


@CHUNKERS.register(
    name="exec", target="COMMAND", meaning="Any program that reads and writes JSON lines; see docs/chunkers.md."
)
class ProgramChunker:
    """Any program that reads and writes JSON lines, started on the first file and kept for all.

    It is a ChunkError if the program dies, writes nonsense, hangs or returns spans outside the file. The program starts
    again for the next file. Call `close` after the last file.
    """

    # Only when it is closed are surplus answers seen.

    def __init__(self, command: str) -> None:
        try:
            self._arguments = shlex.split(command)
        except ValueError as error:
            raise SpecError(f"exec:{command} cannot be split into words ({error}); close the quotes") from error
        if not self._arguments or shutil.which(self._arguments[0]) is None:
            raise SpecError(
                f"exec:{command} cannot be started: its first word is not a program on the PATH; give one, or its path"
            )
        self._command = command
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
            self._talk = _Conversation(self._arguments)
        try:
            return chunks_of(file, self._talk.ask(request))
        except _ProgramError as failure:
            last_words = self.close()
            raise ChunkError(
                f"{file.name}: {self.spec} {failure}"
                + (f"; its standard error ends with: {last_words}" if last_words else "; its standard error is empty")
            ) from failure

    def close(self) -> str:
        """End the program and its process group; return the end of its standard error.

        An OutOfTurnError if it wrote more lines than requested.
        """
        if self._talk is None:
            return ""
        talk, self._talk = self._talk, None
        surplus = talk.has_surplus()
        last_words = talk.end()
        if surplus:  # after a surplus line, answers belong to other files
            raise OutOfTurnError(
                f"{self.spec} wrote more than {talk.n_lines} lines for {talk.n_lines} files, so its answers may belong "
                "to other files; let it write one line for each"
            )
        return last_words


# Seconds that a program has to end by itself after its input ends.
_GRACE = 2.0

# Characters of standard error that are shown.
_LAST_WORDS = 300


class _Conversation:
    """One running program; `n_lines` counts the lines that it was sent."""

    def __init__(self, arguments: list[str]) -> None:
        # To a file and not to a pipe, which a program that writes much would fill, and wait.
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - it is open as long as the program
        self._process = subprocess.Popen(
            arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, process_group=0
        )
        self.n_lines = 0
        self._is_stuck = False
        # Called at the latest when Python exits, so that no program outlives the run.
        self._kill = weakref.finalize(self, _kill_group, self._process)

    def ask(self, request: str) -> Any:
        """Return the program's answer to one line, parsed; _ProgramError if none comes or it is not JSON."""
        self.n_lines += 1
        line = self._exchange(request.encode("utf-8") + b"\n", TIME_LIMIT)
        self._is_stuck = line is None
        if line is None:
            raise _ProgramError(f"gave no answer within {TIME_LIMIT:g} s")
        if not line:
            with suppress(subprocess.TimeoutExpired):  # it may have closed its output alone
                self._process.wait(timeout=_GRACE)
            code = self._process.poll()
            # As shells name the signal that ended it.
            ended = "closed its output" if code is None else f"ended with exit code {code if code >= 0 else 128 - code}"
            raise _ProgramError(f"{ended} before it answered")
        try:
            return parse_loose(line)
        except JsonFaultError:
            shown = line[:240].decode("utf-8", "replace").strip()[:60]
            raise _ProgramError(f"wrote {shown!r}, which is not a line of JSON") from None

    def has_surplus(self) -> bool:
        """End the program's input, and return whether it writes more before it ends or is silent for a while."""
        return not self._is_stuck and bool(self._exchange(None, _GRACE))

    def end(self) -> str:
        """End the program and its group; return the end of its standard error as one line."""
        self._kill()
        self._errors.seek(max(0, os.fstat(self._errors.fileno()).st_size - 64 * _LAST_WORDS))
        lines = [line.strip() for line in self._errors.read().decode("utf-8", "replace").splitlines()]
        self._errors.close()
        # Node prints the message first, and then lines that begin with "at".
        words = [line for line in lines if line and not line.startswith("at ")]
        return " | ".join(words[-8:])[-_LAST_WORDS:]

    def _exchange(self, request: bytes | None, time_limit: float) -> bytes | None:
        """Send a line, or for None the end of input; return the next, b"" at the end, None if none comes in time."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        # A thread waits for the answer, so that a silent program cannot block the caller.
        answers: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        threading.Thread(target=_send_and_read, args=(stdin, request, stdout, answers), daemon=True).start()
        try:
            return answers.get(timeout=time_limit)
        except queue.Empty:
            return None


def _send_and_read(
    stdin: IO[bytes], request: bytes | None, stdout: IO[bytes], answers: queue.SimpleQueue[bytes]
) -> None:
    # If the program is gone, its output has ended, which is reported.
    with suppress(OSError):
        if request is None:
            stdin.close()
        else:
            stdin.write(request)
            stdin.flush()
    answers.put(stdout.readline())


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    with suppress(subprocess.TimeoutExpired):  # it may end by itself now
        process.wait(timeout=0.2)
    with suppress(ProcessLookupError, PermissionError):  # the group is empty
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=_GRACE)
