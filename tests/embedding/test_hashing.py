"""The embedder that reads texts whole: hashing."""

import subprocess
import sys

import numpy as np
import pytest

from repoeval_bench.embedding.choice import find_encoder
from repoeval_bench.embedding.hashing import HashEncoder

TEXTS = [
    *("def put(shelf, count): return shelf", "", "???", "count shelf put", "class OutOfStock(ValueError): pass"),
    "\ud800",
]


def encode(encoder, texts):
    tokens = encoder.count_tokens(texts, "document")
    parts = list(encoder.encode_batches(texts, "document", tokens))
    rows = np.zeros((len(texts), parts[0][1].shape[1]), dtype=np.float32)
    for positions, vectors in parts:
        rows[positions] = vectors
    return rows


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return find_encoder("hash:dim=64")


def test_rows_are_unit_vectors_that_depend_on_their_text_alone(encoder):
    rows = encode(encoder, TEXTS)
    assert rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-6)
    assert np.array_equal(encode(encoder, TEXTS * 100)[: len(TEXTS)], rows)
    for i, text in enumerate(TEXTS):
        assert np.array_equal(encode(encoder, [text])[0], rows[i])


def test_a_text_without_a_known_term_is_orthogonal_to_every_other(encoder):
    rows = encode(encoder, ["", "def put(shelf, count): return shelf", "  \n"])
    assert rows[0] @ rows[1] == 0
    assert np.array_equal(rows[0], rows[2])


def test_nothing_is_truncated_and_terms_are_counted(encoder):
    """No limit; a longer text has more terms."""
    assert encoder.limit is None
    short, long = encoder.count_tokens(["put count", "put count " * 5000], "document")
    assert 0 < short < long


def test_hashing_is_the_same_in_every_process():
    """No hash of Python's own is in it: another process has the same bytes; another seed others."""
    code = "from repoeval_bench.embedding.hashing import HashEncoder as H; print(H('hash', dim=16, seed=0).rows(['a b'], 'query').tobytes().hex())"
    in_another_process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()
    here, other = (HashEncoder("hash", dim=16, seed=seed).rows(["a b"], "query").tobytes().hex() for seed in (0, 1))
    assert in_another_process == here != other
