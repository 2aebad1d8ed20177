"""The one reader of JSON and JSON Lines: any text becomes a checked value or one `JsonFaultError`.

UTF-8, with or without a BOM; a file whose name ends in `.gz` is unpacked as it is read. It refuses a lone surrogate,
too many bytes in a line or document, more than 200 levels of nesting, and more than 4,300 digits. It also refuses a key
that appears twice in one object, because two readers would take two values. The model, or `parse_plain`, decides what
else a value may be.
"""

from __future__ import annotations

import gzip
import io
import json
import math
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from repoeval_bench.core.errors import BenchError, os_reason
from repoeval_bench.core.numbers import EXACT
from repoeval_bench.core.validation import mistakes, without_line

_Model = TypeVar("_Model", bound=BaseModel)

MOST_OF_A_LINE = 64 * 1024 * 1024
"""The most bytes of a line: four times a source file of 16 MiB, as each of its characters may be escaped."""

MOST_OF_A_DOCUMENT = 256 * 1024 * 1024
"""The most bytes of a document that is read as a whole."""

MOST_OF_A_TEXT = 4 * MOST_OF_A_DOCUMENT
"""The most bytes, unpacked, of a text of lines that is read as a whole."""

_BOM = b"\xef\xbb\xbf"
_BLOCK = 1 << 16
_READ = 1 << 20


class JsonFaultError(ValueError):
    """The faults of a text: a sentence for each mistake; `line` counts from 1, 0 if no line is at fault.

    `whole`: the text itself is wrong, not one of its fields.
    """

    def __init__(self, *faults: str, line: int = 0, whole: bool = False) -> None:
        first, *others = faults
        super().__init__(first + (f", and {len(others)} more" if others else ""))
        self.faults = faults
        self.line = line
        self.whole = whole

    def where(self, path: Path) -> str:
        """`path:line`, or the path alone if no line is at fault."""
        return f"{path}:{self.line}" if self.line else str(path)


class UnreadableError(ValueError):
    """A file cannot be opened or read; the text says why."""


@contextmanager
def faults_as(kind: type[BenchError], path: Path, way_out: str) -> Iterator[None]:
    """Raise a fault of this file in the block as a `kind`: `path:line is broken (…); way_out`."""
    try:
        yield
    except JsonFaultError as fault:
        raise kind(f"{fault.where(path)} is broken ({fault}); {way_out}") from fault
    except UnreadableError as fault:
        raise kind(f"{path} cannot be read ({fault}); {way_out}") from fault


def parse(text: bytes | str, model: type[_Model], whole: str = "") -> _Model:
    """Parse a text as a `model`; a JsonFaultError says what does not fit, and calls the text itself `whole`."""
    try:
        record = model.model_validate_json(text)
    except ValidationError as error:
        raise JsonFaultError(*_faults(text, error, whole), whole=not error.errors()[0]["loc"]) from error
    _check_distinct(text)
    return record


def parse_loose(text: bytes | str) -> Any:
    """Plain values of JSON that another program wrote in its own way; JsonFaultError if the text is not JSON."""
    try:
        return from_json(text)
    except ValueError as error:
        raise JsonFaultError(f"not valid JSON ({without_line(str(error))})") from error


def parse_plain(text: bytes | str) -> Any:
    """Plain values of JSON for which there is no model; a JsonFaultError says what is wrong.

    Beside texts that are not JSON, it refuses numbers that are not finite, whole ones beyond 2^53, and repeated keys.
    """
    parse_loose(text)  # which bounds depth and digits, and refuses lone surrogates
    return json.loads(
        text, object_pairs_hook=_distinct, parse_constant=_not_finite, parse_float=_finite, parse_int=_exact
    )


def _faults(text: bytes | str, error: ValidationError, whole: str = "") -> list[str]:
    if isinstance(text, bytes):
        try:
            text.decode("utf-8")
        except UnicodeDecodeError as fault:
            return [f"{whole}{': ' if whole else ''}UTF-8 was expected, byte {fault.start} is not"]
    return mistakes(error, whole)


