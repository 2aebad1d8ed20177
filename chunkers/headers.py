"""Headers before chunks' texts, for any chunker: both are embedded together, and the same lines are scored."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from repoeval_bench.chunkers._syntax import resolve_language
from repoeval_bench.core.definitions import Definition, definitions
from repoeval_bench.core.errors import SpecError, nearest
from repoeval_bench.core.grammars import GRAMMARS
from repoeval_bench.core.languages import Language, language_of
from repoeval_bench.core.parts import Chunker
from repoeval_bench.core.source import Chunk, SourceFile
from repoeval_bench.core.spec import Spec
from repoeval_bench.core.syntax import parse

KINDS = {
    "none": "the chunk's text alone",
    "path": "the file's path in its repository",
    "scope": "the path, the classes and functions around the chunk, and the signatures it defines",
    "stem": "the file's name (twice, so that BM25 gives it more weight) and its last three folders",
    "context": "code-chunk's: path, scope, signatures, what the file imports, and the definitions before and after",
}

# Names of imports in a header, at most, as in code-chunk.
_MOST_IMPORTS = 10


@dataclass(frozen=True, slots=True)
class HeadedChunker:
    """Chunks of the chunker `inner`, each with a header of a kind; SpecError for an unknown kind."""

    inner: Chunker
    kind: str

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise SpecError(nearest("header", self.kind, KINDS))

    @property
    def spec(self) -> str:
        """The spec of `inner` with `header=…`."""
        inner = Spec.parse(self.inner.spec)
        return str(Spec(inner.name, inner.target, {**inner.params, "header": self.kind}))

    def chunk(self, file: SourceFile) -> list[Chunk]:
        """Return the chunks of `inner` with headers."""
        return with_headers(file, self.inner.chunk(file), self.kind)


def with_headers(file: SourceFile, chunks: Sequence[Chunk], kind: str) -> list[Chunk]:
    """Return chunks, which are ordered by start, with headers of a kind in comment lines.

    `scope` names the definitions that begin on a line before the chunk and reach into it, outermost first, and all that
    begin in it. LanguageError if `scope` or `context` needs a language that is not known or whose grammar is not
    installed.
    """
    if kind == "none" or not chunks:
        return list(chunks)
    if kind in {"path", "stem"}:
        known = language_of(file.path)
        comment = known.line_comment if known else "//"
        path = PurePosixPath(file.path)
        line = file.path if kind == "path" else " ".join([path.stem, path.stem, *path.parent.parts[-3:]])
        return [replace(chunk, header=f"{comment} {line}\n") for chunk in chunks]
    language = resolve_language(file)
    declared = [definition for definition in definitions(file, language) if definition.kind != "variable"]
    if kind == "context":
        imports = _imported(file, language)
        return [replace(chunk, header=_context(file, chunk, declared, imports, language)) for chunk in chunks]
    return [replace(chunk, header=_scope(file, chunk, declared, language.line_comment)) for chunk in chunks]


def _imported(file: SourceFile, language: Language) -> list[str]:
    """Return the last part of each name that a file imports, in order."""
    parsed, grammar = parse(file, language), GRAMMARS[language.name]
    nodes = [node for match in parsed.matches(grammar.imports) for node in match["name"]]
    names = (parsed.text(node).strip("\"'<>`;") for node in nodes)
    return [re.split(grammar.import_separator, name)[-1] for name in names]


def _context(
    file: SourceFile, chunk: Chunk, declared: Sequence[Definition], imports: Sequence[str], language: Language
) -> str:
    """Return a header as code-chunk formats it (supermemoryai/code-chunk, src/context/format.ts at e7fdfec)."""
    around = [item for item in declared if item.lines.start <= chunk.lines.start < item.lines.end]
    inside = [item for item in declared if item.lines.overlaps(chunk.lines)]
    parent = around[-1].parent if around else None
    siblings = [item for item in declared if item.parent == parent and not item.lines.overlaps(chunk.lines)]
    before = [item.name for item in siblings if item.lines.start < chunk.lines.start][::-1]
    after = [item.name for item in siblings if item.lines.start > chunk.lines.start]
    parts = {
        "": "/".join(PurePosixPath(file.path).parts[-3:]),
        "Scope: ": " > ".join(item.name for item in around),
        "Defines: ": ", ".join(item.signature for item in inside),
        "Uses: ": ", ".join(imports[:_MOST_IMPORTS]),
        "After: ": ", ".join(before),
        "Before: ": ", ".join(after),
    }
    return _comment(parts, language.line_comment)


def _scope(file: SourceFile, chunk: Chunk, declared: Sequence[Definition], comment: str) -> str:
    """Return a header of the path, the definitions around the start of a chunk, and those that begin in it."""
    around = [item.signature for item in declared if item.lines.start < chunk.lines.start < item.lines.end]
    inside = [item.signature for item in declared if chunk.lines.start <= item.lines.start < chunk.lines.end]
    parts = {"": file.path, "in: ": " > ".join(around), "defines: ": "; ".join(inside)}
    return _comment(parts, comment)


def _comment(parts: Mapping[str, str], mark: str) -> str:
    return "".join(f"{mark} {name}{value}\n" for name, value in parts.items() if value)
