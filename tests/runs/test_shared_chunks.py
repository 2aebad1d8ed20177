"""Several settings over the same files: one chunker's runs in one job, the same as each made alone."""

import shutil

import pytest

from repoeval_bench.runs import planning, store
from repoeval_bench.runs.executors import ProcessPool
from repoeval_bench.runs.request import RunRequest
from repoeval_bench.runs.runner import Runner, evaluate
from repoeval_bench.runs.view import RunView

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


def test_an_interrupted_evaluation_makes_what_is_missing(settings, tmp_path, monkeypatch):
    """Runs that are there are taken as they are, whichever chunker and setting they are of."""
    benchmark, asked = settings
    first = made(benchmark, asked, CHUNKERS[:1], tmp_path)
    shutil.rmtree(first[1][0].folder)
    # Runs are taken from this very code only; a checkout that was changed has none.
    monkeypatch.setattr(
        "repoeval_bench.runs.results.current_run", lambda folder: RunView(folder) if folder.is_dir() else None
    )
    stored = []
    save = store.save

    def counted(outcome, *args, **options):
        stored.append((outcome.config.chunker, outcome.config.protocol.name))
        return save(outcome, *args, **options)

    monkeypatch.setattr(store, "save", counted)
    runs = made(benchmark, asked, CHUNKERS, tmp_path)
    assert [of_setting[0].run_id for of_setting in runs] == [of_setting[0].run_id for of_setting in first]
    (lost, *others) = stored
    assert lost == (runs[1][0].metrics.chunker, NAMES[1])
    assert others == [(runs[0][1].metrics.chunker, name) for name in NAMES]
