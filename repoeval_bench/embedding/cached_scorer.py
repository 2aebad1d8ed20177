"""The scorer of pairs that reads through the vector cache, so that each distinct pair is scored only once."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from repoeval_bench.embedding.storage import VectorCache, key_prefix, text_key

if TYPE_CHECKING:
    from repoeval_bench.embedding.cross_encoder import CrossEncoderScorer

ENTRY = struct.Struct("<fI")
"""A pair's score, which the model gives in float32, and its tokens before truncation."""


class CachedScorer:
    """A `PairScorer` that scores each distinct pair only once.

    Scores are cached query by query, so an interrupted run goes on where it stopped.
    """

    def __init__(self, scorer: CrossEncoderScorer, cache: VectorCache) -> None:
        self._scorer, self._cache = scorer, cache
        self._identity = json.dumps(scorer.identity, sort_keys=True)
        self._read = self._cut = 0
        self.n_cached = 0

    @property
    def identity(self) -> Mapping[str, Any]:
        """All that decides a score beside the two texts."""
        return self._scorer.identity

    @property
    def pairs(self) -> tuple[int, int]:
        """Return (pairs scored so far, how many of them are longer than the model reads)."""
        return self._read, self._cut

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """One logit for each text."""
        prefix = key_prefix("score", self._identity, query)
        keys = {text: text_key(prefix, text) for text in texts}
        stored = zip(keys, self._cache.read(keys.values()), strict=True)
        known: dict[str, tuple[float, int]] = {text: ENTRY.unpack(value) for text, value in stored if value is not None}
        self.n_cached += sum(text in known for text in texts)
        if missing := [text for text in keys if text not in known]:
            known.update(zip(missing, self._scorer.score(query, missing), strict=True))
            values = {keys[text]: ENTRY.pack(*known[text]) for text in missing}
            self._cache.write(values, "score", self._identity)
        limit = self._scorer.max_tokens
        self._read += len(texts)
        self._cut += sum(limit is not None and known[text][1] > limit for text in texts)
        return [known[text][0] for text in texts]
