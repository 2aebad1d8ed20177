"""A grid's work is shared: between processes, and every distinct text is embedded once; `make` names its options."""

import pytest

from end_to_end.test_make import called, checkout, variables
from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.embedding.cache import CachedEmbedder
from repoeval_bench.embedding.storage import VectorCache
from repoeval_bench.plugins.lab.grid import Grid, GridRequest
from repoeval_bench.plugins.lab.sensitivity import sensitivity
from repoeval_bench.runs.executors import IN_PROCESS, ProcessPool
from support.encoders import CountingEncoder

CHUNKERS = ["ast:max_nws=400", "fixed:max_nws=400", "chonkie:chunk_size=600"]

__all__ = ["checkout"]


class Counted(ProcessPool):
    """A pool that knows how many jobs it was given at once."""

    def __init__(self):
        super().__init__(2)
        self.jobs = []

    def map(self, jobs):
        self.jobs.append(len(jobs))
        return super().map(jobs)


@pytest.fixture
def large(monkeypatch):
    """As if the mini benchmark were worth a pool."""
    monkeypatch.setattr("repoeval_bench.runs.planning.LARGE", 0)


def test_a_grid_of_two_processes_has_the_cells_of_one(benchmark, large, warm_home, notices):
    """Every chunker is cut once and scored once, in one of the two; the cells are the same to the last digit."""
    settings = {"protocols": ["context", "code-chunk"], "queries": ["full", "tail:20"], "retrievers": ["bm25", "dense"]}
    settings |= {"relevances": ["overlap", "iou:0.2"], "measures": ["ndcg@10", "line_recall_auc"]}
    settings |= {"placebo": 2, "embedder": "hash", "home": warm_home}
    with Counted() as pool:
        shared = sensitivity(benchmark, CHUNKERS, **settings, executor=pool)
    scored = [line for line in notices if line.startswith("scored ")]
    *matching, cut, scored_later = pool.jobs
    assert (matching, cut, scored_later) == ([2, 2], len(scored), len(scored))
    assert len(scored) > 4
    with Counted() as pool:
        again = sensitivity(benchmark, CHUNKERS, **settings, executor=pool)
    assert pool.jobs == [2, 2, len(scored), 0]  # every vector is there: each is scored where it is cut
    alone = sensitivity(benchmark, CHUNKERS, **settings)
    assert again == shared
    assert [grid.as_dict() for grid in shared] == [run.as_dict() for run in alone]


def test_of_some_protocols_a_chunker_has_those_cells_alone(benchmark, warm_home):
    """As the sizes that are matched for them: with the scores that it has beside all others."""
    request = GridRequest(protocols=("context", "code-chunk", "body"), retrievers=("bm25",))
    grid = Grid.of(benchmark, request, None, home=warm_home)
    chunker = make_chunker("ast:max_nws=400")
    every, some = grid.score_all([(chunker, None), (chunker, {"code-chunk", "context"})], IN_PROCESS)
    assert list(some) == [cell for cell in every if cell.protocol in {"code-chunk", "context"}]
    assert 0 < len(some) < len(every)
    for cell, scores in some.items():
        assert scores.values.tolist() == every[cell].values.tolist()


def test_a_grid_embeds_every_text_once(benchmark, tmp_path, monkeypatch):
    """Of every chunker, size, offset and query policy."""
    encoder = CountingEncoder(precision="fp32")
    model = CachedEmbedder(encoder, VectorCache(tmp_path / "vectors"))
    monkeypatch.setattr("repoeval_bench.plugins.lab.sensitivity.make_embedder", lambda *_, **__: model)
    options = {"protocols": ("context",), "queries": ("full", "tail:5"), "relevances": ("overlap",)}
    options |= {"retrievers": ("dense",), "measures": ("ndcg@10",), "placebo": 2}
    contests = sensitivity(benchmark, ("ast:max_nws=400", "fixed:max_nws=800"), **options)
    assert len({contest.sizes for contest in contests}) == 2
    assert len(encoder.encoded) == len(set(encoder.encoded)) > 0


def test_every_field_of_a_grids_request_has_a_variable_of_make(checkout):
    """Those that are given arrive; without one, `ast` is the chunker."""
    named = variables([GridRequest])
    _, read = called(checkout, "sensitivity", *(f"{variable}=7" for variable in named.values()))
    assert read.keys() == named.keys()
    assert called(checkout, "sensitivity")[1] == {"chunkers": ["ast"]}
