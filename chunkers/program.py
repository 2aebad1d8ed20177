r"""A chunker in any language: `exec:COMMAND`, a program that answers JSON lines with JSON lines.

The program is started once and kept for all files. For each file it reads one line

    {"repo": "owner_name", "path": "src/a.py", "text": "…"}

and writes one line

    {"unit": "lines", "chunks": [[0, 12], [12, 40]]}

with half-open ranges from 0 in order of their start, or `{"error": "why"}`. In version 2 a chunk may have a header or a
text to embed; an answer that names no version is one of version 1:

    {"version": 2, "unit": "lines", "chunks": [[0, 12], {"start": 12, "end": 40, "header": "# in: class A\n"}]}

What the program writes to standard error is shown when it fails.
"""

from __future__ import annotations

import errno
import json
import os
import queue
import re
import shlex
import shutil
import socket
import subprocess
import sys
import threading
import weakref
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from repoeval_bench.chunkers._adapters import char_offsets
from repoeval_bench.chunkers.registry import CHUNKERS
from repoeval_bench.core.errors import ChunkError, OutOfTurnError, SpecError, os_reason
from repoeval_bench.core.json_reader import MOST_OF_A_LINE, JsonFaultError, parse_loose
from repoeval_bench.core.source import Chunk, SourceFile
from repoeval_bench.core.spans import CharSpan
from repoeval_bench.core.spec import nearest

if TYPE_CHECKING:
    from io import BufferedReader

UNITS = ("characters", "bytes", "utf16", "lines")

_TEXTS = ("header", "text")
_EXAMPLE = '{"unit": "lines", "chunks": [[0, 12], …]}'


class _ProgramError(Exception):
    """A program's fault; the text completes a sentence that begins with the program's name."""


class _Piece(NamedTuple):
    """A chunk of an answer: start and end in the answer's unit, a header, and a text that replaces the file's."""

    start: int
    end: int
    header: str = ""
    text: str = ""


def chunks_of(file: SourceFile, answer: Any) -> list[Chunk]:
    """Return the chunks of an answer, without blank ones; a _ProgramError says what is wrong with the answer."""
    if isinstance(answer, dict) and isinstance(answer.get("error"), str):
        raise _ProgramError(f"reported: {answer['error'][:200]}")
    if not isinstance(answer, dict) or not isinstance(answer.get("chunks"), list):
        raise _ProgramError(f'answered without "chunks"; write {_EXAMPLE}')
    version = answer.get("version", 1)
    if type(version) is not int or version not in (1, 2):
        raise _ProgramError(f"answered in version {str(version)[:40]} of the protocol; write version 1 or 2")
    unit = answer.get("unit")
    if unit not in UNITS:
        raise _ProgramError(f"answered with {nearest('unit', str(unit)[:40], UNITS)}")
    to_chars = _positions(file, unit)
    last = max(to_chars)
    chunks: list[Chunk] = []
    previous = 0
    for start, end, header, text in (_piece(piece, version) for piece in answer["chunks"]):
        if not 0 <= start < end <= last:
            raise _ProgramError(f"returned [{start}, {end}), empty or outside the file's {last} {unit}")
        if start not in to_chars or end not in to_chars:
            raise _ProgramError(f"returned [{start}, {end}), which cuts a character in two (unit {unit})")
        chars = CharSpan(to_chars[start], to_chars[end])
        if chars.start < previous:
            raise _ProgramError(f"returned [{start}, {end}) after a chunk that starts later")
        previous = chars.start
        if not file.slice(chars).isspace():
            chunks.append(Chunk.cut(file, chars, header, text))
    return chunks


