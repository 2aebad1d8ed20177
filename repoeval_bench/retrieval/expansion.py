"""Lines that grep shows around a hit (`grep:around=…`): neighbours, or the definition that holds it.

They change neither the ranking nor the relevant chunks, but the lines that are read, and so their cost.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from repoeval_bench.core.errors import LanguageError
from repoeval_bench.core.languages import language_of
from repoeval_bench.core.source import Chunk, SourceFile
from repoeval_bench.core.spans import LineSpan

if TYPE_CHECKING:
    from repoeval_bench.core.definitions import Definition

NOTHING = "none"
"""The rule that reads a hit as it is."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """Rule of expansion: a number of lines around a hit, or None for the definition around it."""

    lines: int | None

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Return the rule that a text names, None for `none`; a ValueError for any other text."""
        if text == NOTHING:
            return None
        if text == "definition":
            return cls(None)
        # One way to write a number: the rule is part of a run's id.
        number = re.fullmatch("lines:([1-9][0-9]{0,4})", text)
        if number is None:
            raise ValueError(f"around={text} is not possible; around is none, lines:N such as lines:10, or definition")
        return cls(int(number[1]))

    def of(self, chunks: Iterable[Chunk], files: Mapping[str, SourceFile]) -> dict[str, LineSpan]:
        """Return chunk_id -> the lines that are read where it is a hit; `files` are those of the chunks by `repo/path`.

        Raises a LanguageError if definitions are needed and the language of a file is not known.
        """
        by_file: dict[str, list[Chunk]] = defaultdict(list)
        for chunk in chunks:
            by_file[chunk.file].append(chunk)
        lines_of: dict[str, LineSpan] = {}
        for name, of_file in by_file.items():
            file = files[name]
            if self.lines is None:
                around = _EnclosingDefinitions(file)
                lines_of |= {chunk.chunk_id: around.lines(chunk) for chunk in of_file}
                continue
            for chunk in of_file:
                start, end = chunk.lines.start - self.lines, chunk.lines.end + self.lines
                lines_of[chunk.chunk_id] = LineSpan(max(0, start), min(file.n_lines, end))
        return lines_of


class _EnclosingDefinitions:
    """The definitions of a file, looked up by lines."""

    def __init__(self, file: SourceFile) -> None:
        from repoeval_bench.core.definitions import definitions  # ten grammars, which few runs need here

        language = language_of(file.path, file.text)
        if language is None:
            raise LanguageError(f"{file.name}: its language is not known, nor are its definitions; give around=lines:N")
        self._definitions: Sequence[Definition] = definitions(file, language) if file.text.strip() else ()
        # With the comments right above, which chunkers keep with a definition.
        self._starts = [definition.above for definition in self._definitions]

    def lines(self, chunk: Chunk) -> LineSpan:
        """Return the chunk's lines and those of the innermost definition that holds all that are not blank."""
        # By lines: in a query's own copy of a file some lines are blank, so characters differ and lines do not.
        blank = [not line.strip() for line in chunk.text.splitlines()]
        filled = LineSpan(chunk.lines.start + blank.index(False), chunk.lines.end - blank[::-1].index(False))
        index: int | None = bisect_right(self._starts, filled.start) - 1
        while index is not None and index >= 0:
            definition = self._definitions[index]
            whole = LineSpan(definition.above, definition.lines.end)
            if definition.kind != "variable" and whole.contains(filled):
                return LineSpan(min(chunk.lines.start, whole.start), max(chunk.lines.end, whole.end))
            index = definition.parent
        return chunk.lines


def read_rule(text: str) -> str:
    """Return the text of a rule; a ValueError if it names none."""
    Expansion.parse(text)
    return text
