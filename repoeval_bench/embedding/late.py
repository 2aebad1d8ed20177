"""Late chunking: a chunk's vector is the mean of its tokens' vectors, which the model made while it read the file.

After "Late Chunking" (Günther et al. 2024, arXiv 2409.04701), for models whose vector is a mean over tokens. A file
that is longer than the model reads is read in windows of that length, each half a window after the one before and the
last one at the file's end; a token's vector is that of the window in which it is farthest from both ends, of two such
windows the earlier. Windows are of the file's own tokens, so that nothing is cut in two. Queries are embedded as usual.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from repoeval_bench.core.errors import EmbeddingError, SpecError
from repoeval_bench.core.files import readable
from repoeval_bench.core.parts import Role
from repoeval_bench.core.spans import CharSpan
from repoeval_bench.core.spec import Spec
from repoeval_bench.embedding.batches import Batch, batches, side_by_side
from repoeval_bench.embedding.text_encoder import NO_USAGE, Unchecked, unit_rows

if TYPE_CHECKING:
    from repoeval_bench.embedding.encoder import SentenceTransformerEncoder

OPTION = "late"
"""The option of an embedder's spec that asks for this."""

_MEANS = frozenset({"mean", "mean_tokens"})
_MODULES = ("Transformer", "Pooling", "Normalize")
_NAMED = re.compile(r"late:(?P<file>[0-9a-f]{64}):(?P<start>\d+)-(?P<end>\d+)")
_AT_ONCE = 50_000
"""Tokens whose vectors are held at a time, those of one file at least."""


