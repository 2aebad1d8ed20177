r"""What a program answers, as chunks: spans in version 1, each with a header or a text to embed in version 2.

    {"unit": "lines", "chunks": [[0, 12], [12, 40]]}
    {"version": 2, "unit": "lines", "chunks": [[0, 12], {"start": 12, "end": 40, "header": "# in: class A\n"}]}

An answer that names no version is one of version 1.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from repoeval_bench.chunkers._adapters import char_offsets
from repoeval_bench.core.source import Chunk
from repoeval_bench.core.spans import CharSpan
from repoeval_bench.core.spec import nearest

if TYPE_CHECKING:
    from repoeval_bench.core.source import SourceFile

UNITS = ("characters", "bytes", "utf16", "lines")

_TEXTS = ("header", "text")
_EXAMPLE = '{"unit": "lines", "chunks": [[0, 12], …]}'


class AnswerError(Exception):
    """What is wrong with an answer, as the rest of a sentence that begins with the program's name."""


class _Piece(NamedTuple):
    """A chunk as it is answered: its ends in the answer's unit, a header, a text in place of the file's."""

    start: int
    end: int
    header: str = ""
    text: str = ""


def chunks_of(file: SourceFile, answer: Any) -> list[Chunk]:
    """The chunks of an answer, without those that hold only whitespace; AnswerError says what is wrong with it."""
    if isinstance(answer, dict) and isinstance(answer.get("error"), str):
        raise AnswerError(f"reported: {answer['error'][:200]}")
    if not isinstance(answer, dict) or not isinstance(answer.get("chunks"), list):
        raise AnswerError(f'answered without "chunks"; write {_EXAMPLE}')
    version = answer.get("version", 1)
    if type(version) is not int or version not in (1, 2):
        raise AnswerError(f"answered in version {str(version)[:40]} of the protocol; write version 1 or 2")
    unit = answer.get("unit")
    if unit not in UNITS:
        raise AnswerError(f"answered with {nearest('unit', str(unit)[:40], UNITS)}")
    to_chars = _positions(file, unit)
    last = max(to_chars)
    chunks: list[Chunk] = []
    previous = 0
    for start, end, header, text in (_piece(each, version) for each in answer["chunks"]):
        if not 0 <= start < end <= last:
            raise AnswerError(f"returned [{start}, {end}), empty or outside the file's {last} {unit}")
        if start not in to_chars or end not in to_chars:
            raise AnswerError(f"returned [{start}, {end}), which cuts a character in two (unit {unit})")
        chars = CharSpan(to_chars[start], to_chars[end])
        if chars.start < previous:
            raise AnswerError(f"returned [{start}, {end}) after a chunk that starts later")
        previous = chars.start
        if not file.slice(chars).isspace():
            chunks.append(Chunk.cut(file, chars, header, text))
    return chunks


def _piece(given: Any, version: int) -> _Piece:
    if isinstance(given, list) and len(given) == 2 and all(type(end) is int for end in given):
        return _Piece(*given)
    shown = str(given)[:60]
    if not isinstance(given, dict):
        raise AnswerError(f"returned the chunk {shown}, which is not a pair of whole numbers")
    if version == 1:
        raise AnswerError(f'returned the chunk {shown}; write "version": 2 beside "chunks" to give headers or texts')
    if unknown := sorted(given.keys() - {"start", "end", *_TEXTS}):
        raise AnswerError(f"returned a chunk with {unknown[0][:40]!r}; a chunk has start, end, and header or text")
    if not all(type(given.get(end)) is int for end in ("start", "end")):
        raise AnswerError(f"returned the chunk {shown}, whose start and end are not whole numbers")
    texts = {name: given[name] for name in _TEXTS if name in given}
    if len(texts) > 1:
        raise AnswerError(f"returned the chunk {shown} with a header and a text; give the header in front of the text")
    for name, text in texts.items():
        if not isinstance(text, str):
            raise AnswerError(f"returned the chunk {shown}, whose {name} is not a text")
    if "text" in texts and not texts["text"].strip():
        raise AnswerError(f"returned the chunk {shown}, whose text holds nothing but blanks")
    return _Piece(given["start"], given["end"], **texts)


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
