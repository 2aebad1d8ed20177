"""A tokenizer from a file, which counts tokens and cuts texts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Self

from repoeval_bench.core.errors import EmbeddingError, SpecError
from repoeval_bench.core.extras import require
from repoeval_bench.core.files import sha256_file
from repoeval_bench.core.progress import progress
from repoeval_bench.core.source import readable

if TYPE_CHECKING:
    from tokenizers import Tokenizer

FILE = "tokenizer.json"


class Tokens:
    """The tokens of one tokenizer, special ones included where they are counted."""

    def __init__(self, tokenizer: Tokenizer, sha256: str) -> None:
        self._tokenizer, self.sha256 = tokenizer, sha256

    @classmethod
    @cache
    def of(cls, named: str) -> Self:
        """That of a tokenizer.json, or of a folder with one; a SpecError where it is not there or cannot be read."""
        require("a tokenizer", "tokenizers")
        path = Path(named).expanduser()
        path = path / FILE if path.is_dir() else path
        if not path.is_file():
            raise SpecError(f"tokenizer {named} is neither a {FILE} nor a folder with one; give the path of one")
        try:
            return cls(load_tokenizer(path), sha256_file(path))
        except EmbeddingError as error:
            raise SpecError(str(error)) from error

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, special ones included."""
        # One encoding holds far more than its length, so a long list is counted in parts.
        counts: list[int] = []
        starts = range(0, len(texts), 256)
        # A single part is counted between steps that have a bar of their own.
        for start in progress(starts, desc="count tokens", unit="x 256 texts") if len(starts) > 1 else starts:
            part = list(map(readable, texts[start : start + 256]))
            counts.extend(len(encoding) for encoding in self._tokenizer.encode_batch_fast(part))
        return counts

    def starts(self, text: str) -> list[int]:
        """Character at which each token of the text begins, special ones left out, nothing truncated."""
        return [start for start, _ in self._tokenizer.encode(text, add_special_tokens=False).offsets]

    def head(self, text: str, prefix: str, most: int) -> str:
        """The prefix and the longest beginning of a text that have `most` tokens together."""
        starts = self.starts(text)
        (room,) = (most - count for count in self.count([prefix]))
        # Cut out of its text, a beginning may be read as a token more.
        for end in range(min(room, len(starts) - 1), -1, -1):
            read = prefix + text[: starts[end]]
            if self.count([read])[0] <= most:
                return read
        raise EmbeddingError(f"the prefix {prefix!r} leaves no room in {most} tokens; take a shorter one")


def load_tokenizer(path: Path) -> Tokenizer:
    """A tokenizer that neither cuts nor fills up; an EmbeddingError where the file is not one."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises the bare class
        raise EmbeddingError(f"{path} is not a tokenizer ({error}); restore it") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
