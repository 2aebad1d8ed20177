"""A model of sentence-transformers loaded from its folder: offline, without bars, in fp32."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from repoeval_bench.core.errors import EmbeddingError

if TYPE_CHECKING:
    from repoeval_bench.embedding.models import ModelFiles


def load_model(kind: Literal["SentenceTransformer", "CrossEncoder"], files: ModelFiles) -> Any:
    """The model in `files`, ready for use; one that cannot be loaded on its device is an EmbeddingError."""
    # A model in a folder needs no hub; without this the library asks it for updates.
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    with _nothing_collected():
        import sentence_transformers
        from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    try:
        # Of two files with weights the library takes the one that is not a pickle.
        load = getattr(sentence_transformers, kind)
        model = load(str(files.folder), device=files.device, model_kwargs={"use_safetensors": True})
        _check_weights(kind, model, files)
    except EmbeddingError:
        raise
    except Exception as error:  # an absent device, a broken file of weights, a wrong configuration: all differ
        raise EmbeddingError(
            f"the model in {files.folder} cannot be loaded on device {files.device!r} "
            f"({str(error).partition(chr(10))[0]}); choose device=cpu or restore the model's folder"
        ) from error
    # Weights that are stored in half precision are computed with in fp32, or under autocast: as the spec says.
    return model.float().eval()


@contextmanager
def _nothing_collected() -> Iterator[None]:
    """Pause the search for garbage, a sixth of the time of an import: what is imported stays."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _check_weights(kind: str, model: Any, files: ModelFiles) -> None:
    """An EmbeddingError where the weights lack some of the model's: transformers gives those random numbers.

    It says so in a warning only, or in the result of a second loading, which takes a tenth of a second here.
    """
    transformer = getattr(model[0], "auto_model", None)
    if transformer is None:
        return
    _, loaded = type(transformer).from_pretrained(
        str(files.transformer), config=transformer.config, output_loading_info=True, use_safetensors=True
    )
    # What a text's vector is pooled from comes before the pooler, which many models are saved without.
    unused = "pooler." if kind == "SentenceTransformer" else None
    missing = sorted(key for key in loaded["missing_keys"] if unused is None or not key.startswith(unused))
    if missing:
        raise EmbeddingError(
            f"the weights in {files.folder} lack {len(missing)} of the model's tensors, {missing[0]} first, which "
            "would be random numbers; restore the model's folder"
        )