class _Tokens(NamedTuple):
    """The tokens of a file and the characters at which they begin."""

    ids: list[int]
    starts: list[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Window:
    """Tokens of a file from `first` on, of which those in [low, high) of the file have their vectors from here."""

    file: str
    first: int
    end: int
    low: int
    high: int


def windows(n_tokens: int, room: int) -> list[tuple[int, int, int, int]]:
    """(first, end, low, high) of each window of `room` tokens: it reads [first, end), and [low, high) is taken from it.

    Every token of [0, n_tokens) is taken from one window.
    """
    if n_tokens <= room:
        return [(0, n_tokens, 0, n_tokens)]
    starts = [*range(0, n_tokens - room, max(1, room // 2)), n_tokens - room]
    # Between two windows the border is in the middle of what both read.
    borders = [0, *((a + room + b + 1) // 2 for a, b in pairwise(starts)), n_tokens]
    return [(at, at + room, *borders[i : i + 2]) for i, at in enumerate(starts)]


class LateEncoder(Unchecked):
    """Vectors of spans of files, named by `name`, and of queries as the model has them.

    SpecError: the model's vector is not the mean of its tokens', or it reads texts whole.
    """

    usage = NO_USAGE

    def __init__(self, inner: SentenceTransformerEncoder) -> None:
        files = inner.files
        if files.pooling not in _MEANS or files.max_tokens is None:
            raise SpecError(
                f"embedder {files.spec}: {OPTION}=true averages the vectors of tokens, and this model's vector is made "
                f"otherwise ({files.pooling}); leave it out, or take a model with mean pooling"
            )
        spec = Spec.parse(inner.spec)
        self.spec = str(Spec(spec.name, spec.target, {**spec.params, OPTION: "true"}))
        self.identity: Mapping[str, Any] = {**inner.identity, "chunks": "late, windows half a window apart"}
        self.limit = inner.limit
        self._inner = inner
        self._texts: dict[str, str] = {}
        self._read: dict[str, _Tokens] = {}

    def name(self, text: str, chars: CharSpan) -> str:
        """The name of a span of a file's text; the text is kept for as long as this encoder is."""
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        self._texts.setdefault(digest, text)
        return f"{OPTION}:{digest}:{chars.start}-{chars.end}"

    def prompt(self, role: Role) -> str:
        """The model's own; that spans are read otherwise than queries keeps their vectors apart."""
        own = self._inner.prompt(role)
        return own if role == "query" else f"{OPTION}:{own}"

    def count_tokens(self, texts: Sequence[str], role: Role) -> list[int]:
        """Tokens of queries as the model has them, and of spans those that begin in them."""
        if role == "query":
            return self._inner.count_tokens(texts, role)
        return [len(self._inside(*self._span(text))) for text in texts]

    def encode_batches(
        self, texts: Sequence[str], role: Role, tokens: Sequence[int]
    ) -> Iterator[tuple[list[int], NDArray[np.float32]]]:
        """Yield (positions in `texts`, float32 (len(positions), dim) unit rows), spans file by file."""
        if role == "query":
            yield from self._inner.encode_batches(texts, role, tokens)
            return
        spans = [self._span(text) for text in texts]
        order = sorted(range(len(texts)), key=lambda at: (spans[at][0], at))
        held: list[tuple[str, list[int]]] = []
        n_held = 0
        for file, positions in groupby(order, key=lambda at: spans[at][0]):
            held.append((file, list(positions)))
            n_held += len(self._tokens(file).ids)
            if n_held >= _AT_ONCE:
                yield from self._pooled(held, spans)
                held, n_held = [], 0
        yield from self._pooled(held, spans)

    def _pooled(
        self, held: Sequence[tuple[str, list[int]]], spans: Sequence[tuple[str, int, int]]
    ) -> Iterator[tuple[list[int], NDArray[np.float32]]]:
        vectors = self._token_vectors([file for file, _ in held])
        for file, positions in held:
            rows = []
            for at in positions:
                inside = self._inside(*spans[at])
                if not inside:
                    raise EmbeddingError(
                        f"the model has no token for {self._texts[file][slice(*spans[at][1:])][:60]!r}, so its vector "
                        "cannot be averaged; use another chunker, or leave late=true out"
                    )
                rows.append(vectors[file][inside.start : inside.stop].mean(axis=0, dtype=np.float64))
            yield positions, unit_rows(np.stack(rows).astype(np.float32), [self._texts[file]] * len(rows))

    def _token_vectors(self, files: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """File -> float32 (n_tokens, dim), each token from one window."""
        prefix, suffix = self._around
        limit = self._inner.files.max_tokens or 0
        room = limit - len(prefix) - len(suffix)
        wanted = [
            _Window(file=file, first=first, end=end, low=low, high=high)
            for file in files
            for first, end, low, high in windows(len(self._tokens(file).ids), room)
        ]
        lengths = [window.end - window.first + limit - room for window in wanted]
        found: dict[str, NDArray[np.float32]] = {}
        work = side_by_side(
            lambda batch: self._forward([wanted[at] for at in batch.positions], batch),
            batches(lengths, limit=limit, tokens=self._inner.batch_tokens),
            device=self._inner.files.device,
            precision=self._inner.files.precision,
        )
        for batch, rows in work:
            for at, row in zip(batch.positions, rows, strict=False):
                window = wanted[at]
                if window.file not in found:
                    n_tokens = len(self._tokens(window.file).ids)
                    found[window.file] = np.zeros((n_tokens, row.shape[1]), dtype=np.float32)
                first = len(prefix) - window.first
                found[window.file][window.low : window.high] = row[window.low + first : window.high + first]
        return found

    def _forward(self, wanted: Sequence[_Window], batch: Batch) -> NDArray[np.float32]:
        """float32 (rows, width, dim): the vectors of a batch's tokens, its last rows repeats of the last window."""
        import torch

        prefix, suffix = self._around
        model = self._model
        ids = np.full((batch.rows, batch.width), model.tokenizer.pad_token_id or 0, dtype=np.int64)
        mask = np.zeros_like(ids)
        for row in range(batch.rows):
            window = wanted[min(row, len(wanted) - 1)]
            read = [*prefix, *self._tokens(window.file).ids[window.first : window.end], *suffix]
            ids[row, : len(read)], mask[row, : len(read)] = read, 1
        inputs = {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(mask)}
        with torch.inference_mode():
            found = model[0]({key: value.to(model.device) for key, value in inputs.items()})
            vectors: NDArray[np.float32] = found["token_embeddings"].float().cpu().numpy()
        return vectors

    @cached_property
    def _model(self) -> Any:
        model = self._inner.model
        kinds = [type(module).__name__ for module in model.children()]
        if kinds[:2] != list(_MODULES[:2]) or not set(kinds) <= set(_MODULES) or model.truncate_dim:
            raise EmbeddingError(
                f"{self.spec}: the model's vector is more than a mean of its tokens' ({', '.join(kinds)}); leave "
                f"{OPTION}=true out, or take another model"
            )
        return model

    @cached_property
    def _around(self) -> tuple[list[int], list[int]]:
        """The tokens before a window's and after: special ones, and the prompt of chunks."""
        tokenizer = self._inner.tokenizer
        one = tokenizer.encode("a")
        text = [at for at, special in enumerate(one.special_tokens_mask) if not special]
        prompt = tokenizer.encode(self._inner.prompt("document"), add_special_tokens=False).ids
        return [*one.ids[: text[0]], *prompt], list(one.ids[text[-1] + 1 :])

    def _span(self, text: str) -> tuple[str, int, int]:
        named = _NAMED.fullmatch(text)
        if named is None or named["file"] not in self._texts:
            raise EmbeddingError(
                f"{self.spec} reads chunks in their files, which this command does not give it; use eval, run, compare "
                f"or sweep, or leave {OPTION}=true out"
            )
        return named["file"], int(named["start"]), int(named["end"])

    def _inside(self, file: str, start: int, end: int) -> range:
        """The tokens that begin in [start, end) of a file's characters."""
        first, last = np.searchsorted(self._tokens(file).starts, (start, end)).tolist()
        return range(first, last)

    def _tokens(self, file: str) -> _Tokens:
        if file not in self._read:
            read = self._inner.tokenizer.encode(readable(self._texts[file]), add_special_tokens=False)
            self._read[file] = _Tokens(read.ids, [start for start, _ in read.offsets])
        return self._read[file]
