"""Vectors from a server that speaks OpenAI's embeddings API: some requests at a time, long texts cut."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import unquote

import numpy as np
from annotated_types import Ge, Le
from pydantic import BaseModel, Field

from repoeval_bench.core.api_server import Api, ApiServer, answers
from repoeval_bench.core.errors import EmbeddingError
from repoeval_bench.core.fields import Doc
from repoeval_bench.core.numbers import EXACT
from repoeval_bench.core.parts import Role
from repoeval_bench.core.source import readable
from repoeval_bench.core.spec import format_spec
from repoeval_bench.embedding.registry import EMBEDDERS, LongChunks, LongQueries
from repoeval_bench.embedding.text_encoder import Limit, unit_rows
from repoeval_bench.embedding.tokens import Tokens

if TYPE_CHECKING:
    from numpy.typing import NDArray

SPECIAL = 4
"""Tokens that a server may add to a text, where its tokenizer is not known."""

USAGE = ("prompt_tokens", "total_tokens")
"""Counts in an answer's `usage`."""

API = Api(
    name="embeddings",
    resource=lambda client: client.embeddings,
    error=EmbeddingError,
    resumption="what was embedded so far is kept, run the same command again",
    refused="the model or a text {}; check model and base_url, send fewer texts at once (batch=N), or shorten them "
    "with --set query=tail:N and a smaller chunker",
)


class _Row(BaseModel, strict=True):
    """A text's vector, as the API gives it."""

    index: int
    embedding: list[float] = Field(min_length=1)


class _Content(BaseModel):
    """An answer's content, as far as it is read."""

    data: list[_Row]
    usage: Any = None


Positive = Annotated[int, Ge(1), Le(EXACT)]


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
    requires=("openai",),
)
def ask_openai(model: str, **given: Any) -> OpenAiEncoder:
    """Return the encoder of a model behind a server."""
    options = ServerOptions(**given)
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
        self._server = ApiServer(options.base_url, API, timeout=options.timeout)
        self._width, self._usage = options.dimensions, dict.fromkeys(USAGE, 0)

    @property
    def usage(self) -> Mapping[str, int]:
        """Tokens as the server counted them in its answers so far; a count that one of them lacked is left out."""
        return dict(self._usage)

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

    def check(self, texts: Mapping[Role, Sequence[str]]) -> None:
        """An EmbeddingError where a text may be longer than the model reads, and no tokenizer is known to cut it by."""
        limit = self._options.max_tokens
        if limit is None or self._tokens is not None:
            return
        # A token has at least one byte.
        sizes = [
            len((self._prefix(role) + readable(text)).encode()) + SPECIAL
            for role, of_role in texts.items()
            for text in of_role
        ]
        if long := sum(size > limit for size in sizes):
            raise EmbeddingError(
                f"{long:,} of {len(sizes):,} texts may be longer than the {limit:,} tokens that {self._model} "
                f"reads (the longest takes up to {max(sizes):,}); give tokenizer=FOLDER to cut them by long_queries "
                "and long_chunks, or take smaller chunks and --set query=tail:N"
            )

    def encode_batches(
        self, texts: Sequence[str], role: Role, tokens: Sequence[int]
    ) -> Iterator[tuple[list[int], NDArray[np.float32]]]:
        """Yield (positions in `texts`, float32 (len(positions), dim) unit rows), one request each, as answers come."""
        # Such servers refuse an empty text; a blank means as little.
        sent = [self._read(text, role, count) or " " for text, count in zip(texts, tokens, strict=True)]
        size = self._options.batch
        batches = [range(start, min(start + size, len(sent))) for start in range(0, len(sent), size)]

        def embed(batch: range) -> _Content:
            return self._server.post(_Content, **self._body([sent[position] for position in batch], role))

        for batch, content in answers(embed, batches, self._options.concurrency):
            rows = self._rows(content.data, len(batch))
            self._usage = {
                name: before + count for name, before in self._usage.items() if (count := _count(content.usage, name))
            }
            yield list(batch), unit_rows(rows, [texts[position] for position in batch])

    def _body(self, texts: list[str], role: Role) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self._model, "input": texts, "encoding_format": "float"}
        if self._options.dimensions is not None:
            body["dimensions"] = self._options.dimensions
        # Some servers take a text's role from it.
        if kind := getattr(self._options, f"{role}_input_type"):
            body["extra_body"] = {"input_type": kind}
        return body

    def _rows(self, rows: Sequence[_Row], n: int) -> NDArray[np.float32]:
        """Return float32 (n, dim) in the order of the texts that were sent."""
        by_index = {row.index: row.embedding for row in rows}
        if len(rows) != n or by_index.keys() != set(range(n)):
            raise self._server.unlike_api(f"its {len(rows)} vectors do not have an index each from 0 to {n - 1}")
        width = self._width = self._width or len(by_index[0])
        if others := {len(vector) for vector in by_index.values()} - {width}:
            raise EmbeddingError(
                f"{self._server.url} gave a vector of {others.pop()} dimensions where {width} are expected; check "
                "model and dimensions"
            )
        with np.errstate(over="ignore"):  # a number that is too large becomes infinite, and is refused as that
            return np.array([by_index[i] for i in range(n)], dtype=np.float64).astype(np.float32)

    def _read(self, text: str, role: Role, tokens: int) -> str:
        """Return what is sent of a text of `tokens` tokens: its prefix, and as much of it as the model reads."""
        text = readable(text)
        if self.limit is None or self._tokens is None or tokens <= self.limit.max_tokens:
            return self._prefix(role) + text
        return self._tokens.head(text, self._prefix(role), self.limit.max_tokens)


def _count(usage: Any, name: str) -> int | None:
    """Return the tokens that an answer counts; None if it does not. Every text has a token, so 0 is a mistake."""
    count = usage.get(name) if isinstance(usage, dict) else None
    return count if type(count) is int and count > 0 else None
