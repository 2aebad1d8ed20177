"""The one reader of JSON and JSON Lines: pydantic turns any text into a checked value or one `JsonFaultError`.

UTF-8, with or without a BOM; a file whose name ends in `.gz` is unpacked as it is read.
"""

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from repoeval_bench.core.errors import BenchError, os_reason
from repoeval_bench.core.validation import mistakes, without_line

_Model = TypeVar("_Model", bound=BaseModel)

_BOM = b"\xef\xbb\xbf"
_BLOCK = 1 << 16


class JsonFaultError(ValueError):
    """The faults of a text: a sentence for each mistake; `line` counts from 1, 0 if no line is at fault."""

    def __init__(self, *faults: str, line: int = 0) -> None:
        first, *others = faults
        super().__init__(first + (f", and {len(others)} more" if others else ""))
        self.faults = faults
        self.line = line

    def where(self, path: Path) -> str:
        """`path:line`, or the path alone if no line is at fault."""
        return f"{path}:{self.line}" if self.line else str(path)


@contextmanager
def faults_as(kind: type[BenchError], path: Path, way_out: str) -> Iterator[None]:
    """Raise a fault of this file in the block, or an OSError, as a `kind`: `path:line is broken (…); way_out`."""
    try:
        yield
    except JsonFaultError as fault:
        raise kind(f"{fault.where(path)} is broken ({fault}); {way_out}") from fault
    except OSError as error:
        raise kind(f"{path} cannot be read ({os_reason(error)}); {way_out}") from error


def parse(text: bytes | str, model: type[_Model], whole: str = "") -> _Model:
    """Parse a text as a `model`; a JsonFaultError says what does not fit, and calls the text itself `whole`."""
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        raise JsonFaultError(*mistakes(error, whole)) from error


def parse_loose(text: bytes | str) -> Any:
    """Return plain values of JSON for which there is no model; JsonFaultError if the text is not JSON."""
    try:
        return from_json(text, allow_inf_nan=False)
    except ValueError as error:
        raise JsonFaultError(f"not valid JSON ({without_line(str(error))})") from error


def lines(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield (number from 1, bytes) of every line that is not blank; lines end in LF or CRLF, and a BOM is left out."""
    # Split at LF alone: a JSON string may contain U+2028 and similar characters.
    for number, line in enumerate(stream, start=1):
        text = line.removeprefix(_BOM) if number == 1 else line
        if text.strip():
            yield number, text


def parse_rows(raw: bytes, model: type[_Model]) -> Iterator[tuple[int, _Model | JsonFaultError]]:
    """Yield (line number, row or its fault) of every line that is not blank."""
    for number, line in lines(io.BytesIO(raw)):
        try:
            yield number, parse(line, model, "row")
        except JsonFaultError as fault:
            yield number, fault


def read_rows(path: Path, model: type[_Model]) -> Iterator[tuple[int, _Model]]:
    """Yield (line number, record) of every row of a JSONL file; JsonFaultError at the first row that does not fit."""
    with opened(path) as stream:
        for number, line in lines(stream):
            try:
                yield number, parse(line, model)
            except JsonFaultError as fault:
                raise JsonFaultError(*fault.faults, line=number) from fault


def read_document(path: Path) -> bytes:
    """Return the bytes of a file, without a BOM."""
    with opened(path) as stream:
        return stream.read().removeprefix(_BOM)


def read_text(path: Path) -> str:
    """The text of a file in UTF-8, without a BOM; a JsonFaultError names the line that is not UTF-8."""
    raw = read_document(path)
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        start = raw.rfind(b"\n", 0, error.start) + 1
        line = raw.count(b"\n", 0, start) + 1
        raise JsonFaultError(f"UTF-8 was expected, byte {error.start - start} is not", line=line) from error


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file, unpacking `.gz`; JsonFaultError if it cannot be unpacked."""
    try:
        # GzipFile.readline is a Python call for each line.
        with io.BufferedReader(gzip.open(path), _BLOCK) if path.suffix == ".gz" else path.open("rb") as stream:
            yield stream
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise JsonFaultError(f"it cannot be unpacked: {error}") from error
