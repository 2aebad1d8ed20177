"""Chunkers that work side by side, in processes of a pool, give what one process gives."""

import pytest

from repoeval_bench.core.source import Chunk
from repoeval_bench.core.spans import CharSpan
from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.runs.executors import ProcessPool
from repoeval_bench.runs.parts import make_embedder
from support.folders import content
from support.runs import make_together

CHUNKERS = ["ast:max_nws=400", "fixed:max_nws=400", "chonkie:chunk_size=600"]


class Counted(ProcessPool):
    """A pool that knows how many jobs it was given at once."""

    def __init__(self):
        super().__init__(2)
        self.jobs = []

    def map(self, jobs):
        self.jobs.append(len(jobs))
        return super().map(jobs)


@pytest.fixture
def benchmark(mirror, warm_home):
    return load_benchmark(mirror, home=warm_home)


@pytest.fixture
def large(monkeypatch):
    """As if the mini benchmark were worth a pool."""
    monkeypatch.setattr("repoeval_bench.runs.planning.LARGE", 0)


def test_two_processes_write_what_one_writes(benchmark, large, warm_home, tmp_path):
    """The same bytes in every file but the times, in the order that was asked for; vectors and BM25."""
    options = {"embedder": make_embedder("minilm", home=warm_home), "home": warm_home}
    options |= {"protocol": "linemap", "retriever": "hybrid"}
    with Counted() as pool:
        shared = list(make_together(benchmark, CHUNKERS, tmp_path / "shared", executor=pool, **options))
    assert pool.jobs == [3, 3]
    alone = list(make_together(benchmark, CHUNKERS, tmp_path / "alone", **options))
    assert [run.run_id for run in shared] == [run.run_id for run in alone]
    assert content(tmp_path / "shared") == content(tmp_path / "alone")
    assert len(content(tmp_path / "shared")) >= 24


def whole_file(file):
    return [Chunk.cut(file, CharSpan(0, len(file.text)))] if file.text.strip() else []


def test_small_data_and_other_peoples_chunkers_stay_in_this_process(benchmark, monkeypatch, tmp_path):
    """A pool is not started for a mini benchmark, and a program is not run by several processes at once."""
    with Counted() as pool:
        list(make_together(benchmark, CHUNKERS, tmp_path, retriever="bm25", executor=pool))
        monkeypatch.setattr("repoeval_bench.runs.planning.LARGE", 0)
        list(make_together(benchmark, ["fixed", whole_file], tmp_path, retriever="bm25", executor=pool))
    assert pool.jobs == []
