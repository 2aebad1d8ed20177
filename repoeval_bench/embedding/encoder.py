"""sentence-transformers, run so that a text's vector is a function of the text alone.

The same text encoded in batches of another shape differs by about 1e-7, enough to make a result depend on what
happened to be cached. So every batch has a prescribed shape: texts go into buckets by their own length, a bucket
is padded to one width, and a batch always has the same number of rows, the last one filled up with repeats.
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from repoeval_bench.core.files import readable
from repoeval_bench.core.progress import progress
from repoeval_bench.embedding.loading import load_model
from repoeval_bench.embedding.text_encoder import NO_USAGE, Limit, unit_rows
from repoeval_bench.embedding.workers import side_by_side

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from repoeval_bench.core.parts import Role
    from repoeval_bench.embedding.models import ModelFiles
    from repoeval_bench.embedding.precision import Precision

BUCKET_TOKENS = 32
"""Widths are multiples of this: at most 31 tokens of padding a row."""

BATCH_TOKENS = 1024
"""Tokens in one batch. A core that has a batch to itself is as fast with 4 rows of 256 tokens as with 32."""


CUDA_BATCH_BYTES = 2**31
"""Memory that a batch on CUDA is to fit in: the same on every card, for a batch's shape moves the last bits."""


class _Batch(NamedTuple):
    """Positions in the list of texts, and the model's input for them and for the rows that fill the batch up."""

    positions: list[int]
    features: dict[str, Any]


