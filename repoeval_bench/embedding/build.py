"""How the embedders that need more than their options are put together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from repoeval_bench.core.spec import format_spec
from repoeval_bench.embedding import models

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from repoeval_bench.embedding.text_encoder import TextEncoder


def model(spec: str, **_: object) -> TextEncoder:
    """A model of sentence-transformers, found and verified; its own token limit bounds the options."""
    from repoeval_bench.embedding.encoder import SentenceTransformerEncoder

    return SentenceTransformerEncoder(models.locate(spec))


def openai(model: str, *, base_url: str, batch: int, timeout: int, dimensions: int | None = None) -> TextEncoder:
    """A model behind a server."""
    from repoeval_bench.embedding.openai import OpenAiEncoder
    from repoeval_bench.embedding.server import EmbeddingServer

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


def static(spec: str, model: str, folder: Path, notify: Callable[[str], None], *, dim: int) -> TextEncoder:
    """Static vectors, distilled from a model once and kept in `folder`."""
    from repoeval_bench.embedding.static import distill_static

    source = models.locate(f"st:{model}" if model else "minilm")
    return distill_static(spec, folder, source, dim=dim, notify=notify)
