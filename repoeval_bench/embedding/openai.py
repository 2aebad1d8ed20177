"""Vectors from a server that speaks OpenAI's embeddings API: some requests at a time, long texts cut, cost bounded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import unquote

from annotated_types import Ge

from repoeval_bench.core.errors import EmbeddingError, SpecError
from repoeval_bench.core.fields import Doc
from repoeval_bench.core.parts import Role
from repoeval_bench.core.request_pool import Again, RequestPool
from repoeval_bench.core.source import readable
from repoeval_bench.core.spec import format_spec
from repoeval_bench.embedding.registry import EMBEDDERS, LongChunks, LongQueries
from repoeval_bench.embedding.server import Answered, EmbeddingServer
from repoeval_bench.embedding.text_encoder import Limit, unit_rows
from repoeval_bench.embedding.tokens import Tokens

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SPECIAL = 4
"""Tokens that a server may add to a text, where its tokenizer is not known."""


Positive = Annotated[int, Ge(1)]
Cost = Annotated[float, Ge(0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """The options of a server."""

    base_url: Annotated[str, Doc("the server; OPENAI_BASE_URL or OpenAI's unless given")] = ""
    dimensions: Annotated[Positive | None, Doc("asks for vectors of this width; the model's own unless given")] = None
    query_prefix: Annotated[str, Doc("is put before queries; none unless given; %20 for a blank at its end")] = ""
    query_input_type: Annotated[str | None, Doc("is sent as input_type beside queries; none unless given")] = None
    document_prefix: Annotated[str, Doc("is put before chunks; none unless given; %20 for a blank at its end")] = ""
    document_input_type: Annotated[str | None, Doc("is sent as input_type beside chunks; none unless given")] = None
    tokenizer: Annotated[
        str | None, Doc("the server's: a tokenizer.json, or a folder with one; not known unless given")
    ] = None
    max_tokens: Annotated[Positive | None, Doc("tokens that the model reads of a text; not known unless given")] = None
    long_queries: LongQueries = "head"
    long_chunks: LongChunks = "head"
    batch: Annotated[int, Ge(1), Doc("texts in one request")] = 64
    concurrency: Annotated[int, Ge(1), Doc("requests that are under way at a time")] = 4
    timeout: Annotated[int, Ge(1), Doc("seconds that a request may take")] = 60
    price: Annotated[Cost | None, Doc("what a million tokens cost")] = None
    cost_limit: Annotated[Cost | None, Doc("sends nothing that could bring the cost of a command above this")] = None

    @property
    def named(self) -> dict[str, Any]:
        """Those that decide a vector, as far as they were given."""
        names = [
            "dimensions",
            *(f"{role}_{what}" for role in ("query", "document") for what in ("prefix", "input_type")),
        ]
        names += ["max_tokens", "tokenizer"] if self.tokenizer and self.max_tokens else []
        return {"base_url": self.base_url} | {name: value for name in names if (value := getattr(self, name))}


@EMBEDDERS.register(
    meaning="a model of OpenAI, or with base_url=http://HOST:PORT/v1 of any server with its embeddings API; the key is "
    "read from OPENAI_API_KEY",
    options=ServerOptions,
    target="MODEL",
)
def ask_openai(model: str, **given: Any) -> OpenAiEncoder:
    """A model behind a server; a SpecError where the options do not go together."""
    options = ServerOptions(**given)
    if options.cost_limit is not None and options.price is None:
        raise SpecError("cost_limit needs the price of a million tokens; add price=AMOUNT")
    # How texts are sent decides no vector, so it is not part of the run's name.
    return OpenAiEncoder(format_spec("openai", options.named, model), model, options)


class OpenAiEncoder:
    """Sends texts in batches, some at a time. The server's weights are not known; they may change unseen.

    With a tokenizer, tokens are counted, and a text beyond `max_tokens` is cut here. Without one, what the server
    cuts is not known: a text that may be longer than `max_tokens` is refused before the first request.
    """

    def __init__(self, spec: str, model: str, options: ServerOptions) -> None:
        self.spec, self._options, self._model = spec, options, model
        self._tokens = Tokens.of(options.tokenizer) if options.tokenizer else None
        self.limit = None
        if self._tokens and options.max_tokens:
            self.limit = Limit(options.max_tokens, self._tokens.starts)
        self.count_tokens = self._count_tokens if self._tokens else None
        self.identity = {
            "model": model,
            "base_url": options.base_url,
            "dimensions": options.dimensions,
            "weights_sha256": None,
            "precision": "unknown",
        }
        if self.limit and self._tokens:
            # Where a text is cut decides its vector.
            self.identity |= {"max_length": options.max_tokens, "tokenizer_sha256": self._tokens.sha256}
        self.identity |= {
            name: value for name, value in options.named.items() if name.startswith(("query_", "document_"))
        }
        self._server = EmbeddingServer(options.base_url, model, dimensions=options.dimensions, timeout=options.timeout)
        self._cost = 0.0

    @property
    def usage(self) -> Mapping[str, int]:
        """Tokens as the server counts them."""
        return self._server.usage

    def prompt(self, role: Role) -> str:
        """The text that is put before an input of this role, and the input type that is sent beside it."""
        kind = getattr(self._options, f"{role}_input_type")
        return self._prefix(role) + (f"\0input_type={kind}" if kind else "")

    def _prefix(self, role: Role) -> str:
        return unquote(getattr(self._options, f"{role}_prefix"))

    def _count_tokens(self, texts: Sequence[str], role: Role) -> list[int]:
        """Tokens of each text before it is cut, special ones and the prefix included."""
        assert self._tokens is not None
        return self._tokens.count([self._prefix(role) + text for text in texts])

    def most_tokens(self, texts: Sequence[str], role: Role) -> list[int]:
        """Tokens that each text takes at most: as the tokenizer counts them, else a byte each, and the special ones."""
        if self.count_tokens is not None:
            counts, limit = self.count_tokens(texts, role), self._options.max_tokens
            return counts if limit is None else [min(limit, count) for count in counts]
        prefix = len(self._prefix(role).encode())
        return [prefix + len(readable(text).encode()) + SPECIAL for text in texts]

    def cost(self, tokens: int) -> float | None:
        """Return the cost of a number of tokens; None without a price."""
        return None if self._options.price is None else tokens * self._options.price / 1e6

    def check(self, texts: Mapping[Role, Sequence[str]]) -> None:
        """An EmbeddingError where a text may be longer than the model reads, and no tokenizer is known to cut it by."""
        limit = self._options.max_tokens
        if limit is None or self._tokens is not None:
            return
        sizes = [count for role, of_role in texts.items() for count in self.most_tokens(of_role, role)]
        if long := sum(size > limit for size in sizes):
            raise EmbeddingError(
                f"{long:,} of {len(sizes):,} texts may be longer than the {limit:,} tokens that {self._model} "
                f"reads (the longest takes up to {max(sizes):,}); give tokenizer=FOLDER to cut them by long_queries "
                "and long_chunks, or take smaller chunks and --set query=tail:N"
            )

    def encode_batches(
        self, texts: Sequence[str], role: Role, tokens: Sequence[int]
    ) -> Iterator[tuple[list[int], NDArray[np.float32]]]:
        """Yield (positions in `texts`, float32 (len(positions), dim) unit rows), one request each, as answers come.

        An EmbeddingError before the first request that could bring the cost above its limit.
        """
        size, kind = self._options.batch, getattr(self._options, f"{role}_input_type")
        # Such servers refuse an empty text; a blank means as little.
        sent = [self._read(text, role, count) or " " for text, count in zip(texts, tokens, strict=True)]
        batches = [range(start, min(start + size, len(sent))) for start in range(0, len(sent), size)]

        def embed(batch: range, again: Again) -> tuple[range, Answered]:
            return batch, self._server.embed([sent[position] for position in batch], kind, again)

        def most(batch: range) -> float:
            return self.cost(sum(self.most_tokens([texts[position] for position in batch], role))) or 0.0

        def spent(batch: range, answer: tuple[range, Answered]) -> float:
            counted = answer[1].usage
            # Every text has a token, so a count of 0 is a mistake.
            return self.cost(max(counted.values(), default=0)) or most(batch)

        pool: RequestPool[range, tuple[range, Answered]] = RequestPool(
            most=most, spent=spent, too_dear=self._too_dear, limit=self._options.cost_limit, before=self._cost
        )
        try:
            for batch, (vectors, _) in pool.answers(batches, embed, self._options.concurrency):
                yield list(batch), unit_rows(vectors, [texts[position] for position in batch])
        finally:
            self._cost = pool.spent

    def _read(self, text: str, role: Role, tokens: int) -> str:
        """Return what is sent of a text of `tokens` tokens: its prefix, and as much of it as the model reads."""
        text = readable(text)
        if self.limit is None or self._tokens is None or tokens <= self.limit.max_tokens:
            return self._prefix(role) + text
        return self._tokens.head(text, self._prefix(role), self.limit.max_tokens)

    def _too_dear(self, spent: float, most: float) -> EmbeddingError:
        return EmbeddingError(
            f"the next request to {self._model} may cost {most:.6g}, and {spent:.6g} was spent, which could pass "
            f"cost_limit={self._options.cost_limit:.6g} (in the unit of price); raise cost_limit and run the same "
            "command again: vectors so far are kept"
        )
