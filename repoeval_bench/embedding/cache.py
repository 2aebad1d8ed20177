"""The embedder that reads through the vector cache, so that each distinct text is encoded only once."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from repoeval_bench.core.errors import CacheError
from repoeval_bench.core.parts import Role
from repoeval_bench.core.progress import progress
from repoeval_bench.core.source import readable
from repoeval_bench.core.spans import CharSpan
from repoeval_bench.core.spec import Spec, format_spec
from repoeval_bench.core.words import count
from repoeval_bench.embedding.long_text import HEADS, OPTIONS, LongText, cut
from repoeval_bench.embedding.registry import TextEncoder
from repoeval_bench.embedding.storage import DELETE, Kind, VectorCache, key_prefix, text_key


class CachedEmbedder:
    """An `Embedder` that encodes each distinct text only once, and gives the model no text longer than it reads.

    `policies` say what happens to long texts; each part of a long text is cached like a text.
    """

    def __init__(self, encoder: TextEncoder, cache: VectorCache, policies: Mapping[Role, LongText] = HEADS) -> None:
        self.encoder, self._cache, self._policies = encoder, cache, policies
        self._model = json.dumps(encoder.identity, sort_keys=True)
        self._prefixes: dict[tuple[Role, Kind], bytes] = {}
        self._parts: dict[tuple[Role, str], tuple[str, ...]] = {}
        self._lengths: set[int] = set()
        """Lengths (bytes) of the vectors that were read or made so far: one, unless a server's model has changed."""
        named = {OPTIONS[role]: policy for role, policy in policies.items() if policy != "head"}
        spec = Spec.parse(encoder.spec)
        self.spec = format_spec(spec.name, {**spec.params, **named}, spec.target)
        self.identity: Mapping[str, Any] = {**encoder.identity, **named}
        self.max_tokens = encoder.limit.max_tokens if encoder.limit else None

    def truncates(self, role: Role) -> bool:
        """Return whether a text beyond `max_tokens` loses something."""
        return self._policies[role] != "mean"

    def count_tokens(self, texts: Sequence[str], role: Role) -> list[int] | None:
        """Tokens of each text before truncation, special ones and the role's prompt included; None if not known."""
        count = self.encoder.count_tokens
        if count is None:
            return None
        counts = self._integers(texts, role, "tokens", lambda missing: count(missing, role))
        return [counts[text] for text in texts]

    def read_chars(self, texts: Sequence[str], role: Role) -> list[CharSpan]:
        """Return the characters of each text that the model reads; the position of a cut is cached."""
        if self._policies[role] != "head":
            read = (sum(map(len, parts)) for parts in self.parts(texts, role))
            return [CharSpan(max(0, len(text) - n), len(text)) for text, n in zip(texts, read, strict=True)]
        ends = {text: len(text) for text in texts}
        if limit := self.encoder.limit:
            long = self._longer(texts, role, limit.max_tokens)
            room = max(0, limit.max_tokens - self._special(role))
            ends |= self._integers(
                long, role, "read", lambda missing: [_end(text, limit.starts(readable(text)), room) for text in missing]
            )
        return [CharSpan(0, ends[text]) for text in texts]

    def parts(self, texts: Sequence[str], role: Role) -> list[tuple[str, ...]]:
        """Return the parts of each text that the model reads: the whole text, its tail, or its windows in order."""
        policy, limit = self._policies[role], self.encoder.limit
        if policy == "head" or limit is None:
            return [(text,) for text in texts]
        new = [text for text in texts if (role, text) not in self._parts]
        long = self._longer(new, role, limit.max_tokens)
        room = max(1, limit.max_tokens - self._special(role)) if long else 0
        for text in long:
            whole = readable(text)
            self._parts[role, text] = cut(whole, policy, limit.starts(whole), room, lambda part: self._fits(part, role))
        return [self._parts.setdefault((role, text), (text,)) for text in texts]

    def _longer(self, texts: Sequence[str], role: Role, limit: int) -> list[str]:
        counts = self.count_tokens(texts, role)
        assert counts is not None, "a model with a limit has a tokenizer"
        return list(dict.fromkeys(text for text, count in zip(texts, counts, strict=True) if count > limit))

    def _special(self, role: Role) -> int:
        """Tokens that the model reads beside those of the text."""
        (count,) = self.count_tokens([""], role) or [0]
        return count

    def _fits(self, part: str, role: Role) -> bool:
        # Not cached: only the chosen candidate is counted and cached later.
        count, limit = self.encoder.count_tokens, self.max_tokens
        return count is None or limit is None or count([part], role)[0] <= limit

    def pending(self, texts: Mapping[Role, Iterable[str]]) -> dict[Role, list[str]]:
        """Return the distinct parts without a cached vector; roles with the same prompt are under the first of them."""
        return {role: self._missing(parts, role) for role, parts in self._distinct(texts).items()}

    def _distinct(self, texts: Mapping[Role, Iterable[str]]) -> dict[Role, list[str]]:
        roles: dict[str, Role] = {}
        parts: dict[Role, dict[str, None]] = {}
        for role, texts_of_role in texts.items():
            # Where two roles have one prompt, a text has one vector in both.
            shared = parts.setdefault(roles.setdefault(self.encoder.prompt(role), role), {})
            shared.update(dict.fromkeys(_flat(self.parts(list(texts_of_role), role))))
        return {role: [*of_role] for role, of_role in parts.items()}

    def _missing(self, texts: Iterable[str], role: Role) -> list[str]:
        keys = {text: self._key(text, role, "vector") for text in texts}
        present = self._cache.present(keys.values())
        return [text for text, key in keys.items() if key not in present]

    def ensure(self, texts: Mapping[Role, Iterable[str]]) -> int:
        """Encode and cache each part that is not cached yet; return how many there were."""
        try:
            distinct = self._distinct(texts)
            missing = {role: self._missing(parts, role) for role, parts in distinct.items()}
            return self._encode_missing(missing, sum(map(len, distinct.values())))
        finally:
            self._cache.flush()

    def _encode_missing(self, missing: Mapping[Role, Sequence[str]], of: int) -> int:
        """Encode missing parts, out of so many, under one progress bar, roles with the same prompt in one pass."""
        counts = {role: self.count_tokens(of_role, role) for role, of_role in missing.items() if of_role}
        n_texts = sum(len(missing[role]) for role in counts)
        if not n_texts:
            return 0
        # The bar counts tokens, as texts differ a hundredfold in length.
        limit = self.max_tokens
        tokens = {role: [1] * len(missing[role]) if known is None else known for role, known in counts.items()}
        read = {role: [n if limit is None else min(n, limit) for n in of_role] for role, of_role in tokens.items()}
        unit = "texts" if None in counts.values() else "tokens"
        total = sum(map(sum, read.values()))
        named = count(n_texts, "text") if n_texts == of else f"{n_texts:,} of {count(of, 'text')}"
        with progress(desc=f"embed {named}", unit=unit, total=total, unit_scale=True) as bar:
            for role, of_role in tokens.items():
                self._encode(missing[role], role, of_role, read[role], bar)
        return n_texts

    def _encode(self, texts: Sequence[str], role: Role, tokens: list[int], read: list[int], bar: "tqdm[Any]") -> None:
        for positions, vectors in self.encoder.encode_batches(texts, role, tokens):
            # Batch by batch, so an interrupted run goes on where it stopped.
            keys = [self._key(texts[position], role, "vector") for position in positions]
            values = [vector.astype("<f4").tobytes() for vector in vectors]
            self._check_lengths(values)
            self._cache.write(dict(zip(keys, values, strict=True)))
            bar.update(sum(read[position] for position in positions))

    def encode(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        """Return float32 (n, dim), unit rows, in the order of `texts`; (0, 0) for no text."""
        parts = self.parts(texts, role)
        rows = self._vectors(_flat(parts), role)
        if len(rows) == len(parts):
            return rows
        ends = np.cumsum([len(pieces) for pieces in parts])
        means = np.stack([part.mean(axis=0, dtype=np.float64) for part in np.split(rows, ends[:-1])])
        unit: NDArray[np.float32] = (means / np.linalg.norm(means, axis=1, keepdims=True)).astype(np.float32)
        return unit

    def _vectors(self, parts: Sequence[str], role: Role) -> NDArray[np.float32]:
        """Return float32 (n, dim), in the order of `parts`, encoded where they are missing."""
        if not parts:
            return np.zeros((0, 0), dtype=np.float32)
        keys = [self._key(part, role, "vector") for part in parts]
        stored = self._cache.read(keys)
        if None in stored:
            self._encode_missing({role: self._missing(parts, role)}, len(set(parts)))
            stored = self._cache.read(keys)
        values = [value for value in stored if value is not None]
        self._check_lengths(values)
        vectors = np.frombuffer(b"".join(values), dtype="<f4").reshape(len(values), -1)
        return vectors.astype(np.float32, copy=False)

    def _check_lengths(self, values: Sequence[bytes]) -> None:
        """Raise a CacheError for vectors of another length than those before: they are never kept or compared."""
        self._lengths.update(map(len, values))
        if len(self._lengths) > 1:
            widths = " and ".join(str(length // 4) for length in sorted(self._lengths))
            raise CacheError(
                f"{self.spec} gave vectors of {widths} numbers; if the vector cache {self._cache.folder} holds those "
                f"of an older model, {DELETE}"
            )

    def _integers(
        self, texts: Iterable[str], role: Role, kind: Kind, compute: Callable[[list[str]], Iterable[int]]
    ) -> dict[str, int]:
        """Text -> integer, each computed only once."""
        keys = {text: self._key(text, role, kind) for text in texts}
        stored = zip(keys, self._cache.read(keys.values()), strict=True)
        known = {text: int.from_bytes(value, "little") for text, value in stored if value is not None}
        if missing := [text for text in keys if text not in known]:
            known.update(zip(missing, compute(missing), strict=True))
            self._cache.write({keys[text]: known[text].to_bytes(8, "little") for text in missing})
        return known

    def _key(self, text: str, role: Role, kind: Kind) -> bytes:
        if (role, kind) not in self._prefixes:
            self._prefixes[role, kind] = key_prefix(kind, self._model, self.encoder.prompt(role))
        return text_key(self._prefixes[role, kind], text)


def _flat(parts: Iterable[Sequence[str]]) -> list[str]:
    return [part for pieces in parts for part in pieces]


def _end(text: str, starts: Sequence[int], room: int) -> int:
    """Return the character at which the first unread token begins."""
    # The tokenizer sees a lone surrogate as several characters, but no source code has one.
    return min(starts[room], len(text)) if room < len(starts) else len(text)
