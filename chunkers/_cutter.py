"""The base of the chunkers of this room, whose fields are options; lines packed up to a size; chunks of whole lines."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import ClassVar

from repoeval_bench.core.source import Chunk, SourceFile
from repoeval_bench.core.spans import CharSpan, LineSpan
from repoeval_bench.core.spec import format_spec


@dataclass(frozen=True, slots=True)
class Cutter:
    """A chunker whose fields are its options, each with a `Doc` in its annotation; the registry reads their values."""

    name: ClassVar[str]

    def __post_init__(self) -> None:
        self.check()

    @property
    def unused(self) -> frozenset[str]:
        """Options that have no effect with the values of the others; they are not in the spec."""
        return frozenset()

    @property
    def spec(self) -> str:
        """`name:key=value,…` with every option."""
        options = (field.name for field in fields(self) if field.name not in self.unused)
        return format_spec(self.name, {name: getattr(self, name) for name in options})

    def check(self) -> None:
        """Raise a SpecError for values that contradict each other."""


def pack(sizes: Iterable[int], limit: int) -> list[int]:
    """Return where chunks start when items of the given sizes are put together in order, up to `limit` each.

    An item above the limit is alone. Items of size 0 stay with what precedes them, and at the start with what follows.
    So no chunk has size 0 unless all have.
    """
    starts: list[int] = []
    filled = 0
    for index, size in enumerate(sizes):
        if not starts:
            starts.append(index)
        elif size and filled and filled + size > limit:
            starts.append(index)
            filled = 0
        filled += size
    return starts


def cut_before(file: SourceFile, starts: Sequence[int], overlap: int = 0) -> list[Chunk]:
    """Return chunks of whole lines that start at the given lines; the last one ends with the file.

    Each chunk but the first begins `overlap` lines earlier.
    """
    return [
        Chunk.cut(file, file.chars_of(LineSpan(max(0, first - overlap) if first else 0, last)))
        for first, last in pairwise((*starts, file.n_lines))
    ]


def cut_spans(file: SourceFile, spans: Iterable[tuple[int, int] | tuple[int, int, str]]) -> list[Chunk]:
    """Return chunks at the given (start, end) or (start, end, header), without blank ones."""
    return [
        Chunk.cut(file, CharSpan(start, end), *header)
        for start, end, *header in spans
        if start < end and not file.text[start:end].isspace()
    ]
