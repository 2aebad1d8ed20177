"""Vectors from a server that speaks OpenAI's embeddings API, some requests at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import unquote

import numpy as np
from pydantic import BaseModel, Field

from repoeval_bench.core.api_server import Api, ApiServer, answers
from repoeval_bench.core.errors import EmbeddingError
from repoeval_bench.core.fields import Doc, Positive
from repoeval_bench.core.parts import Role
from repoeval_bench.core.source import readable
from repoeval_bench.core.spec import format_spec
from repoeval_bench.embedding.registry import EMBEDDERS, Encoded, unit_rows

AT_ONCE = 4
"""Requests that are under way at a time."""

TIMEOUT = 60
"""Seconds that a request may take."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """The options of a server."""

    base_url: Annotated[str, Doc("the server; OPENAI_BASE_URL or OpenAI's unless given")] = ""
    dimensions: Annotated[Positive | None, Doc("the width of the vectors to request; the model's own unless given")] = (
        None
    )
    query_prefix: Annotated[str, Doc("is put before queries; none unless given; %20 for a blank at its end")] = ""
    document_prefix: Annotated[str, Doc("is put before chunks; none unless given; %20 for a blank at its end")] = ""
    batch: Annotated[Positive, Doc("texts in one request")] = 64

    @property
    def named(self) -> dict[str, Any]:
        """Those that decide a vector, as far as they were given."""
        names = ("base_url", "dimensions", "query_prefix", "document_prefix")
        return {name: value for name in names if (value := getattr(self, name))}


@EMBEDDERS.register(
    meaning="a model of OpenAI, or of a server with its embeddings API: base_url=http://HOST:PORT/v1; the key is "
    "read from OPENAI_API_KEY",
    options=ServerOptions,
    target="MODEL",
    requires=("openai",),
)
class OpenAiEncoder:
    """Sends texts in batches, some at a time."""

    # The server is given every text whole. What it cuts is not known, nor are its weights, which may change unseen.

    limit = None
    count_tokens = None

    def __init__(self, model: str, **given: Any) -> None:
        options = ServerOptions(**given)
        # How texts are sent decides no vector, so it is not part of the run's name.
        self.spec = format_spec("openai", options.named, model)
        self.identity = {
            "model": model,
            "dimensions": options.dimensions,
            **options.named,
            "weights_sha256": None,
            "precision": "unknown",
        }
        self._options, self._model = options, model
        self._server = ApiServer(options.base_url, API, timeout=TIMEOUT)

    def prompt(self, role: Role) -> str:
        """The text that is put before an input of this role."""
        return unquote(self._options.query_prefix if role == "query" else self._options.document_prefix)

    def encode_batches(self, texts: Sequence[str], role: Role, tokens: Sequence[int]) -> Encoded:  # noqa: ARG002
        """Yield the vectors of one request each, as answers come."""
        # Such servers refuse an empty text; a blank means as little.
        sent = [self.prompt(role) + readable(text) or " " for text in texts]
        body: dict[str, Any] = {"model": self._model, "encoding_format": "float"}
        if self._options.dimensions:
            body["dimensions"] = self._options.dimensions
        positions = range(len(sent))
        batches = [positions[start : start + self._options.batch] for start in positions[:: self._options.batch]]

        def embed(batch: range) -> _Content:
            return self._server.post(_Content, input=[sent[position] for position in batch], **body)

        for batch, content in answers(embed, batches, AT_ONCE):
            rows = {row.index: row.embedding for row in content.data}
            if rows.keys() != set(range(len(batch))) or len({*map(len, rows.values())}) > 1:
                raise self._server.unlike_api(
                    f"its {len(content.data)} vectors have not an index each from 0 to {len(batch) - 1} and one length"
                )
            with np.errstate(over="ignore"):  # a number that is too large becomes infinite, and is refused as that
                vectors = np.array([rows[i] for i in range(len(batch))]).astype(np.float32)
            yield list(batch), unit_rows(vectors, [texts[position] for position in batch])
