"""One text for all arms: a header put before every chunk's text, for any chunker.

What is embedded is header + text. Spans never move with a header, so what is scored stays the same lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from repoeval_bench.chunkers._syntax import chosen_language
from repoeval_bench.core.definitions import Definition, definitions
from repoeval_bench.core.errors import SpecError
from repoeval_bench.core.languages import language_of
from repoeval_bench.core.parts import Chunker
from repoeval_bench.core.source import Chunk, SourceFile
from repoeval_bench.core.spec import Spec, nearest

KINDS = {
    "none": "the chunk's text alone",
    "path": "the file's path in its repository",
    "scope": "the path, the classes and functions around the chunk, and the signatures it defines",
}


@dataclass(frozen=True, slots=True)
class HeadedChunker:
    """The chunks of another chunker, each with a header of a kind; SpecError for an unknown kind."""

    inner: Chunker
    kind: str

    def __post_init__(self) -> None:
        _check(self.kind)

    @property
    def spec(self) -> str:
        """The other's spec with `header=…`."""
        inner = Spec.parse(self.inner.spec)
        return str(Spec(inner.name, inner.target, {**inner.params, "header": self.kind}))

    def chunk(self, file: SourceFile) -> list[Chunk]:
        """The other's chunks, at the same places."""
        return with_headers(file, self.inner.chunk(file), self.kind)


def with_headers(file: SourceFile, chunks: Sequence[Chunk], kind: str) -> list[Chunk]:
    """The same chunks, ordered by start as they are given, with headers of a kind in comment lines.

    `scope` names the definitions that begin on a line before the chunk and reach into it, outermost first,
    and those that begin in it, however deep. SpecError for an unknown kind; LanguageError where `scope` is asked
    for a file whose language is not known or whose grammar is not installed.
    """
    _check(kind)
    if kind == "none" or not chunks:
        return list(chunks)
    if kind == "path":
        known = language_of(file.path)
        comment = known.line_comment if known else "//"
        return [replace(chunk, header=f"{comment} {file.path}\n") for chunk in chunks]
    language = chosen_language(file)
    declared = [definition for definition in definitions(file, language) if definition.kind != "variable"]
    return _with_scopes(file, chunks, declared, language.line_comment)


def _check(kind: str) -> None:
    if kind not in KINDS:
        raise SpecError(nearest("header", kind, KINDS))


def _with_scopes(
    file: SourceFile, chunks: Sequence[Chunk], declared: Sequence[Definition], comment: str
) -> list[Chunk]:
    """One sweep over definitions and chunks, both in the order of the file."""
    around: list[Definition] = []
    following = 0
    headed: list[Chunk] = []
    for chunk in chunks:
        while following < len(declared) and declared[following].lines.start < chunk.lines.start:
            _close(around, declared[following].lines.start)
            around.append(declared[following])
            following += 1
        _close(around, chunk.lines.start)
        inside = following
        while inside < len(declared) and declared[inside].lines.start < chunk.lines.end:
            inside += 1
        lines = [file.path]
        if around:
            lines.append("in: " + " > ".join(definition.signature for definition in around))
        if inside > following:
            lines.append("defines: " + "; ".join(definition.signature for definition in declared[following:inside]))
        headed.append(replace(chunk, header="".join(f"{comment} {line}\n" for line in lines)))
    return headed


def _close(around: list[Definition], line: int) -> None:
    """Leave the definitions that end before a line."""
    while around and around[-1].lines.end <= line:
        around.pop()
