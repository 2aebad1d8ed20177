"""Several settings over the same files: one chunker's runs in one job, the same as each made alone."""

import pytest

from repoeval_bench.runs import planning
from repoeval_bench.runs.executors import ProcessPool
from repoeval_bench.runs.request import RunRequest
from repoeval_bench.runs.runner import Runner, evaluate

CHUNKERS = ("fixed:max_nws=400", "ast:max_nws=300")
NAMES = ("body", "linemap", "context+exclusion=body")
FILES = ("qrels.trec.gz", "metrics.json", "per_query.jsonl.gz", "chunks.jsonl.gz", "queries.jsonl.gz")


@pytest.fixture(scope="module")
def settings(benchmark):
    return benchmark, [RunRequest(protocol=name, retriever="bm25", few_gold=True) for name in NAMES]


def made(benchmark, settings, chunkers, out, **options):
    """For each setting the runs of the chunkers."""
    requests = [each.model_copy(update={"chunker": spec}) for each in settings for spec in chunkers]
    runner = Runner(requests, benchmark=benchmark, out=out, **options)
    return [runner.run(setting) for setting in runner.settings]


def content(runs):
    return [(run.run_id, *((run.folder / name).read_bytes() for name in FILES)) for run in runs]


@pytest.mark.parametrize("workers", [1, 2])
def test_runs_are_those_of_each_setting_alone(settings, tmp_path, monkeypatch, workers):
    """To the byte, whoever makes them: chunks that were cut for one setting are those of the next."""
    benchmark, asked = settings
    monkeypatch.setattr("repoeval_bench.runs.runner.is_large", lambda *_: True)
    with ProcessPool(workers) as pool:
        together = made(benchmark, asked, CHUNKERS, tmp_path / "together", executor=pool)
    for name, runs in zip(NAMES, together, strict=True):
        asked = {"protocol": name, "retriever": "bm25", "few_gold": True, "out": tmp_path / "alone"}
        alone = [evaluate(benchmark, chunker, **asked) for chunker in CHUNKERS]
        assert content(runs) == content(alone)


def test_a_file_is_cut_once_for_all_settings(settings, tmp_path, monkeypatch):
    """Only what a protocol blanks is cut again."""
    benchmark, asked = settings
    cut = []
    build = planning.build_corpus

    def counted(files, chunker, **options):
        cut.append(chunker.spec)
        return build(files, chunker, **options)

    monkeypatch.setattr(planning, "build_corpus", counted)
    made(benchmark, asked, CHUNKERS[1:], tmp_path)
    assert sum(spec.startswith("ast") for spec in cut) == 1
