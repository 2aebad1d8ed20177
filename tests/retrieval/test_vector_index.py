"""Exact search: what a brute-force product gives, whatever the size of the index, of the batch and of the machine."""

import os
import subprocess
import sys

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from repoeval_bench.core.run import Query
from repoeval_bench.retrieval import vector_index
from repoeval_bench.retrieval.dense import DenseRetriever
from repoeval_bench.retrieval.ranking import rank
from repoeval_bench.retrieval.vector_index import SMALL, VectorIndex, stack
from support.written import whole

DIM = 48


def unit(rows):
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def random_vectors(n, seed=0, *, tied=False):
    """Unit rows; `tied` makes a third of them copies of others, and some differ from others by about 1e-6."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, DIM))
    if tied:
        rows[n // 3 : 2 * n // 3] = rows[: 2 * n // 3 - n // 3]
        rows[-n // 10 :] = rows[: len(rows[-n // 10 :])] + 1e-6 * rng.standard_normal((len(rows[-n // 10 :]), DIM))
    return unit(rows)


def ranked(rows, k):
    return [rank(((f"{item:07d}", score) for item, score in zip(*row, strict=True)), k) for row in rows]


def brute(rows, vectors, k):
    scores = rows.astype(np.float64) @ vectors.astype(np.float64).T
    return [rank(((f"{item:07d}", score) for item, score in enumerate(column)), k) for column in scores.T]


@pytest.mark.parametrize("n", [1, 7, 300, SMALL, SMALL + 500])
@pytest.mark.parametrize(("k", "tied"), [(1, False), (100, True)])
def test_the_best_are_those_of_a_brute_force_product(n, k, tied):
    """Same items and same rounded scores at every rank, ties and near-ties included, also where there are fewer than k."""
    rows, vectors = random_vectors(n, tied=tied), random_vectors(12, seed=1)
    assert ranked(VectorIndex(rows).search(vectors, k), k) == brute(rows, vectors, k)


def test_many_equal_rows_at_the_cut():
    """Where hundreds of rows tie for the last place, all are found, so that ids decide and not faiss."""
    rows = random_vectors(SMALL + 500)
    rows[100:1500] = rows[100]
    vectors = rows[100:101]
    assert ranked(VectorIndex(rows).search(vectors, 20), 20) == brute(rows, vectors, 20)


@pytest.mark.parametrize("n", [500, SMALL + 1000])
def test_a_score_depends_on_the_pair_alone(n):
    """Alone or among others, with one thread or several: the same items and scores, to the last bit."""
    rows, vectors = random_vectors(n, tied=True), random_vectors(40, seed=2)
    index = VectorIndex(rows)
    together = [sorted(zip(*map(np.ndarray.tolist, row), strict=True)) for row in index.search(vectors, 15)]
    with threadpool_limits(1):
        for vector, expected in zip(vectors, together, strict=True):
            ((items, scores),) = index.search(vector[np.newaxis], 15)
            result = dict(zip(items.tolist(), scores.tolist(), strict=True))
            best = sorted(expected, key=lambda pair: -pair[1])[:15]
            assert all(result[item] == score for item, score in best)


def test_batches_are_stacked_without_a_second_copy():
    """The rows are in the order of the batches; no batch, no rows."""
    rows = random_vectors(1000)
    assert np.array_equal(stack(rows[i : i + 300] for i in range(0, 1000, 300)), rows)
    assert stack([]).shape == (0, 0)


class Table:
    """An embedder whose vectors are given by hand."""

    def __init__(self, vectors):
        self.vectors = vectors

    def encode(self, texts, role):
        return unit(np.array([self.vectors[text] for text in texts], dtype=float))


def test_dense_scores_the_cosine_of_what_a_query_sees():
    """Its own chunks among the others, without excluded ones."""
    table = Table({"q": [1, 0, 0], "a": [1, 1, 0], "b": [1, 0, 0.2], "own": [1, 0, 0]})
    a, b, own = whole("a", "a.py"), whole("b", "b.py"), whole("own", "own.py")
    query = Query("t", "r", "q")
    run = DenseRetriever({"r": [a, b]}, table, {"t": [own]}).search([query], 5)
    of_b = pytest.approx(1 / np.sqrt(1.04), abs=1e-5)
    assert run.rankings["t"] == ((own.chunk_id, 1.0), (b.chunk_id, of_b), (a.chunk_id, 0.70711))
    run = DenseRetriever({"r": [a, b]}, table).search([query], 1, {"t": frozenset({b.chunk_id})})
    assert [name for name, _ in run.rankings["t"]] == [a.chunk_id]
    assert DenseRetriever({"r": []}, table).search([query], 5).rankings["t"] == ()


def test_results_do_not_depend_on_how_many_queries_are_asked(monkeypatch):
    monkeypatch.setattr(vector_index, "SMALL", 10)
    rows, query_rows = random_vectors(50, seed=7, tied=True), random_vectors(9, seed=8)
    table = Table({f"c{i}": row for i, row in enumerate(rows)} | {f"q{i}": row for i, row in enumerate(query_rows)})
    retriever = DenseRetriever({"r": [whole(f"c{i}", f"c{i}.py") for i in range(50)]}, table)
    queries = [Query(f"q{i}", "r", f"q{i}") for i in range(9)]
    together = retriever.search(queries, 7).rankings
    backwards = retriever.search(queries[::-1], 7).rankings
    alone = {query.query_id: retriever.search([query], 7).rankings[query.query_id] for query in queries}
    assert together == backwards == alone


def test_faiss_multiplies_as_the_processor_can():
    """faiss's OpenBLAS is not left to take a recent processor for an old one, where numpy's OpenBLAS knows it."""
    code = """
import os, threadpoolctl
from repoeval_bench.retrieval import vector_index

def cores():
    return {info["filepath"]: info["architecture"] for info in threadpoolctl.threadpool_info() if "architecture" in info}

before = cores()
vector_index._faiss()
after = [core for path, core in cores().items() if path not in before]
print(*before.values(), *after, os.environ.get("OPENBLAS_CORETYPE"), sep=",")
"""
    # A processor that the environment names is the user's choice, and kept: here none is named.
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    numpys, *faisss, left = done.stdout.strip().split(",")
    if numpys not in vector_index._CORES or not faisss:
        pytest.skip(f"numpy's OpenBLAS is for {numpys!r}, faiss's for {faisss}")
    assert faisss == [vector_index._CORES[numpys]]
    assert left == "None"
