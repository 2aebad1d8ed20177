"""Latent semantic analysis: TF-IDF and a truncated SVD (scikit-learn), fitted on the benchmark's files.

Never on chunks: the vectors of one chunker would then depend on how another one cuts. The fit is kept as plain arrays,
which are read without scikit-learn.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from repoeval_bench.core.errors import EmbeddingError
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.terms import CODE_TERMS, identifiers
from repoeval_bench.embedding.fitted import keep
from repoeval_bench.embedding.text_encoder import WholeTextEncoder

LEAST_FILES = 2
"""A term that is in fewer files is left out."""


def fit_lsa(
    spec: str, folder: Path, files: Sequence[SourceFile], *, dim: int, seed: int, notify: Callable[[str], None]
) -> LsaEncoder:
    """The encoder fitted on these files' texts, from `folder` where the same fit was made before.

    `notify` gets a line where the fit cannot be kept. Fewer files or terms than two are an EmbeddingError.
    """
    texts = sorted(file.text for file in files)
    asked = hashlib.sha256(json.dumps([_version(), CODE_TERMS, dim, seed, LEAST_FILES]).encode())
    for text in texts:
        asked.update(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
    wanted = folder / f"lsa-{asked.hexdigest()[:16]}"
    place, fingerprint = keep(wanted, lambda made: _fit(texts, dim, seed, made), notify)
    identity = {"model": "lsa", "terms": CODE_TERMS, "dim": dim, "seed": seed, "precision": "fp32", "fit": fingerprint}
    return LsaEncoder(spec, identity, folder=place)


class LsaEncoder(WholeTextEncoder):
    """(1 + ln tf) idf of each term, of unit length, projected on the singular vectors of the fit."""

    @cached_property
    def _vocabulary(self) -> dict[str, int]:
        terms = json.loads((self._folder / "vocabulary.json").read_text(encoding="utf-8"))
        return {term: i for i, term in enumerate(terms)}

    @cached_property
    def _idf(self) -> NDArray[np.float64]:
        return np.asarray(np.load(self._folder / "idf.npy", allow_pickle=False))

    @cached_property
    def _terms(self) -> NDArray[np.float64]:
        """float64 (n_terms, dim): each term's place."""
        return np.asarray(np.load(self._folder / "terms.npy", allow_pickle=False))

    def sums(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """float64 (n, dim)."""
        rows = np.zeros((len(texts), self._terms.shape[1]))
        for i, text in enumerate(texts):
            counts = Counter(identifiers(text))
            # In the order of the vocabulary: a sum's last bits must not depend on the text's word order.
            known = sorted(
                (self._vocabulary[term], count) for term, count in counts.items() if term in self._vocabulary
            )
            if known:
                numbers, times = (np.array(column) for column in zip(*known, strict=True))
                weights = (1 + np.log(times)) * self._idf[numbers]
                # einsum adds in one order; a matrix product would ask the BLAS, which has another on every machine.
                rows[i] = np.einsum("t,td->d", weights / np.linalg.norm(weights), self._terms[numbers])
        return rows


def _fit(texts: Sequence[str], dim: int, seed: int, folder: Path) -> None:
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from threadpoolctl import threadpool_limits

    tf_idf = TfidfVectorizer(analyzer=identifiers, sublinear_tf=True, min_df=LEAST_FILES)
    try:
        weights = tf_idf.fit_transform(texts)
    except ValueError as error:
        raise EmbeddingError(
            f"lsa cannot be fitted on {len(texts)} files ({error}); take more of the benchmark"
        ) from error
    rank = min(dim, *(size - 1 for size in weights.shape))
    if rank < 1:
        raise EmbeddingError(f"lsa cannot be fitted on {len(texts)} files; take more of the benchmark")
    # One thread: how many there are must not decide the last bits.
    with threadpool_limits(1):
        svd = TruncatedSVD(rank, random_state=seed, n_iter=10).fit(weights)
    (folder / "vocabulary.json").write_text(json.dumps(tf_idf.get_feature_names_out().tolist()), encoding="utf-8")
    np.save(folder / "idf.npy", tf_idf.idf_, allow_pickle=False)
    np.save(folder / "terms.npy", np.ascontiguousarray(svd.components_.T), allow_pickle=False)


def _version() -> str:
    from importlib.metadata import version

    return version("scikit-learn")
