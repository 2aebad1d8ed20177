"""A model of sentence-transformers loaded from its folder: offline, without bars, in fp32."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal

from repoeval_bench.errors import EmbeddingError

if TYPE_CHECKING:
    from repoeval_bench.embedding.models import ModelFiles


def load_model(kind: Literal["SentenceTransformer", "CrossEncoder"], files: ModelFiles) -> Any:
    """The model in `files`, ready to be asked; one that cannot be loaded on its device is an EmbeddingError."""
    # A model in a folder needs no hub; without this the library asks it for updates.
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    import sentence_transformers
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    try:
        model = getattr(sentence_transformers, kind)(str(files.folder), device=files.device)
    except (RuntimeError, AssertionError, OSError, ValueError) as error:
        # torch refuses an unknown or absent device, and a broken weights file, each in its own way.
        raise EmbeddingError(
            f"the model in {files.folder} cannot be loaded on device {files.device!r} "
            f"({str(error).partition(chr(10))[0]}); choose device=cpu or restore the model's folder"
        ) from error
    # Weights that are stored in half precision are computed with in fp32, or under autocast: as the spec says.
    return model.float().eval()