class SentenceTransformerEncoder:
    """Encodes texts with the model in `files`; torch and the model are loaded on the first text."""

    usage = NO_USAGE

    def __init__(self, files: ModelFiles) -> None:
        self.files = files
        self._tokenizer: Any = None
        self._model: Any = None

    @property
    def spec(self) -> str:
        """The spec that rebuilds this encoder."""
        return self.files.spec

    @property
    def identity(self) -> Mapping[str, Any]:
        """What decides a vector beside prompt and text."""
        return self.files.identity

    @property
    def limit(self) -> Limit | None:
        """What the model reads of a long text; None where there is no limit."""
        return None if self.files.max_tokens is None else Limit(self.files.max_tokens, self.token_starts)

    def prompt(self, role: Role) -> str:
        """The text that the model's own configuration puts before an input of this role; often empty."""
        return self.files.prompts.get(role, "")

    def count_tokens(self, texts: Sequence[str], role: Role) -> list[int]:
        """Tokens of each text before truncation, special ones and the prompt included."""
        tokenizer = self._load_tokenizer()
        prompt = self.prompt(role)
        # One encoding holds far more than its length, so a long list is counted in parts.
        counts: list[int] = []
        for start in progress(range(0, len(texts), 256), desc="count tokens", unit="x 256 texts"):
            part = [prompt + readable(text) for text in texts[start : start + 256]]
            counts.extend(len(encoding) for encoding in tokenizer.encode_batch_fast(part))
        return counts

    def token_starts(self, text: str) -> list[int]:
        """Character at which each token of the text begins, special ones left out, nothing truncated."""
        return [start for start, _ in self._load_tokenizer().encode(text, add_special_tokens=False).offsets]

    def encode_batches(
        self, texts: Sequence[str], role: Role, tokens: Sequence[int]
    ) -> Iterator[tuple[list[int], NDArray[np.float32]]]:
        """Yield (positions in `texts`, float32 (len(positions), dim) unit rows), batch by batch, longest first.

        `tokens` are the texts' lengths from `count_tokens`. A vector that is zero or not finite is an
        EmbeddingError.
        """
        work = side_by_side(
            lambda batch: self._forward(batch.features),
            self._batches([readable(text) for text in texts], role, tokens),
            device=self.files.device,
            precision=self.files.precision,
        )
        for batch, vectors in work:
            rows = vectors[: len(batch.positions)]
            yield batch.positions, unit_rows(rows, [texts[i] for i in batch.positions])

    def _batches(self, texts: Sequence[str], role: Role, tokens: Sequence[int]) -> Iterator[_Batch]:
        buckets: dict[int, list[int]] = defaultdict(list)
        for position, length in enumerate(tokens):
            buckets[self._width(length)].append(position)
        for width in sorted(buckets, reverse=True):
            rows = max(1, self._batch_tokens() // width)
            positions = buckets[width]
            for start in range(0, len(positions), rows):
                batch = positions[start : start + rows]
                yield _Batch(batch, self._features([texts[i] for i in batch], role, width, rows))

    def _width(self, length: int) -> int:
        limit = self.files.max_tokens
        width = -(-length // BUCKET_TOKENS) * BUCKET_TOKENS
        return width if limit is None else min(width, limit)

    def _batch_tokens(self) -> int:
        """Tokens in one batch, the same for every text and on every machine."""
        if self.files.device.partition(":")[0] != "cuda":
            return BATCH_TOKENS
        transformer = getattr(self._load()[0], "auto_model", None)
        # Looking vectors up in a table takes none of the memory that layers take.
        return BATCH_TOKENS if transformer is None else cuda_batch(transformer.config.hidden_size, self.files.precision)

    def _features(self, texts: list[str], role: Role, width: int, rows: int) -> dict[str, Any]:
        """The model's input for the texts, filled up to `rows` rows with repeats of the last one."""
        import torch

        read = [self._beginning(text, width) for text in texts]
        features = self._load().preprocess(
            read + read[-1:] * (rows - len(read)),
            prompt=self.prompt(role) or None,
            processing_kwargs={"text": {"padding": "max_length", "max_length": width, "truncation": True}},
        )
        return {
            key: value.to(self.files.device) if isinstance(value, torch.Tensor) else value
            for key, value in features.items()
        }

    def _beginning(self, text: str, width: int) -> str:
        """As much of a very long text as decides its first `width` tokens: the rest would be read for nothing."""
        end = 64 * width
        while end < len(text):
            head = text[:end].rsplit(None, 1)
            # Tokens end with words at the latest, so what follows the cut does not change those well before it.
            if head and len(self._load_tokenizer().encode(head[0])) > width + BUCKET_TOKENS:
                return head[0]
            end *= 4
        return text

    def _forward(self, features: dict[str, Any]) -> NDArray[np.float32]:
        """The model as its library runs it, the transformer in the precision asked for, all behind it in fp32."""
        import torch

        model = self._load()
        transformer, *others = model.children()
        with torch.inference_mode():
            features = transformer(features)
            with torch.autocast(torch.device(self.files.device).type, enabled=False):
                for key, value in features.items():
                    if isinstance(value, torch.Tensor) and value.is_floating_point():
                        features[key] = value.float()
                for module in others:
                    features = module(features)
            # A model may state that the first dimensions of a vector are enough.
            vectors: NDArray[np.float32] = features["sentence_embedding"][:, : model.truncate_dim].cpu().numpy()
        return vectors

    def _load_tokenizer(self) -> Any:
        if self._tokenizer is None:
            from tokenizers import Tokenizer

            self._tokenizer = Tokenizer.from_file(str(self.files.tokenizer))
            self._tokenizer.no_truncation()
            self._tokenizer.no_padding()
        return self._tokenizer

    def _load(self) -> Any:
        if self._model is None:
            model = load_model("SentenceTransformer", self.files)
            if self.files.max_tokens is not None:
                model.max_seq_length = self.files.max_tokens
            self._model = model
        return self._model


def cuda_batch(hidden_size: int, precision: Precision) -> int:
    """Tokens in one batch on CUDA: a power of two from `BATCH_TOKENS` to 131,072, decided by the model alone."""
    # Between two layers a token holds some 32 vectors of the hidden size, 2 bytes a number, 4 in fp32.
    token_bytes = 32 * hidden_size * (4 if precision == "fp32" else 2)
    return int(min(2**17, max(BATCH_TOKENS, 2 ** int(math.log2(CUDA_BATCH_BYTES / token_bytes)))))
