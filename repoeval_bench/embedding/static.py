"""Static vectors (model2vec): a model asked once for every token of its vocabulary, and a text is their mean.

A model that is distilled here is kept on disk: made once, sealed with the hashes of its files, never unpickled. Where
it cannot be kept, it is made for one process.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from repoeval_bench.core.errors import EmbeddingError, in_one_line, os_reason
from repoeval_bench.core.files import folder_beside, readable, sha256_file, write_atomic
from repoeval_bench.core.notices import NOTICES
from repoeval_bench.core.parts import Role
from repoeval_bench.embedding.loading import load_model
from repoeval_bench.embedding.models import ModelFiles, locate
from repoeval_bench.embedding.text_encoder import WholeTextEncoder

SEAL = "sha256.json"
"""The file with the hashes of all others; written last."""


_READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)

_temporary_folders: list[tempfile.TemporaryDirectory[str]] = []
"""Folders of models that could not be kept; they are deleted when the process ends."""


def distill_static(spec: str, model: str, folder: Path, *, dim: int) -> StaticEncoder:
    """The static model distilled from `model` ("": minilm), from `folder` where that was done before.

    Tokens' vectors are reduced to `dim` by PCA and weighed by their rank (Zipf's law instead of counts). A notice
    says where the model cannot be kept.
    """
    files = locate(f"st:{model}" if model else "minilm")
    from importlib.metadata import version

    settings = [files.weights, *files.settings.values(), files.tokenizer_hash, dim, version("model2vec")]
    model_folder = folder / f"static-{hashlib.sha256(json.dumps(settings).encode()).hexdigest()[:16]}"
    location, fingerprint = keep(model_folder, lambda target: _distill(files, dim, target))
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


def keep(folder: Path, make: Callable[[Path], None]) -> tuple[Path, str]:
    """(its folder, hexadecimal SHA-256 over its files' hashes) of the model in `folder`, made where there is none.

    `make` writes the model's files into the folder it is given. Two processes may make one model at once: the one of
    the first to finish is kept. Where `folder` is read-only, the model goes into a temporary one, and a notice
    says so. A folder whose files are not what was written is an EmbeddingError.
    """
    try:
        if not (folder / SEAL).is_file():
            _make(folder, make)
    except OSError as error:
        if error.errno not in _READ_ONLY:
            raise EmbeddingError(
                f"the model folder {folder} cannot be written ({os_reason(error)}); "
                "set REPOEVAL_HOME to a writable folder"
            ) from error
        NOTICES.info(
            f"note: the model folder {folder.parent} is read-only; {folder.name} is made for this command alone"
        )
        _temporary_folders.append(tempfile.TemporaryDirectory(prefix="repoeval-bench-"))
        folder = Path(_temporary_folders[-1].name) / folder.name
        _make(folder, make)
    try:
        seal: dict[str, str] = dict(json.loads((folder / SEAL).read_text(encoding="utf-8")))
        changed = [name for name, digest in seal.items() if sha256_file(folder / name) != digest]
    except (OSError, ValueError) as error:
        raise _broken(folder, str(error)) from error
    if changed:
        raise _broken(folder, f"{changed[0]} has changed")
    return folder, hashlib.sha256(json.dumps(seal, sort_keys=True).encode()).hexdigest()


def _make(folder: Path, make: Callable[[Path], None]) -> None:
    with folder_beside(folder) as temporary:
        model = temporary / "model"
        model.mkdir()
        make(model)
        names = sorted(path.relative_to(model).as_posix() for path in model.rglob("*") if path.is_file())
        write_atomic(model / SEAL, json.dumps({name: sha256_file(model / name) for name in names}, indent=1))
        if folder.is_dir() and not (folder / SEAL).is_file():
            shutil.rmtree(folder)
        try:
            model.rename(folder)
        except OSError:
            if not (folder / SEAL).is_file():
                raise


def _broken(folder: Path, reason: str) -> EmbeddingError:
    return EmbeddingError(f"the model made in {folder} is broken ({reason}); delete that folder, it is made again")
