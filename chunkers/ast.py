"""Split-then-merge on the syntax tree: nodes that fit stay whole, others are split, and neighbours are merged."""

# After cAST (Zhang et al. 2025, arXiv 2506.15655), with three differences. Chunks are whole lines, so that every line
# of a file is in exactly one of them. A comment or decorator stays with the statement below it. A header (`class A:`)
# goes with the first piece of its body instead of being a chunk of its own.

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Annotated, ClassVar

from repoeval_bench.chunkers._cutter import cut_before, pack
from repoeval_bench.chunkers._syntax import LanguageName, resolve_language
from repoeval_bench.chunkers._tokens import Sized
from repoeval_bench.chunkers.registry import CHUNKERS
from repoeval_bench.core.fields import Doc, Natural
from repoeval_bench.core.source import Chunk, SourceFile
from repoeval_bench.core.syntax import CLOSER, COMMENT, DECORATOR, Child, Node, Parsed, parse


@CHUNKERS.register(parallel=True, trees=True, colour=1)
@dataclass(frozen=True, slots=True)
class AstChunker(Sized):
    """Syntax-aware: definitions that fit stay whole, siblings are merged up to max_nws.

    `max_nws` and `min_nws` are non-whitespace characters, `overlap` is lines; `max_tokens` is in place of `max_nws`.
    A definition that fits is never cut; without overlap every line is in exactly one chunk. A chunk is above the size
    only if it is a single line, or by its overlap. A piece smaller than `min_nws` is packed together with the next one
    across the boundary of a split definition, if both fit. A file with a syntax error is cut too. `language` is `auto`
    (by the file's name) or one language. Time is linear in the file.
    """

    name: ClassVar[str] = "ast"
    min_nws: Annotated[Natural, Doc("smaller pieces are packed with what follows, where that fits")] = 50
    overlap: Annotated[Natural, Doc("lines of the chunk before that each chunk repeats")] = 0
    language: LanguageName = "auto"

    def chunk(self, file: SourceFile) -> list[Chunk]:
        """The file's chunks in order; none for a file without a non-blank line.

        LanguageError where the file's language is not known or its grammar is not installed.
        """
        language = resolve_language(file, self.language)
        nws = file.nws_before()
        if not nws[-1]:
            return []
        before = self.before(file)
        if before[-1] <= self.limit:
            return cut_before(file, [0])
        pieces = _split(parse(file, language), before, self.limit)
        return cut_before(file, _merge(pieces, (before, nws), self.limit, self.min_nws), self.overlap)


_BORDER = -1

_Part = tuple[int, int, "list[Node]"]
"""First line, line after the last, and the nodes that can be opened if the lines do not fit."""


def _split(parsed: Parsed, before: Sequence[int], limit: int) -> list[int]:
    """Return the first lines of pieces that fit, in order, with `_BORDER` around the pieces of a split statement."""
    pieces: list[int] = []
    border: _Part = (_BORDER, 0, [])
    # An explicit stack instead of recursion: code can be nested deeper than Python's own limit.
    stack: list[_Part] = [(0, parsed.file.n_lines, [parsed.root])]
    while stack:
        first, end, nodes = stack.pop()
        if first == _BORDER or before[end] - before[first] <= limit:
            pieces.append(first)
        elif not nodes:
            pieces.extend(range(first, end))
        else:
            parts = _open(parsed, (first, end, nodes), before, limit)
            # A member of a list (a method of a class) keeps its borders; a part (a body) opens in place.
            bordered = len(parts) > 1 and any(map(parsed.is_list, nodes))
            waiting: list[_Part] = []
            for part in parts:
                if before[part[1]] - before[part[0]] > limit:
                    waiting += (border, part, border) if bordered else (part,)
                elif waiting:
                    waiting.append(part)
                else:  # no part before it is waiting to be opened
                    pieces.append(part[0])
            stack += reversed(waiting)
    return pieces


@dataclass(slots=True, kw_only=True)
class _Unit:
    """Siblings that share lines or belong together: `glue` (comments, decorators), then `nodes` from `main`.

    While there is only glue, `waits_until` is the last line on which its statement may start; later it is -1.
    """

    first: int
    main: int
    last: int
    waits_until: int
    glue: list[Node]
    nodes: list[Node]

    def add(self, child: Child, role: int, end: int) -> None:
        """Add the next sibling; `end` is the line after the last sibling."""
        start, last, node = child
        waiting = self.waits_until >= 0
        if waiting and start > self.last:
            self.main = start
        self.last = last
        glue = waiting and role in (COMMENT, DECORATOR)
        if not glue:
            self.waits_until = -1
        else:
            self.waits_until = end if role == DECORATOR else max(self.waits_until, last + 1)
        if last > start:  # a node on one line cannot be cut
            (self.glue if glue else self.nodes).append(node)

    def parts(self, end: int, before: Sequence[int], limit: int) -> list[_Part]:
        """Return the unit up to the line `end`; as two parts if it does not fit and its glue can stand alone."""
        if self.main == self.first or before[end] - before[self.first] <= limit:
            return [(self.first, end, self.glue + self.nodes)]
        glue = before[self.main] - before[self.first]
        rest = before[end] - before[self.main]
        if glue > limit or rest <= limit:
            return [(self.first, self.main, self.glue), (self.main, end, self.nodes)]
        return [(self.first, end, self.nodes)]


def _open(parsed: Parsed, part: _Part, before: Sequence[int], limit: int) -> list[_Part]:
    """Return the children of a part's nodes, as parts that share no line and cover the part's lines without a gap."""
    first, end, nodes = part
    units = _units(parsed, nodes, end)
    if not units:  # a leaf over several lines, such as a long string
        return [(first, end, [])]
    units[0].first = first
    ends = [*(unit.first for unit in units[1:]), end]
    return [piece for unit, stop in zip(units, ends, strict=True) for piece in unit.parts(stop, before, limit)]


def _units(parsed: Parsed, nodes: Sequence[Node], end: int) -> list[_Unit]:
    units: list[_Unit] = []
    unit: _Unit | None = None
    for child in chain.from_iterable(map(parsed.children, nodes)):
        start, last, node = child
        if unit and start <= unit.last and unit.waits_until < 0:
            # The rest of a line that has begun: the common case, in which a token's role does not matter.
            if last > start:
                unit.nodes.append(node)
                unit.last = last
            continue
        role = parsed.role(node)
        if not unit or (start > max(unit.last, unit.waits_until) and role != CLOSER):
            unit = _Unit(first=start, main=start, last=start, waits_until=start, glue=[], nodes=[])
            units.append(unit)
        unit.add(child, role, end)
    return units


def _merge(pieces: Sequence[int], befores: tuple[Sequence[int], Sequence[int]], limit: int, min_nws: int) -> list[int]:
    """Return first lines of chunks: pieces are packed between borders, then neighbours that fit are merged.

    `befores` are the sizes before each line in the unit of the limit, and in nws.
    """
    before, nws = befores
    lines = [line for line in pieces if line != _BORDER]
    ends = iter([*lines[1:], len(before) - 1])
    starts: list[int] = []
    filled = 0
    border = False
    for line in pieces:
        if line == _BORDER:
            border = True
            continue
        size = before[next(ends)] - before[line]
        if not starts:
            starts.append(line)
        elif size and filled and (filled + size > limit or (border and nws[line] - nws[starts[-1]] >= min_nws)):
            starts.append(line)
            filled = 0
        filled += size
        border = False
    sizes = [before[end] - before[start] for start, end in pairwise([*starts, len(before) - 1])]
    return [starts[index] for index in pack(sizes, limit)]
