"""The real data: every figure that the docs claim of it. Found through REPOEVAL_SOURCE only."""

from pathlib import Path

import pytest
from build_index import build_index

from repoeval_bench.dataset import index
from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.dataset.repoeval import TaskSet

pytestmark = pytest.mark.full_data


def test_all_tasks_and_files_load(real_source):
    benchmark = load_benchmark(real_source)
    assert benchmark.is_whole
    assert benchmark.name == "repoeval-function-2k-codex"
    assert benchmark.undecodable == ()
    assert sum(map(len, benchmark.files.values())) == 441
    assert sorted({task.task_id for task in benchmark.tasks}) == sorted(task.task_id for task in benchmark.tasks)
    counts = {repo: sum(task.repo == repo for task in benchmark.tasks) for repo in benchmark.files}
    assert counts == {repo: fact.tasks for repo, fact in index.repositories().items()}


@pytest.mark.parametrize("context", ["2k", "4k"])
def test_the_coordinates_give_the_prompts_and_ground_truths(real_source, context):
    benchmark = load_benchmark(real_source, context=context)
    files = {(file.repo, file.path): file for result in benchmark.files.values() for file in result}
    places = {place.task.task_id: place for place in index.coordinates(TaskSet("function", context, "codex"))}
    exact = 0
    for task in benchmark.tasks:
        place = places[task.task_id]
        file = files[task.repo, task.path]
        assert file.line_text(place.task.body) == task.ground_truth
        if place.prompt is not None:
            exact += 1
            assert file.slice(place.prompt) == task.prompt
    assert exact == {"2k": 452, "4k": 451}[context]


def test_the_script_writes_the_index_that_is_shipped(real_source, tmp_path):
    if not Path(real_source).is_dir():
        pytest.skip("the index is built from a folder; REPOEVAL_SOURCE is an address")
    written = build_index(Path(real_source), tmp_path)
    assert len(written) == 4
    for path in written:
        assert path.read_text(encoding="utf-8") == index.read_text(path.name)
        assert path.stat().st_size < 300_000
