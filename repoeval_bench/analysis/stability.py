"""What an update of code costs an index: the texts of its new version that were not in the old one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.chunkers.tools.statistics import default_tokens
from repoeval_bench.core.source import count_nws
from repoeval_bench.retrieval.corpus import build_corpus

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from repoeval_bench.core.parts import Chunker
    from repoeval_bench.core.source import SourceFile
    from repoeval_bench.retrieval.corpus import Corpus


@dataclass(frozen=True, slots=True, kw_only=True)
class Stability:
    """What a chunker embeds of the new version of some files, and what of it again.

    `texts` are the distinct texts that are embedded of the new version, headers included: a text that occurs twice has
    one vector. `new_texts` are those of them that no file of the old version gave. `nws` and `tokens` are their sizes;
    tokens are those of the default model's tokenizer with its special ones, None where it is not installed. `old_texts`
    are the old version's. `skipped` are the files that the chunker failed on, of the old version and of the new one.
    """

    spec: str
    old_texts: int
    texts: int
    new_texts: int
    nws: int
    new_nws: int
    tokens: int | None
    new_tokens: int | None
    skipped: tuple[tuple[str, ...], tuple[str, ...]]

    @property
    def share(self) -> float:
        """The share of the texts that must be embedded again; 0 where there is none."""
        return _share(self.new_texts, self.texts)

    @property
    def nws_share(self) -> float:
        """The share of their non-whitespace characters."""
        return _share(self.new_nws, self.nws)

    @property
    def tokens_share(self) -> float | None:
        """The share of their tokens; None where these are not counted."""
        return None if self.tokens is None else _share(self.new_tokens or 0, self.tokens)


def stability(
    chunker: Chunker | str,
    old: Sequence[SourceFile],
    new: Sequence[SourceFile],
    *,
    skip_errors: bool = False,
    count: Callable[[Sequence[str]], Sequence[int] | None] = default_tokens,
) -> Stability:
    """How much of the new version of some files must be embedded again, as a vector depends on its text alone.

    A file that was renamed or moved costs nothing unless its path is embedded (`header=path`). `count` gives the tokens
    of texts, or None. ChunkError: the chunker fails on a file, which `skip_errors` leaves out and counts.
    """
    made = make_chunker(chunker) if isinstance(chunker, str) else chunker
    before, after = (build_corpus({"": files}, made, skip_errors=skip_errors) for files in (old, new))
    known, texts = set(_texts(before)), list(_texts(after))
    again = [text not in known for text in texts]
    sizes = [count_nws(text) for text in texts]
    tokens = count(texts)
    return Stability(
        spec=made.spec,
        old_texts=len(known),
        texts=len(texts),
        new_texts=sum(again),
        nws=sum(sizes),
        new_nws=_sum_of(sizes, again),
        tokens=None if tokens is None else sum(tokens),
        new_tokens=None if tokens is None else _sum_of(tokens, again),
        skipped=(before.skipped, after.skipped),
    )


def _texts(corpus: Corpus) -> dict[str, None]:
    """The distinct embedded texts, in their order."""
    return dict.fromkeys(chunk.embed_text for chunk in corpus)


def _sum_of(sizes: Sequence[int], chosen: Sequence[bool]) -> int:
    return sum(size for size, taken in zip(sizes, chosen, strict=True) if taken)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
