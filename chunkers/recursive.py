"""A cascade of separators, as in text splitters: classes, functions, paragraphs, lines, words, characters."""

import re
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import ClassVar

from repoeval_bench.chunkers._cutter import cut_spans, pack
from repoeval_bench.chunkers._tokens import Ruler, Sized
from repoeval_bench.chunkers.registry import CHUNKERS
from repoeval_bench.core.grammars import GRAMMARS
from repoeval_bench.core.languages import language_of
from repoeval_bench.core.source import Chunk, SourceFile

# The order is that of LangChain's splitter for Python. A text is cut where a pattern's empty group matches.
_ANY = (r"^(?:[^\S\n]*\n)+()", r"^()", r"(?<=\s)()(?=\S)")


@cache
def _cascade(language: str) -> tuple[re.Pattern[str], ...]:
    """Return the separators of a language; for an unknown one only those of any text."""
    own = GRAMMARS[language].separators if language else ()
    return tuple(re.compile(pattern, re.MULTILINE) for pattern in (*own, *_ANY))


@CHUNKERS.register(parallel=True, colour=5)
@dataclass(frozen=True, slots=True)
class RecursiveChunker(Sized):
    """Separators in cascade (class, def, blank line, line, word, character), merged up to max_nws.

    The first two are the keywords of the file's language, by its name; files of other languages begin with blank lines.
    Blind to syntax: a `def` in a string is a separator too. No chunk is above the size, so a long line is cut.
    """

    name: ClassVar[str] = "recursive"

    def chunk(self, file: SourceFile) -> list[Chunk]:
        """Return chunks that follow each other without a gap."""
        if not file.text.strip():
            return []
        language = language_of(file.path, file.text)
        ruler = Ruler(file.text, self.tokenizer if self.max_tokens else None)
        starts = self._cut(file.text, ruler, (0, len(file.text)), _cascade(language.name if language else ""))
        return cut_spans(file, pairwise([*starts, len(file.text)]))

    def _cut(self, text: str, ruler: Ruler, part: tuple[int, int], cascade: tuple[re.Pattern[str], ...]) -> list[int]:
        """Return where the chunks of a part of the text start; the recursion is as deep as the cascade, no deeper."""
        start, end = part
        if ruler.size(start, end) <= self.limit:
            return [start]
        if not cascade:
            return [start, *ruler.unit_starts(start, end)[self.limit :: self.limit]]
        borders = (match.start(1) for match in cascade[0].finditer(text, start, end))
        cuts = [start, *(cut for cut in borders if start < cut < end)]
        pieces = list(pairwise([*cuts, end]))
        sizes = [ruler.size(*piece) for piece in pieces]
        starts: list[int] = []
        for index, stop in pairwise([*pack(sizes, self.limit), len(pieces)]):
            # A pack above the limit is a single piece, perhaps with blanks around it.
            starts += self._cut(text, ruler, (pieces[index][0], pieces[stop - 1][1]), cascade[1:])
        return starts
