"""What happens to a text that is longer than the model reads: its head or tail is kept, or all of it in windows."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from repoeval_bench.core.errors import SpecError, UsageError
from repoeval_bench.core.files import readable
from repoeval_bench.core.spans import CharSpan
from repoeval_bench.core.spec import Spec, format_spec, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from repoeval_bench.core.parts import Role
    from repoeval_bench.embedding.cache import CachedEmbedder

LongText = Literal["head", "tail", "mean", "max"]

POLICIES: Mapping[LongText, str] = {
    "head": "the model reads the beginning and drops the rest, as its library does",
    "tail": "the model reads the end, from the beginning of a word",
    "mean": "the text is cut into windows that the model reads whole; their mean, of unit length, is its vector",
    "max": "the same windows, each with its vector; a query and a chunk are as similar as their two nearest windows",
}

WHOLE = frozenset({"mean", "max"})
"""The policies under which nothing of a text is lost."""

OPTIONS: Mapping[Role, str] = {"query": "long_queries", "document": "long_chunks"}
"""Role -> the option of an embedder's spec that says what happens to long texts of that role."""


def split_spec(text: str) -> tuple[str, dict[Role, LongText]]:
    """(the spec without the options of this module, role -> policy); a SpecError where a policy does not exist.

    >>> split_spec("minilm:long_queries=tail")
    ('minilm', {'query': 'tail', 'document': 'head'})
    """
    spec = Spec.parse(text)
    policies: dict[Role, LongText] = {}
    for role, option in OPTIONS.items():
        policy = spec.params.pop(option, "head")
        if policy not in get_args(LongText):
            raise SpecError(f"embedder {text!r}: {nearest(option, policy, get_args(LongText))}")
        policies[role] = policy  # type: ignore[assignment]
    return str(spec), policies


def with_long_text(embedder: str, policy: str | None) -> str:
    """The embedder's spec with a policy for long texts: one for queries and chunks, or `queries=…,chunks=…`.

    An unknown one, and one that contradicts the spec, is a UsageError.
    """
    if not policy:
        return embedder
    spec = Spec.parse(embedder)
    chosen = {"queries": policy, "chunks": policy}
    if "=" in policy:
        chosen = Spec.parse(f"long-text:{policy}").params
    for what, value in chosen.items():
        if what not in ("queries", "chunks"):
            raise UsageError(f"long text {policy!r}: {nearest('kind of text', what, ('queries', 'chunks'))}")
        if value not in POLICIES:
            raise UsageError(nearest("policy for long texts", value, POLICIES))
        if spec.params.get(f"long_{what}", value) != value:
            raise UsageError(f"long text {policy!r} contradicts embedder {embedder!r}; leave one of them out")
        spec.params[f"long_{what}"] = value
    return str(spec)


def changes_nothing(spec: object) -> UsageError:
    """What is said of a policy for long texts where the embedder is given every text whole."""
    return UsageError(f"{spec} is given every text whole, so a policy for long texts changes nothing; leave it out")


