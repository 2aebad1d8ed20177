"""Feature hashing: terms fall into buckets. Deterministic and instant, for tests; it knows no meaning."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from math import log
from typing import Annotated

import numpy as np
from annotated_types import Le
from numpy.typing import NDArray

from repoeval_bench.core.fields import Doc, Natural, Positive
from repoeval_bench.core.parts import Role
from repoeval_bench.core.terms import CODE_TERMS, identifiers
from repoeval_bench.embedding.registry import EMBEDDERS, PlainEncoder


@EMBEDDERS.register(name="hash", meaning="code terms hashed into buckets: for tests, fast, and blind to meaning")
class HashEncoder(PlainEncoder):
    """A term adds +-(1 + ln tf) to one of `dim` buckets, both chosen by its hash (Weinberger et al. 2009).

    A text without a term gets the last dimension, orthogonal to every other text.
    """

    def __init__(
        self,
        spec: str,
        *,
        dim: Annotated[Positive, Le(65536), Doc("buckets")] = 256,
        seed: Annotated[Natural, Doc("another seed, other buckets")] = 0,
    ) -> None:
        self.spec = spec
        self.identity = {"model": "hash", "terms": CODE_TERMS, "dim": dim, "seed": seed, "precision": "fp32"}
        self._dim, self._seed = dim, seed

    def count_tokens(self, texts: Sequence[str], role: Role) -> list[int]:  # noqa: ARG002 - the same for both
        """Code terms of each text, repeats counted."""
        return [len(identifiers(text)) for text in texts]

    def rows(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:  # noqa: ARG002 - the same for both
        """Return float32 (n, dim + 1) unit rows."""
        sums = np.zeros((len(texts), self._dim))
        for row, text in zip(sums, texts, strict=True):
            # In the order of the terms themselves: a sum's last bits must not depend on the text's word order.
            for term, count in sorted(Counter(identifiers(text)).items()):
                bucket, sign = _bucket_and_sign(term, self._dim, self._seed)
                row[bucket] += sign * (1 + log(count))
        norms = np.linalg.norm(sums, axis=1)
        # A vector of length 0 would have no direction to compare.
        last = (norms == 0).astype(np.float64)
        unit = sums / (norms + last)[:, np.newaxis]
        return np.hstack([unit, last[:, np.newaxis]]).astype(np.float32)


@lru_cache(maxsize=1 << 16)
def _bucket_and_sign(term: str, dim: int, seed: int) -> tuple[int, int]:
    digest = hashlib.sha256(f"{seed}\0{term}".encode("utf-8", "surrogatepass")).digest()
    number = int.from_bytes(digest[:8], "big")
    return (number >> 1) % dim, 1 if number & 1 else -1
