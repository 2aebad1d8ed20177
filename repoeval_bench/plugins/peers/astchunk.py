"""astchunk, the code published with cAST (Zhang et al. 2025, arXiv 2506.15655), its lines mapped to the file.

The unit of `max_chunk_size` is non-whitespace characters, as everywhere in this project. The package rebuilds its texts
from syntax nodes, so they are not always slices of the file; its lines are right. A chunk here is the whole lines that
it names, so two neighbours share a line where astchunk cuts within one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import accumulate
from typing import Annotated, Any, ClassVar, Literal

from repoeval_bench.chunkers._adapters import Peer
from repoeval_bench.chunkers.registry import CHUNKERS
from repoeval_bench.core.fields import Doc, Positive
from repoeval_bench.core.source import SourceFile


@CHUNKERS.register(requires=("astchunk",))
@dataclass(frozen=True, slots=True)
class AstchunkChunker(Peer):
    """The cAST authors' own package (extra `astchunk`); its chunks of the same lines are merged into one."""

    name: ClassVar[str] = "astchunk"
    # It parses its "typescript" with the grammar of TSX.
    names: ClassVar = {name: name for name in ("python", "java", "csharp", "typescript")} | {"tsx": "typescript"}
    max_chunk_size: Annotated[Positive, Doc("non-whitespace characters of a chunk, at most")] = 1500
    language: Annotated[
        Literal["auto", "python", "java", "csharp", "typescript", "tsx"], Doc("auto: by the file's name; or a grammar")
    ] = "auto"

    def spans(self, file: SourceFile) -> Sequence[tuple[int, int]] | None:
        """Return the whole lines that astchunk names."""
        text = file.text
        language = self.names.get(self.language) or self.language_in(file)
        pieces = _library(self.max_chunk_size, language).chunkify(text, repo_level_metadata={"filepath": file.path})
        rows = [(piece["metadata"]["start_line_no"], piece["metadata"]["end_line_no"]) for piece in pieces]
        # Its lines end at a newline only, as tree-sitter counts.
        starts = [0, *accumulate(len(row) + 1 for row in text.split("\n"))]
        if any(not 0 <= first <= last < len(starts) - 1 for first, last in rows):
            return None
        return sorted({(starts[first], min(starts[last + 1], len(text))) for first, last in rows})


@cache
def _library(max_chunk_size: int, language: str) -> Any:
    return import_module("astchunk").ASTChunkBuilder(
        max_chunk_size=max_chunk_size, language=language, metadata_template="default"
    )