class LongTextEmbedder:
    """An `Embedder` that hands another one nothing longer than it reads.

    Short texts pass as they are. Every part is kept in the other's cache as the text that it is.
    """

    def __init__(self, inner: CachedEmbedder, policies: Mapping[Role, LongText]) -> None:
        self._inner = inner
        self._policies = policies
        self._parts: dict[tuple[Role, str], tuple[str, ...]] = {}

    @property
    def spec(self) -> str:
        """The spec that rebuilds this embedder; policies that are the default anyway are left out."""
        inner = Spec.parse(self._inner.spec)
        return format_spec(inner.name, {**inner.params, **self._named()}, inner.target)

    @property
    def identity(self) -> Mapping[str, Any]:
        """What decides a vector beside prompt and text."""
        return {**self._inner.identity, **self._named()}

    @property
    def max_tokens(self) -> int | None:
        """How many tokens the model reads at a time, special ones included."""
        return self._inner.max_tokens

    @property
    def n_encoded(self) -> int:
        """How many texts and parts of texts were encoded, not counting those that were cached."""
        return self._inner.n_encoded

    @property
    def usage(self) -> Mapping[str, int]:
        """What encoding has used so far as whoever runs the model counts it; empty where nobody does."""
        return self._inner.usage

    @property
    def counts_tokens(self) -> bool:
        """Whether the model's tokenizer is known."""
        return self._inner.counts_tokens

    def truncates(self, role: Role) -> bool:
        """Whether a text beyond `max_tokens` loses something."""
        return self._policies[role] not in WHOLE

    def read_chars(self, texts: Sequence[str], role: Role) -> list[CharSpan]:
        """The characters of each text that the model reads."""
        if self._policies[role] == "head":
            return self._inner.read_chars(texts, role)
        parts = self.parts(texts, role)
        return [
            CharSpan(max(0, len(text) - sum(map(len, pieces))), len(text))
            for text, pieces in zip(texts, parts, strict=True)
        ]

    def count_tokens(self, texts: Sequence[str], role: Role) -> list[int]:
        """Tokens of each whole text, special ones and the role's prompt included."""
        return self._inner.count_tokens(texts, role)

    def parts(self, texts: Sequence[str], role: Role) -> list[tuple[str, ...]]:
        """What the model is given of each text: the text as it is, its tail, or its windows in order."""
        policy, limit = self._policies[role], self.max_tokens
        if policy == "head" or limit is None:
            return [(text,) for text in texts]
        for text, count in zip(texts, self._inner.count_tokens(texts, role), strict=True):
            if (role, text) not in self._parts:
                self._parts[role, text] = (text,) if count <= limit else self._cut(readable(text), role, policy, limit)
        return [self._parts[role, text] for text in texts]

    def pending(self, texts: Mapping[Role, Iterable[str]]) -> dict[Role, list[str]]:
        """The distinct parts whose vectors are not cached yet, as `ensure` would encode them."""
        return self._inner.pending(self._all_parts(texts))

    def ensure(self, texts: Mapping[Role, Iterable[str]]) -> None:
        """Have the vectors of every part of every text at hand, those that are missing computed in one pass."""
        self._inner.ensure(self._all_parts(texts))

    def encode(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        """float32 (n, dim), unit rows, in the order of `texts`; (0, 0) for no text.

        A text in several windows has their mean, under `max` too: what asks for one vector (a measure of how much
        results differ) gets one.
        """
        parts = self.parts(texts, role)
        rows = self._inner.encode([part for pieces in parts for part in pieces], role)
        if len(rows) == len(parts):
            return rows
        ends = np.cumsum([len(pieces) for pieces in parts])
        means = np.stack([part.mean(axis=0, dtype=np.float64) for part in np.split(rows, ends[:-1])])
        unit: NDArray[np.float32] = (means / np.linalg.norm(means, axis=1, keepdims=True)).astype(np.float32)
        return unit

    def encode_windows(self, texts: Sequence[str], role: Role) -> tuple[NDArray[np.float32], list[int]]:
        """(float32 (m, dim) unit rows, how many of them each text has in turn): under `max` a row for each window."""
        if self._policies[role] != "max":
            return self.encode(texts, role), [1] * len(texts)
        parts = self.parts(texts, role)
        return self._inner.encode([part for pieces in parts for part in pieces], role), [*map(len, parts)]

    def n_vectors(self, texts: Sequence[str], role: Role) -> int:
        """One for each text, under `max` one for each of its windows."""
        return sum(map(len, self.parts(texts, role))) if self._policies[role] == "max" else len(texts)

    def _all_parts(self, texts: Mapping[Role, Iterable[str]]) -> dict[Role, list[str]]:
        return {
            role: [part for pieces in self.parts(list(each), role) for part in pieces] for role, each in texts.items()
        }

    def _named(self) -> dict[str, str]:
        return {OPTIONS[role]: policy for role, policy in self._policies.items() if policy != "head"}

    def _cut(self, text: str, role: Role, policy: LongText, limit: int) -> tuple[str, ...]:
        """The tail, or the windows in order; a part starts at a word unless a word is longer than the model reads."""
        starts = self._inner.token_starts(text)
        room = max(1, limit - self._inner.count_tokens([""], role)[0])
        words = [i for i, start in enumerate(starts) if i == 0 or text[start - 1].isspace()]

        def fits(part: str) -> bool:
            # Cut out of its text, a part may be read as a token more or less. What is chosen is counted and kept later.
            return self._inner.count_tokens([part], role, keep=False)[0] <= limit

        if policy == "tail":
            first = len(starts) - room
            candidates = words[bisect_left(words, first) :] or range(first, len(starts))
            return (next(part for i in candidates if fits(part := text[starts[i] :]) or i == candidates[-1]),)
        parts: list[str] = []
        at = 0
        while at < len(starts):
            # Words ascend: looking each window's up keeps the whole linear in the text.
            ends = words[bisect_right(words, at) : bisect_right(words, at + room)]
            if len(starts) - at <= room:
                ends.append(len(starts))
            ends = ends or list(range(at + 1, min(at + room, len(starts)) + 1))
            for end in reversed(ends):
                part = text[starts[at] : starts[end] if end < len(starts) else len(text)]
                if fits(part) or end == ends[0]:
                    break
            parts.append(part)
            at = end
        return tuple(parts)
