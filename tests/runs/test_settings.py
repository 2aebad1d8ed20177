"""Several settings over the same files: one chunker's runs in one job, the same as each made alone."""

import shutil

import pytest

from repoeval_bench.runs import planning, store
from repoeval_bench.runs.executors import ProcessPool
from repoeval_bench.runs.experiment import evaluate_all
from repoeval_bench.runs.planning import select
from repoeval_bench.runs.request import RunRequest
from repoeval_bench.runs.settings import Setting, evaluate_settings
from repoeval_bench.runs.view import RunView

CHUNKERS = ("fixed:max_nws=400", "ast:max_nws=300")
NAMES = ("body", "linemap", "context+exclusion=body")
FILES = ("run.trec.gz", "qrels.trec", "metrics.json", "per_query.jsonl", "chunks.jsonl.gz", "queries.jsonl.gz")


@pytest.fixture(scope="module")
def settings(benchmark):
    requests = [RunRequest(protocol=name, retriever="bm25", few_gold=True) for name in NAMES]
    return benchmark, [Setting(each, select(benchmark, each.resolved_protocol())) for each in requests]


def content(runs):
    return [(run.run_id, *((run.folder / name).read_bytes() for name in FILES)) for run in runs]


@pytest.mark.parametrize("workers", [1, 2])
def test_runs_are_those_of_each_setting_alone(settings, tmp_path, monkeypatch, workers):
    """To the byte, whoever makes them: chunks that were cut for one setting are those of the next."""
    benchmark, asked = settings
    monkeypatch.setattr("repoeval_bench.runs.experiment.is_large", lambda *_: True)
    with ProcessPool(workers) as pool:
        made = list(evaluate_settings(asked, CHUNKERS, out=tmp_path / "together", executor=pool))
    for position, name in enumerate(NAMES):
        alone = evaluate_all(
            benchmark, CHUNKERS, protocol=name, retriever="bm25", few_gold=True, out=tmp_path / "alone"
        )
        assert content(runs[position] for runs in made) == content(alone)


def test_a_file_is_cut_once_for_all_settings(settings, tmp_path, monkeypatch):
    """Only what a protocol blanks is cut again."""
    _, asked = settings
    cut = []
    build = planning.build_corpus

    def counted(files, chunker, **options):
        cut.append(chunker.spec)
        return build(files, chunker, **options)

    monkeypatch.setattr(planning, "build_corpus", counted)
    list(evaluate_settings(asked, CHUNKERS[1:], out=tmp_path))
    assert sum(spec.startswith("ast") for spec in cut) == 1


def test_an_interrupted_evaluation_makes_what_is_missing(settings, tmp_path, monkeypatch):
    """Runs that are there are taken as they are, whichever chunker and setting they are of."""
    _, asked = settings
    first = list(evaluate_settings(asked, CHUNKERS[:1], out=tmp_path))
    shutil.rmtree(first[0][1].folder)
    # Runs are taken from this very code only; a checkout that was changed has none.
    monkeypatch.setattr(
        "repoeval_bench.runs.run_store.current_run", lambda folder: RunView(folder) if folder.is_dir() else None
    )
    stored = []
    save = store.save

    def counted(outcome, *args, **options):
        stored.append((outcome.config.chunker, outcome.config.protocol.name))
        return save(outcome, *args, **options)

    monkeypatch.setattr(store, "save", counted)
    runs = list(evaluate_settings(asked, CHUNKERS, out=tmp_path))
    assert [run.run_id for run in runs[0]] == [run.run_id for run in first[0]]
    (lost, *others) = stored
    assert lost == (runs[0][1].metrics.chunker, NAMES[1])
    assert others == [(runs[1][0].metrics.chunker, name) for name in NAMES]
