"""Vectors from any server that speaks OpenAI's embeddings API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from repoeval_bench.core.files import readable
from repoeval_bench.core.spec import format_spec
from repoeval_bench.embedding.server import EmbeddingServer
from repoeval_bench.embedding.text_encoder import unit_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from repoeval_bench.core.parts import Role


def ask_openai(model: str, *, base_url: str, batch: int, timeout: int, dimensions: int | None = None) -> OpenAiEncoder:
    """A model behind a server."""
    # How texts are sent decides no vector, so it is not part of the run's name.
    named: dict[str, object] = {"base_url": base_url} | ({} if dimensions is None else {"dimensions": dimensions})
    return OpenAiEncoder(
        format_spec("openai", named, model),
        EmbeddingServer(base_url, model, dimensions=dimensions, timeout=timeout),
        model=model,
        base_url=base_url,
        dimensions=dimensions,
        batch=batch,
    )


class OpenAiEncoder:
    """Sends texts in batches of `batch`. The server's weights and tokenizer are not known; they may change unseen.

    So tokens are not counted, and what the server truncates is not known.
    """

    limit = None
    count_tokens = None

    def __init__(
        self, spec: str, server: EmbeddingServer, *, model: str, base_url: str, dimensions: int | None, batch: int
    ) -> None:
        self.spec = spec
        self.identity = {
            "model": model,
            "base_url": base_url,
            "dimensions": dimensions,
            "weights_sha256": None,
            "precision": "unknown",
        }
        self._server, self._batch = server, batch

    @property
    def usage(self) -> Mapping[str, int]:
        """Tokens as the server counts them."""
        return self._server.usage

    def prompt(self, role: Role) -> str:  # noqa: ARG002 - the same for both
        """No text."""
        return ""

    def encode_batches(
        self,
        texts: Sequence[str],
        role: Role,  # noqa: ARG002 - the same for both
        tokens: Sequence[int],  # noqa: ARG002 - not known
    ) -> Iterator[tuple[list[int], NDArray[np.float32]]]:
        """Yield (positions in `texts`, float32 (len(positions), dim) unit rows), one request each."""
        for start in range(0, len(texts), self._batch):
            part = texts[start : start + self._batch]
            # Such servers refuse an empty text; a blank means as little.
            vectors = self._server.embed([readable(text) or " " for text in part])
            yield list(range(start, start + len(part))), unit_rows(vectors, part)
