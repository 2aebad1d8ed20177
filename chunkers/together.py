"""Chunkers that cut the same syntax trees: the first of them that parses a file in a process lets all others cut it."""

from array import array
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache

from repoeval_bench.chunkers.headers import HeadedChunker
from repoeval_bench.chunkers.registry import row_of
from repoeval_bench.core.parts import Chunker
from repoeval_bench.core.source import Chunk, SourceFile
from repoeval_bench.core.spans import CharSpan

_MOST = 20_000
"""Texts whose chunks are known at most, in about 20 MB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Together:
    """The chunker `inner`, which is one of `chunkers`, whose specs are `specs`."""

    inner: Chunker
    chunkers: tuple[Chunker, ...]
    specs: tuple[str, ...]
    spec: str

    def chunk(self, file: SourceFile) -> list[Chunk]:
        """Return the chunks of `inner`."""
        known = _cut(self.specs)
        if len(known) == _MOST:
            known.clear()
        # By a hash: most texts are a task's copy of a file, and long.
        spans = known.setdefault((file.name, hash(file.text)), {})
        for spec, chunker in zip(self.specs, self.chunkers, strict=True) if not spans else ():
            with suppress(Exception):  # it is raised again in that chunker's turn
                chunks = chunker.chunk(file)
                spans[spec] = array("L", [at for chunk in chunks for at in (chunk.chars.start, chunk.chars.end)])
        if self.spec not in spans:
            return list(self.inner.chunk(file))
        ends = iter(spans[self.spec])
        return [Chunk.cut(file, CharSpan(start, end)) for start, end in zip(ends, ends, strict=True)]


@lru_cache(maxsize=1)
def _cut(specs: tuple[str, ...]) -> dict[tuple[str, int], dict[str, "array[int]"]]:  # noqa: ARG001 - it is the key
    """File and hash of its text -> spec -> the first character of each chunk, and the one after its last."""
    return {}


def together(chunkers: Sequence[Chunker]) -> list[Chunker]:
    """Return the chunkers with the same chunks; those that cut syntax trees parse each file once in a process."""
    bare = [one.inner if isinstance(one, HeadedChunker) else one for one in chunkers]
    cutting = {one.spec: one for one in bare if row_of(one.spec).trees}
    if sum(one.spec in cutting for one in bare) < 2:
        return list(chunkers)
    shared: list[Chunker] = []
    for chunker, inner in zip(chunkers, bare, strict=True):
        if inner.spec not in cutting:
            shared.append(chunker)
            continue
        one = _Together(inner=inner, chunkers=(*cutting.values(),), specs=(*cutting,), spec=inner.spec)
        shared.append(replace(chunker, inner=one) if isinstance(chunker, HeadedChunker) else one)
    return shared
