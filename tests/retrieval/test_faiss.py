"""Exact search against faiss."""

import faiss
import numpy as np

from repoeval_bench.retrieval.vector_index import SMALL, VectorIndex


def test_the_best_are_those_of_a_flat_index():
    """In an index of more than one block: the same rows as IndexFlatIP, and its scores up to single precision."""
    rng = np.random.default_rng(11)
    rows, vectors = (rng.standard_normal((n, 32), dtype=np.float32) for n in (4 * SMALL, 700))
    for made in (rows, vectors):
        made /= np.linalg.norm(made, axis=1, keepdims=True)
    flat = faiss.IndexFlatIP(32)
    flat.add(rows)
    near, expected = flat.search(vectors, 20)
    for found, scores, same in zip(VectorIndex(rows).search(vectors, 20), near, expected, strict=True):
        items, ours = found
        best = np.argsort(-ours)[:20]
        assert np.allclose(ours[best], scores, atol=1e-6)
        assert set(items[ours > scores[-1] + 1e-5]) == set(same[scores > scores[-1] + 1e-5])