def _piece(value: Any, version: int) -> _Piece:
    """Return a chunk of an answer; a _ProgramError says what is wrong with it."""
    if isinstance(value, list) and len(value) == 2 and all(type(end) is int for end in value):
        return _Piece(*value)
    shown = str(value)[:60]
    if not isinstance(value, dict):
        raise _ProgramError(f"returned the chunk {shown}, which is not a pair of whole numbers")
    if version == 1:
        raise _ProgramError(f'returned the chunk {shown}; write "version": 2 beside "chunks" to give headers or texts')
    if unknown := sorted(value.keys() - {"start", "end", *_TEXTS}):
        raise _ProgramError(f"returned a chunk with {unknown[0][:40]!r}; a chunk has start, end, and header or text")
    if not all(type(value.get(end)) is int for end in ("start", "end")):
        raise _ProgramError(f"returned the chunk {shown}, whose start and end are not whole numbers")
    texts = {name: value[name] for name in _TEXTS if name in value}
    if len(texts) > 1:
        raise _ProgramError(
            f"returned the chunk {shown} with a header and a text; give the header in front of the text"
        )
    for name, text in texts.items():
        if not isinstance(text, str):
            raise _ProgramError(f"returned the chunk {shown}, whose {name} is not a text")
    if "text" in texts and not texts["text"].strip():
        raise _ProgramError(f"returned the chunk {shown}, whose text holds nothing but blanks")
    return _Piece(value["start"], value["end"], **texts)


def _positions(file: SourceFile, unit: str) -> dict[int, int]:
    """Return position in the unit -> character offset, for every position at which a chunk may start or end."""
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


@CHUNKERS.register(
    name="exec", target="COMMAND", meaning="Any program that reads and writes JSON lines; see docs/chunkers.md."
)
def of_command(command: str) -> ProgramChunker:
    """Return the chunker of a command line."""
    return ProgramChunker(command)


class ProgramChunker:
    """Any program that reads and writes JSON lines, started on the first file and kept for all.

    `time_limit` is seconds per file. It is a ChunkError if the program dies, writes nonsense, hangs, answers more than
    once or returns spans outside the file. The error has the file's name and the end of standard error. The program
    starts again for the next file. Call `close` after the last file, because only then surplus answers can be counted.
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
        except _ProgramError as failure:
            last_words = self.close()
            raise ChunkError(
                f"{file.name}: {self.spec} {failure}"
                + (f"; its standard error ends with: {last_words}" if last_words else "; its standard error is empty")
            ) from failure

    def close(self) -> str:
        """End the program and all that it started; return the end of its standard error.

        An OutOfTurnError if it wrote more lines than requested: after a surplus line, answers belong to other files.
        """
        if self._talk is None:
            return ""
        talk, self._talk = self._talk, None
        surplus = talk.surplus()
        last_words = talk.end()
        if surplus:
            raise OutOfTurnError(
                f"{self.spec} wrote {talk.n_lines + surplus} lines for {talk.n_lines} files, so its answers may belong "
                "to other files; let it write one line for each"
            )
        return last_words

    def _start(self, file: SourceFile) -> _Conversation:
        try:
            return _Conversation(self._arguments)
        except OSError as error:
            raise ChunkError(
                f"{file.name}: {self.spec} cannot be started ({os_reason(error)}); give a program that can be run"
            ) from error


_GRACE = 2.0
"""Seconds that a program has to end by itself after its input ends."""

_SUPERVISOR = str(Path(__file__).with_name("_supervisor.py"))

_LAST_WORDS = 100
"""Characters of standard error that are shown."""

_ERROR = re.compile(r"(?:Uncaught )?[\w.]*(?:Error|Exception)\b[^:]*: ")
"""The beginning of an error message of Node or Python."""


class _Conversation:
    """One running program; `n_lines` counts the lines that it was sent.

    Threads read and write, so that neither side can block the other for ever. Little of its output is held: one answer,
    a line that is being read, and the end of its standard error.
    """

    def __init__(self, arguments: list[str]) -> None:
        self._channel, channel = socket.socketpair()
        with channel:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", _SUPERVISOR, str(channel.fileno()), str(os.getpid()), *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=[channel.fileno()],
                process_group=0,
            )
        stdin, stdout, stderr = self._process.stdin, self._process.stdout, self._process.stderr
        assert stdin is not None
        assert stdout is not None
        assert stderr is not None
        self.n_lines = 0
        self._over = threading.Event()
        self._requests: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._answers: queue.Queue[bytes | None] = queue.Queue(maxsize=1)
        self._last_words = bytearray()
        self._stderr_reader = _thread(_keep_end, stderr, self._last_words)
        _thread(_read_lines, stdout, self._answers, self._over)
        _thread(_write_all, stdin, self._requests)
        # Called at the latest when Python exits, so that no program outlives the run.
        self._end = weakref.finalize(self, _end, self._process, self._channel, self._requests, self._over, os.getpid())
        if number := int(self._channel.recv(16) or errno.ECHILD):
            self._end()
            raise OSError(number, os.strerror(number))

    def ask(self, request: str, time_limit: float) -> Any:
        """Return the program's answer to one line, parsed; _ProgramError if none comes or it is not JSON."""
        if any(line is not None for line in self._waiting()):
            raise _ProgramError("wrote an extra line")
        self.n_lines += 1
        self._requests.put(request.encode("utf-8") + b"\n")
        try:
            line = self._answers.get(timeout=time_limit)
        except queue.Empty:
            raise _ProgramError(f"gave no answer within {time_limit:g} s") from None
        if line is None:
            self._answers.put(None)  # later requests get the same answer
            try:
                code = self._process.wait(timeout=_GRACE)
            except subprocess.TimeoutExpired:
                raise _ProgramError("closed its output before it answered") from None
            raise _ProgramError(f"ended with exit code {code} before it answered")
        if len(line) > MOST_OF_A_LINE:
            raise _ProgramError(f"wrote more than {MOST_OF_A_LINE:,} bytes without a line end")
        try:
            return parse_loose(line)
        except JsonFaultError:
            shown = line[:240].decode("utf-8", "replace").strip()[:60]
            raise _ProgramError(f"wrote {shown!r}, which is not a line of JSON") from None

    def _waiting(self) -> list[bytes | None]:
        """Return the program's lines that were not taken yet; None is the end of its output."""
        with self._answers.mutex:
            return list(self._answers.queue)

    def surplus(self) -> int:
        """End the program's input, so that it ends by itself; return how many lines it wrote beyond those requested."""
        self._requests.put(None)
        n_answers = 0
        # Until its output ends, or it is silent for a while.
        with suppress(queue.Empty):
            while self._answers.get(timeout=_GRACE) is not None and n_answers < _MANY:
                n_answers += 1
        return n_answers

    def end(self) -> str:
        """End the program and return the end of its standard error as one line."""
        self._end()
        self._stderr_reader.join(timeout=1)
        text = self._last_words.decode("utf-8", "replace")
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        errors = [number for number, line in enumerate(lines) if _ERROR.match(line)]
        if not errors:
            return " | ".join(lines[-5:])[-_LAST_WORDS:]
        # Node prints the message first, and then lines that begin with "at".
        words = " | ".join(line for line in lines[errors[-1] :] if not line.startswith("at "))
        return words if len(words) <= _LAST_WORDS else f"{words[: _LAST_WORDS // 2]} … {words[-_LAST_WORDS // 2 :]}"


