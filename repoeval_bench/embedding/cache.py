"""The embedder that reads through the vector cache: each distinct text is encoded once, ever."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from repoeval_bench.core.errors import CacheError
from repoeval_bench.core.files import readable
from repoeval_bench.core.progress import progress
from repoeval_bench.core.spans import CharSpan
from repoeval_bench.embedding.storage import key_prefix, text_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray
    from tqdm import tqdm

    from repoeval_bench.core.parts import Role
    from repoeval_bench.embedding.storage import Kind, VectorCache
    from repoeval_bench.embedding.text_encoder import TextEncoder


class CachedEmbedder:
    """An `Embedder` that encodes each distinct text once, ever.

    What was computed is kept batch by batch, so an interrupted run goes on where it stopped.
    """

    def __init__(self, encoder: TextEncoder, cache: VectorCache) -> None:
        self._encoder = encoder
        self._cache = cache
        self._identity = json.dumps(encoder.identity, sort_keys=True)
        self._prefixes: dict[tuple[Role, Kind], bytes] = {}
        self._told = False
        self.n_encoded = 0

    @property
    def spec(self) -> str:
        """The spec that rebuilds this embedder."""
        return self._encoder.spec

    @property
    def identity(self) -> Mapping[str, Any]:
        """What decides a vector beside prompt and text."""
        return self._encoder.identity

    @property
    def max_tokens(self) -> int | None:
        """How many tokens the model reads, special ones included."""
        return self._encoder.limit.max_tokens if self._encoder.limit else None

    @property
    def usage(self) -> Mapping[str, int]:
        """What this object's encoding has used so far as whoever runs the model counts it; empty where nobody does."""
        return self._encoder.usage

    @property
    def counts_tokens(self) -> bool:
        """Whether the model's tokenizer is known."""
        return self._encoder.count_tokens is not None

    def count_tokens(self, texts: Sequence[str], role: Role, *, keep: bool = True) -> list[int]:
        """Tokens of each text before truncation, special ones and the role's prompt included.

        Asked where `counts_tokens`. They are cached, unless the texts are not to be kept.
        """
        count = self._encoder.count_tokens
        assert count is not None
        if not keep:
            return count(texts, role)
        counts = self._integers(texts, role, "tokens", lambda missing: count(missing, role))
        return [counts[text] for text in texts]

    def truncates(self, role: Role) -> bool:  # noqa: ARG002 - the same for both
        """Whether a text beyond `max_tokens` loses something: the model reads its head."""
        return True

    def read_chars(self, texts: Sequence[str], role: Role) -> list[CharSpan]:
        """The characters of each text that the model reads: those in front of the first token it drops; cached."""
        limit = self.max_tokens
        ends = {text: len(text) for text in texts}
        if limit is not None:
            long = [text for text, count in zip(texts, self.count_tokens(texts, role), strict=True) if count > limit]
            room = max(0, limit - self.count_tokens([""], role)[0])
            ends.update(
                self._integers(long, role, "read", lambda missing: [self._cut_at(text, room) for text in missing])
            )
        return [CharSpan(0, ends[text]) for text in texts]

    def _cut_at(self, text: str, room: int) -> int:
        starts = self.token_starts(readable(text))
        # A lone surrogate is read as more characters than it is; its text is nobody's source code.
        return min(starts[room], len(text)) if room < len(starts) else len(text)

    def token_starts(self, text: str) -> list[int]:
        """Character at which each token of the text begins, special ones left out; asked where there is a limit."""
        assert self._encoder.limit is not None
        return self._encoder.limit.starts(text)

    def missing(self, texts: Iterable[str], role: Role) -> list[str]:
        """The distinct texts whose vectors are not cached yet, in order of first appearance."""
        distinct = list(dict.fromkeys(texts))
        keys = [self._key(text, role, "vector") for text in distinct]
        present = self._cache.present(keys)
        return [text for text, key in zip(distinct, keys, strict=True) if key not in present]

    def parts(self, texts: Sequence[str], role: Role) -> list[tuple[str, ...]]:  # noqa: ARG002 - the same for both
        """Each text as it is: the model itself drops what is beyond its limit."""
        return [(text,) for text in texts]

    def pending(self, texts: Mapping[Role, Iterable[str]]) -> dict[Role, list[str]]:
        """The distinct texts whose vectors are not cached yet, those of roles of one prompt under one of them."""
        roles: dict[str, Role] = {}
        wanted: dict[Role, list[str]] = {}
        for role, each in texts.items():
            # Where two roles have one prompt, a text has one vector in both.
            wanted.setdefault(roles.setdefault(self._encoder.prompt(role), role), []).extend(each)
        return {role: self.missing(each, role) for role, each in wanted.items()}

    def ensure(self, texts: Mapping[Role, Iterable[str]]) -> None:
        """Encode and keep every text that is not cached yet: under one bar, roles of one prompt in one pass."""
        missing = self.pending(texts)
        tokens = {
            role: self.count_tokens(each, role) if self.counts_tokens else [1] * len(each)
            for role, each in missing.items()
            if each
        }
        n_texts = sum(map(len, tokens.values()))
        if n_texts or not self._told:
            self._told = True
            lack = f"{n_texts:,} vectors of {self.spec} are computed for this command alone"
            self._cache.note(lack if n_texts else f"no vectors of {self.spec} are missing")
        if not tokens:
            return
        # The bar counts the tokens that are read: texts differ a hundredfold in what they cost.
        read = {role: [min(n, self.max_tokens or n) for n in counts] for role, counts in tokens.items()}
        with progress(
            desc=f"embed {n_texts} texts", unit="tokens" if self.counts_tokens else "texts",
            total=sum(map(sum, read.values())), unit_scale=True,
        ) as bar:  # fmt: skip
            for role, counts in tokens.items():
                self._encode(missing[role], role, counts, read[role], bar)

    def _encode(self, texts: list[str], role: Role, tokens: list[int], read: list[int], bar: tqdm[Any]) -> None:
        for positions, vectors in self._encoder.encode_batches(texts, role, tokens):
            self._cache.write(
                {
                    self._key(texts[position], role, "vector"): vector.astype("<f4").tobytes()
                    for position, vector in zip(positions, vectors, strict=True)
                },
                "vector",
                self._identity,
            )
            self.n_encoded += len(positions)
            bar.update(sum(read[position] for position in positions))

    def encode(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        """float32 (n, dim), unit rows, in the order of `texts`; (0, 0) for no text."""
        values = self._stored(texts, role)
        if not values:
            return np.zeros((0, 0), dtype=np.float32)
        dims = {len(value) for value in values}
        if len(dims) != 1 or (size := dims.pop()) == 0 or size % 4:
            raise CacheError(
                f"the vector cache {self._cache.folder} holds vectors of different lengths for one model; "
                f"{self._cache.mend}"
            )
        vectors = np.frombuffer(b"".join(values), dtype="<f4").reshape(len(values), -1)
        norms = np.einsum("ij,ij->i", vectors, vectors)
        if not np.all(np.abs(norms - 1) < 1e-4):
            raise CacheError(
                f"the vector cache {self._cache.folder} holds a vector that is not of unit length; {self._cache.mend}"
            )
        return vectors.astype(np.float32, copy=False)

    def encode_windows(self, texts: Sequence[str], role: Role) -> tuple[NDArray[np.float32], list[int]]:
        """(the rows of `encode`, one for each text)."""
        return self.encode(texts, role), [1] * len(texts)

    def n_vectors(self, texts: Sequence[str], role: Role) -> int:  # noqa: ARG002 - the same for both
        """One for each text."""
        return len(texts)

    def _stored(self, texts: Sequence[str], role: Role) -> list[bytes]:
        """The vectors' bytes in the order of `texts`, encoded where they are missing."""
        keys = [self._key(text, role, "vector") for text in texts]
        # They are there as a rule; to have them made once is enough, unless another process prunes the cache meanwhile.
        for made in range(4):
            if made:
                self.ensure({role: texts})
            values = [value for value in self._cache.read(keys) if value is not None]
            if len(values) == len(keys):
                return values
        raise CacheError(
            f"the vector cache {self._cache.folder} is emptied by another process while it is read; "
            "run the same command again when that is done"
        )

    def _integers(
        self, texts: Iterable[str], role: Role, kind: Kind, compute: Callable[[list[str]], Iterable[int]]
    ) -> dict[str, int]:
        """Text -> integer, each computed once, ever."""
        keys = {text: self._key(text, role, kind) for text in dict.fromkeys(texts)}
        found = zip(keys, self._cache.read(keys.values()), strict=True)
        known = {text: int.from_bytes(value, "little") for text, value in found if value is not None}
        if missing := [text for text in keys if text not in known]:
            known.update(zip(missing, compute(missing), strict=True))
            values = {keys[text]: known[text].to_bytes(8, "little") for text in missing}
            self._cache.write(values, kind, self._identity)
        return known

    def _key(self, text: str, role: Role, kind: Kind) -> bytes:
        if (role, kind) not in self._prefixes:
            self._prefixes[role, kind] = key_prefix(kind, self._identity, self._encoder.prompt(role))
        return text_key(self._prefixes[role, kind], text)
