"""A run over a part of the data: its fingerprint covers what that of the whole does, and it is found again."""

from dataclasses import replace

import pytest

from repoeval_bench.analysis.recommendation import recommend
from repoeval_bench.analysis.verification import verify
from repoeval_bench.dataset.build.pack import BuildRequest, build_pack
from repoeval_bench.dataset.build.sampling import part_of
from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.protocols.protocol import Protocol
from repoeval_bench.runs.planning import select

N_FILES = 6
USES = Protocol.parse("uses")
ASKED = {"chunkers": ("fixed", "ast"), "sizes": (200,), "retrievers": ("bm25",)}


def _module(repo, number):
    """Four functions; two use a function of another file and have a docstring that asks, one has a short one."""
    helper = f"helper_{number}"
    asking = [
        f'def {repo}_{number}_{i}(value):\n    """Bring value {number}{i} of {repo} into its order."""\n'
        f"    found = {helper}(value, {i})\n    other = rate_{number}(found)\n    return [found, other, {number}{i}]\n"
        for i in range(2)
    ]
    short = f'def {repo}_{number}_short(value):\n    """Short."""\n    total = value + {number}\n    total *= 3\n    return total\n'
    return "\n\n".join([f"from helpers import {helper}, rate_{number}\n", *asking, short])


def _helpers():
    return "\n\n".join(
        f"def helper_{n}(value, i):\n    kept = value * {n} + i\n    return kept\n\n\n"
        f"def rate_{n}(found):\n    rated = found - {n}\n    return rated\n"
        for n in range(N_FILES)
    )


@pytest.fixture(scope="module")
def pack(tmp_path_factory):
    """A pack of two repositories, and its folder."""
    root = tmp_path_factory.mktemp("parts")
    for repo in ("alpha", "beta"):
        (root / repo).mkdir()
        (root / repo / "helpers.py").write_text(_helpers())
        for number in range(N_FILES):
            (root / repo / f"m_{number}.py").write_text(_module(repo, number))
    return build_pack(BuildRequest(sources=(str(root / "alpha"), str(root / "beta"))), root / "pack").root


@pytest.fixture(scope="module")
def benchmark(pack):
    return load_benchmark(pack)


def _fewer_uses(benchmark, task_id):
    """The benchmark with one definition less that a task uses."""
    tasks = tuple(replace(task, uses=task.uses[:1]) if task.task_id == task_id else task for task in benchmark.tasks)
    return replace(benchmark, tasks=tasks)


def test_the_fingerprint_of_a_sample_covers_what_its_tasks_use(benchmark):
    """Other gold is another fingerprint, and selecting again changes nothing."""
    sample = part_of(select(benchmark, USES), 8)
    task = next(task for task in sample.tasks if len(task.uses) > 1)
    other = part_of(select(_fewer_uses(benchmark, task.task_id), USES), 8)
    assert [each.task_id for each in other.tasks] == [each.task_id for each in sample.tasks]
    assert other.fingerprint != sample.fingerprint
    assert select(sample, USES) == sample


def test_a_sample_of_tasks_that_are_no_uses_has_the_fingerprint_of_its_tasks(benchmark):
    """What tasks use is no gold of `body`: there it changes nothing."""
    body = Protocol.parse("body")
    sample = part_of(select(benchmark, body), 8)
    task = next(task for task in sample.tasks if len(task.uses) > 1)
    assert part_of(select(_fewer_uses(benchmark, task.task_id), body), 8).fingerprint == sample.fingerprint


def test_other_gold_makes_other_runs(benchmark, tmp_path):
    """`recommend` takes no stored run of other gold."""
    first = recommend(benchmark, protocols=("uses",), tasks=8, out=tmp_path, **ASKED)
    task = next(task for task in part_of(select(benchmark, USES), 8).tasks if len(task.uses) > 1)
    second = recommend(_fewer_uses(benchmark, task.task_id), protocols=("uses",), tasks=8, out=tmp_path, **ASKED)
    assert not set(first.runs) & set(second.runs)


def test_a_sampled_run_is_found_again(benchmark, pack, tmp_path):
    """Under every kind of gold."""
    found = recommend(benchmark, protocols=("uses", "docstring", "body"), tasks=8, out=tmp_path, **ASKED)
    assert len(found.runs) == 6
    for folder in found.runs:
        assert verify(folder, str(pack)).differences == ()