_MANY = 1000
"""The most surplus lines that are counted; a program may write without end."""


def _thread(target: Any, *arguments: object) -> threading.Thread:
    thread = threading.Thread(target=target, args=arguments, daemon=True)
    thread.start()
    return thread


def _read_lines(stream: BufferedReader, answers: queue.Queue[bytes | None], over: threading.Event) -> None:
    """Pass on each line when the one before it was taken, and None at the end.

    A line that is too long is passed on up to one byte above the limit, and nothing after it.
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


def _keep_end(stream: BufferedReader, tail: bytearray) -> None:
    while block := stream.read1(1 << 16):
        tail += block
        del tail[: -64 * _LAST_WORDS]


def _write_all(stream: IO[bytes], lines: queue.SimpleQueue[bytes | None]) -> None:
    # If the program is gone, the reader sees the end of its output and reports it.
    with suppress(OSError), stream:
        while (line := lines.get()) is not None:
            stream.write(line)
            stream.flush()


def _end(
    process: subprocess.Popen[bytes],
    channel: socket.socket,
    requests: queue.SimpleQueue[bytes | None],
    over: threading.Event,
    owner: int,
) -> None:
    """Let the program end by itself for a moment; then its supervisor ends it, and all that it started."""
    if os.getpid() != owner:  # a fork must not end the program
        return
    requests.put(None)
    over.set()
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=0.2)
    with channel, suppress(OSError):  # it is closed at the other end
        channel.shutdown(socket.SHUT_RDWR)  # for forks too, which hold it open
    with suppress(subprocess.TimeoutExpired):  # a process of another user cannot be ended
        process.wait(timeout=_GRACE)
