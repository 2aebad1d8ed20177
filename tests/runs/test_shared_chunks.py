"""Several settings over the same files: one chunker's runs in one job, the same as each made alone."""

from types import SimpleNamespace

import pytest

from repoeval_bench.chunkers._adapters import chunks_of
from repoeval_bench.core.errors import ChunkError
from repoeval_bench.core.source import Chunk, SourceFile
from repoeval_bench.core.spans import CharSpan, LineSpan
from repoeval_bench.protocols.protocol import Protocol
from repoeval_bench.retrieval import corpus
from repoeval_bench.runs.executors import ProcessPool
from repoeval_bench.runs.planning import Setting, make_plan
from repoeval_bench.runs.request import RunRequest
from repoeval_bench.runs.results import Results
from repoeval_bench.runs.runner import Runner, make_runs
from support import written
from support.folders import content
from support.runs import make_together

CHUNKERS = ("fixed:max_nws=400", "ast:max_nws=300")
NAMES = ("body", "code-chunk", "context+exclusion=body", "context+exclusion=body+query=tail:3")


@pytest.fixture(scope="module")
def settings(benchmark):
    return benchmark, [
        RunRequest(protocol=name, retriever="hybrid", embedder="hash", allow_sparse_qrels=True) for name in NAMES
    ]


def runs_of(benchmark, settings, chunkers, out, **options):
    """For each setting the runs of the chunkers."""
    requests = [item.model_copy(update={"chunker": spec}) for item in settings for spec in chunkers]
    runner = Runner(requests, benchmark=benchmark, out=out, **options)
    return [runner.run(setting) for setting in runner.settings]


@pytest.fixture(scope="module")
def alone(settings, tmp_path_factory):
    """The folder of the runs of each setting alone, and their ids by setting."""
    benchmark, of_settings = settings
    folder = tmp_path_factory.mktemp("alone")
    by_setting = [runs_of(benchmark, [request], CHUNKERS, folder)[0] for request in of_settings]
    return folder, [[run.run_id for run in runs] for runs in by_setting]


@pytest.mark.parametrize("workers", [1, 2])
def test_runs_are_those_of_each_setting_alone(settings, alone, tmp_path, workers):
    """To the byte, by vectors too, whoever makes them: chunks that were cut for one setting are those of the next."""
    benchmark, of_settings = settings
    with ProcessPool(workers) as pool:
        together = runs_of(benchmark, of_settings, CHUNKERS, tmp_path, executor=pool)
    assert [[run.run_id for run in runs] for runs in together] == alone[1]
    assert content(tmp_path) == content(alone[0])


def test_a_text_is_cut_once_for_all_settings(settings, tmp_path, monkeypatch):
    """Each file, and each task's file with its lines blanked, though two of the protocols blank them."""
    benchmark, requests = settings
    assert sum(request.resolved_protocol().blanks for request in requests) == 2
    cut = []

    def counted(file, chunker):
        if chunker.spec.startswith("ast"):
            cut.append((file.name, file.text))
        return chunks_of(file, chunker)

    monkeypatch.setattr(corpus, "chunks_of", counted)
    runs_of(benchmark, requests, CHUNKERS[1:], tmp_path)
    assert len(cut) == len(set(cut)) > len(benchmark.tasks)


class OnlyThese:
    """One chunk a file, of these texts alone."""

    spec = "only-these"

    def __init__(self, texts):
        self.texts = texts

    def chunk(self, file):
        if file.text not in self.texts:
            raise ValueError("another text")
        return whole_file(file)


def test_a_chunker_that_fails_on_blanked_files_has_the_other_runs(benchmark, tmp_path):
    """The protocol that blanks nothing comes first, and its chunks are wanted for the other one too."""
    chunker = OnlyThese({file.text for files in benchmark.files.values() for file in files})
    settings = [
        Setting(request=RunRequest(protocol=name, retriever="bm25"), selected=benchmark, embedder=None)
        for name in ("context", "context+exclusion=body")
    ]
    ((runs, failed),) = make_runs(settings, [chunker], Results(tmp_path), reuse=False)
    assert [run.metrics.protocol for run in runs.values()] == ["context"]
    assert [type(error) for error in failed.values()] == [ChunkError]


def test_a_task_whose_own_text_fails_is_counted_beside_one_whose_text_does_not():
    """With `skip_errors`; each file once, whichever of its tasks comes last."""
    source = SourceFile("r", "p.py", "a = 1\nb = 2\nc = 3\n")

    def chunk(file):
        assert file.text.startswith("a")
        return whole_file(file)

    tasks = tuple(written.task(task_id=f"r/{line}", body=LineSpan(line, line + 1)) for line in (0, 1))
    for order in (tasks, tasks[::-1]):
        selected = written.benchmark({"r": (source,)}, order)
        chunker = SimpleNamespace(spec="odd", chunk=chunk)
        plan, _ = make_plan(selected, Protocol.parse("context+exclusion=body"), (), chunker, skip_errors=True)
        assert len(plan.corpus.skipped) == 1
        assert {task_id: len(chunks) for task_id, chunks in plan.corpus.own.items()} == {"r/0": 0, "r/1": 1}


def whole_file(file):
    return [Chunk.cut(file, CharSpan(0, len(file.text)))] if file.text.strip() else []


def test_small_data_and_other_peoples_chunkers_stay_in_this_process(settings, monkeypatch, tmp_path):
    """A pool is not started for a mini benchmark, and a program is not run by several processes at once."""
    benchmark, of_settings = settings
    with ProcessPool(2) as pool:
        runs_of(benchmark, of_settings, CHUNKERS, tmp_path, executor=pool)
        monkeypatch.setattr("repoeval_bench.runs.planning.LARGE", 0)
        list(make_together(benchmark, ["fixed", whole_file], tmp_path, retriever="bm25", executor=pool))
        assert not pool.is_started