def _check_distinct(text: bytes | str) -> None:
    """Raise a JsonFaultError if valid JSON has a key twice in one object."""
    colons = text.count(b":") if isinstance(text, bytes) else text.count(":")
    # Each key has one colon. More colons are in strings or belong to a repeated key: only then is the text read again.
    if colons != _count_keys(from_json(text, cache_strings="keys")):
        json.loads(text, object_pairs_hook=_distinct, parse_float=str, parse_int=str)


def _count_keys(value: Any) -> int:
    """Return the number of keys in a value and in all values inside it."""
    n, inner = (len(value), value.values()) if type(value) is dict else (0, value if type(value) is list else ())
    for element in inner:
        if type(element) is dict or type(element) is list:  # tested here, as most values are neither and a call is slow
            n += _count_keys(element)
    return n


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise JsonFaultError(f"{twice!r} appears twice; keep one")
    return values


def _exact(text: str) -> int:
    value = int(text)
    if abs(value) > EXACT:
        raise JsonFaultError(f"a whole number of at most 2^53 was expected, not {text[:40]}")
    return value


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _not_finite(text)


def _not_finite(text: str) -> float:
    raise JsonFaultError(f"a finite number was expected, not {text[:40]}")


def lines(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield (number from 1, bytes) of every line that is not blank; lines end in LF or CRLF, and a BOM is left out.

    JsonFaultError at a line of more than `MOST_OF_A_LINE` bytes, of which only one byte more is read.
    """
    number = 0
    # Split at LF alone: a JSON string may contain U+2028 and similar characters.
    while line := stream.readline(MOST_OF_A_LINE + 1):
        number += 1
        if len(line) > MOST_OF_A_LINE:
            raise JsonFaultError(f"the line has more than {MOST_OF_A_LINE:,} bytes", line=number)
        if number == 1:
            line = line.removeprefix(_BOM)
        if not line.isspace() and line:
            yield number, line


def parse_rows(raw: bytes, model: type[_Model]) -> Iterator[tuple[int, _Model | JsonFaultError]]:
    """Yield (line number, row or its fault) of every line that is not blank."""
    try:
        for number, line in lines(io.BytesIO(raw)):
            try:
                yield number, parse(line, model, "row")
            except JsonFaultError as fault:
                yield number, fault
    except JsonFaultError as fault:  # a line that is too long; the lines after it are not read
        yield fault.line, fault


def read_rows(path: Path, model: type[_Model]) -> Iterator[tuple[int, _Model]]:
    """Yield (line number, record) of every row of a JSONL file; JsonFaultError at the first row that does not fit.

    UnreadableError if the file cannot be read.
    """
    with opened(path) as stream:
        for number, line in lines(stream):
            try:
                yield number, parse(line, model)
            except JsonFaultError as fault:
                raise JsonFaultError(*fault.faults, line=number) from fault


def read_document(path: Path, most: int = MOST_OF_A_DOCUMENT) -> bytes:
    """The bytes of a file, without a BOM; JsonFaultError, and no further reading, above `most` bytes.

    UnreadableError if the file cannot be read.
    """
    blocks, size = [], 0
    with opened(path) as stream:
        # A read of `most` bytes would allocate that much memory, however small the file is.
        while block := stream.read(_READ):
            blocks.append(block)
            size += len(block)
            if size > most:
                raise JsonFaultError(f"the file has more than {most:,} bytes")
    return b"".join(blocks).removeprefix(_BOM)


def read_text(path: Path) -> str:
    """The text of a file in UTF-8, without a BOM; a JsonFaultError names the line that is not UTF-8.

    UnreadableError if the file cannot be read.
    """
    raw = read_document(path, MOST_OF_A_TEXT)
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        start = raw.rfind(b"\n", 0, error.start) + 1
        line = raw.count(b"\n", 0, start) + 1
        raise JsonFaultError(f"UTF-8 was expected, byte {error.start - start} is not", line=line) from error


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file, unpacking `.gz`; UnreadableError if it cannot be read, JsonFaultError if it cannot be unpacked."""
    try:
        # GzipFile.readline is a Python call for each line.
        with io.BufferedReader(gzip.open(path), _BLOCK) if path.suffix == ".gz" else path.open("rb") as stream:
            yield stream
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise JsonFaultError(f"it cannot be unpacked: {error}") from error
    except OSError as error:
        raise UnreadableError(os_reason(error)) from error
