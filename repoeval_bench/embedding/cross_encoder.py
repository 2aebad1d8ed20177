"""A pair's score from a cross-encoder of sentence-transformers, in batches that do not change it."""

import json
import struct
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from repoeval_bench.core.errors import EmbeddingError
from repoeval_bench.core.source import readable
from repoeval_bench.embedding.batches import batches, features, load_model, side_by_side
from repoeval_bench.embedding.models import ModelFiles, locate, read_json
from repoeval_bench.embedding.storage import VectorCache, key_prefix, text_key

# Tokens in one batch: four pairs of 512.
BATCH_TOKENS = 2048


class CrossEncoderScorer:
    """Scores pairs with the model in `files`, and knows of no cache; torch and the model are loaded on the first pair.

    A score is the model's raw output (logit) in fp32. A model that has more outputs than one is an EmbeddingError.
    """

    def __init__(self, files: ModelFiles) -> None:
        self._files = files
        self.max_tokens = files.max_tokens
        """Tokens of a pair that are read, special ones included; None for all."""
        # Its own head takes the place of pooling, and it always computes in fp32.
        own = {name: value for name, value in files.identity.items() if name not in ("pooling", "model_normalizes")}
        self.identity: Mapping[str, Any] = own | {"precision": "fp32"}
        """All that decides a score beside the two texts."""

    def score(self, query: str, texts: Sequence[str]) -> list[tuple[float, int]]:
        """Return (logit, tokens of the pair) for each text.

        A pair of more than `max_tokens` loses the end of the longer text first.
        """
        if not texts:
            return []
        model, whole = self._model, [readable(text) for text in (query, *texts)]
        encodings = model.tokenizer(whole, add_special_tokens=False, truncation=False, verbose=False)["input_ids"]
        first, *seconds = map(len, encodings)
        special = model.tokenizer.num_special_tokens_to_add(pair=True)
        lengths = [first + second + special for second in seconds]
        pairs = [(whole[0], text) for text in whole[1:]]
        scores = np.zeros(len(pairs))
        # Made in one thread, as there is one tokenizer for all.
        inputs = (
            (batch.positions, features(model, [pairs[i] for i in batch.positions], batch, truncation="longest_first"))
            for batch in batches(lengths, limit=self.max_tokens, tokens=BATCH_TOKENS)
        )
        for (positions, _), logits in side_by_side(
            lambda item: self._forward(item[1]), inputs, device=self._files.device, precision="fp32"
        ):
            scores[positions] = logits[: len(positions)]
        if not np.isfinite(scores).all():
            text = texts[int(np.flatnonzero(~np.isfinite(scores))[0])]
            raise EmbeddingError(
                f"{self._files.model_id} gave a score that is not finite for {text[:60]!r}; use another model"
            )
        return [(float(score), length) for score, length in zip(scores, lengths, strict=True)]

    def _forward(self, inputs: dict[str, Any]) -> Any:
        import torch

        with torch.inference_mode():
            # Not through a sigmoid, as the library's `predict` does: good pairs would tie.
            return self._model(inputs)["scores"].float().reshape(-1).cpu().numpy()

    @cached_property
    def _model(self) -> Any:
        model = load_model("CrossEncoder", self._files)
        if model.num_labels != 1:
            raise EmbeddingError(
                f"{self._files.model_id} gives {model.num_labels} values for a pair, not one score; "
                "name a cross-encoder for ranking"
            )
        return model


def find_cross_encoder(spec: str) -> CrossEncoderScorer:
    """The cross-encoder that `st:NAME` or `st:FOLDER` names, options as for an embedder; nothing is loaded yet.

    Another model is an EmbeddingError.
    """
    # The library would give another model a head of random weights.
    files = locate(spec)
    architectures = read_json(files.folder / "config.json", {}).get("architectures") or []
    kind = read_json(files.folder / "config_sentence_transformers.json", {}).get("model_type")
    if kind != "CrossEncoder" and not any(name.endswith("ForSequenceClassification") for name in architectures):
        what = ", ".join(architectures) or "no architecture"
        raise EmbeddingError(f"{files.model_id} is not a cross-encoder ({what}); name a model that scores pairs")
    return CrossEncoderScorer(files)


ENTRY = struct.Struct("<fI")
"""A pair's score, which the model gives in float32, and its tokens before truncation."""


class CachedScorer:
    """A `PairScorer` that scores each distinct pair only once."""

    def __init__(self, scorer: CrossEncoderScorer, cache: VectorCache) -> None:
        self._scorer, self._cache = scorer, cache
        self.identity = scorer.identity
        """All that decides a score beside the two texts."""
        self._identity = json.dumps(scorer.identity, sort_keys=True)
        self.pairs = (0, 0)
        """Pairs scored so far, and how many of them are longer than the model reads."""
        self.n_cached = 0

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """One logit for each text."""
        prefix = key_prefix("score", self._identity, query)
        keys = {text: text_key(prefix, text) for text in texts}
        stored = zip(keys, self._cache.read(keys.values()), strict=True)
        known: dict[str, tuple[float, int]] = {text: ENTRY.unpack(value) for text, value in stored if value is not None}
        self.n_cached += sum(text in known for text in texts)
        if missing := [text for text in keys if text not in known]:
            known.update(zip(missing, self._scorer.score(query, missing), strict=True))
            # Query by query, so an interrupted run goes on where it stopped.
            self._cache.write({keys[text]: ENTRY.pack(*known[text]) for text in missing})
        limit = self._scorer.max_tokens
        n_read, n_cut = self.pairs
        n_longer = sum(limit is not None and known[text][1] > limit for text in texts)
        self.pairs = (n_read + len(texts), n_cut + n_longer)
        return [known[text][0] for text in texts]
