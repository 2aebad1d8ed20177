"""Static vectors (model2vec): a model asked once for every token of its vocabulary, and a text is their mean."""

from __future__ import annotations

import hashlib
import io
import json
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from repoeval_bench.core.errors import EmbeddingError, in_one_line
from repoeval_bench.core.files import readable
from repoeval_bench.core.parts import Role
from repoeval_bench.embedding.fitted import keep
from repoeval_bench.embedding.loading import load_model
from repoeval_bench.embedding.models import ModelFiles, locate
from repoeval_bench.embedding.text_encoder import WholeTextEncoder


def distill_static(spec: str, model: str, folder: Path, notify: Callable[[str], None], *, dim: int) -> StaticEncoder:
    """The static model distilled from `model` ("": minilm), from `folder` where that was done before.

    Tokens' vectors are reduced to `dim` by PCA and weighed by their rank (Zipf's law instead of counts). `notify`
    gets a line where the model cannot be kept.
    """
    files = locate(f"st:{model}" if model else "minilm")
    from importlib.metadata import version

    settings = [files.weights, *files.settings.values(), files.tokenizer_hash, dim, version("model2vec")]
    model_folder = folder / f"static-{hashlib.sha256(json.dumps(settings).encode()).hexdigest()[:16]}"
    location, fingerprint = keep(model_folder, lambda target: _distill(files, dim, target), notify)
    identity = {
        "model": f"static from {files.model_id}",
        "weights_sha256": fingerprint,
        "dim": dim,
        "precision": "fp32",
    }
    return StaticEncoder(spec, identity, folder=location)


class StaticEncoder(WholeTextEncoder):
    """The mean of a text's token vectors; the model in `folder` is loaded on the first text."""

    @cached_property
    def _model(self) -> Any:
        from model2vec import StaticModel

        return StaticModel.from_pretrained(self._folder)

    def count_tokens(self, texts: Sequence[str], role: Role) -> list[int]:  # noqa: ARG002 - the same for both
        """Known tokens of each text, without special ones."""
        return [len(ids) for ids in self._model.tokenize([readable(text) for text in texts])]

    def sums(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """float64 (n, dim)."""
        rows = self._model.encode([readable(text) for text in texts], max_length=None, use_multiprocessing=False)
        return np.asarray(rows, dtype=np.float64)


def _distill(files: ModelFiles, dim: int, folder: Path) -> None:
    from model2vec.distill import distill
    from threadpoolctl import threadpool_limits

    # The library would distil the random numbers in place of what a file of weights lacks.
    load_model("SentenceTransformer", files)
    # One thread: how many there are must not decide the last bits. The library's bars are for a terminal only.
    seen = sys.stderr if sys.stderr.isatty() else io.StringIO()
    with threadpool_limits(1), redirect_stderr(seen):
        try:
            model = distill(str(files.folder), device="cpu", pca_dims=dim, quantize_to="float32")
        except Exception as error:  # a model that is not a transformer, or lacks a vocabulary, fails in its own way
            raise EmbeddingError(
                f"nothing can be distilled from {files.folder} ({in_one_line(error)}); name a model that "
                "begins with a Transformer"
            ) from error
    # Settings of the model it comes from, which would cut long texts and fill short ones up.
    model.tokenizer.no_truncation()
    model.tokenizer.no_padding()
    model.save_pretrained(folder)
