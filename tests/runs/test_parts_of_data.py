"""A run over a part of the data: its fingerprint covers what that of the whole does, and it is found again."""

import re
from dataclasses import replace

import pytest

from repoeval_bench.api.stored_runs import verify
from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.dataset.reading.sampling import part_of
from repoeval_bench.own.packs.pack import build_pack
from repoeval_bench.own.packs.request import BuildRequest
from repoeval_bench.own.recommend.recommendation import recommend
from repoeval_bench.protocols.protocol import Protocol
from repoeval_bench.report.run_command import run_command
from repoeval_bench.runs.naming import find_runs
from repoeval_bench.runs.planning import select
from repoeval_bench.runs.runner import evaluate
from support.codebase import write_files

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
        modules = {f"m_{number}.py": _module(repo, number) for number in range(N_FILES)}
        write_files(root / repo, {"helpers.py": _helpers(), **modules})
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
    assert [item.task_id for item in other.tasks] == [element.task_id for element in sample.tasks]
    assert other.fingerprint != sample.fingerprint
    assert select(sample, USES) == sample


def test_a_sample_of_tasks_that_are_not_uses_has_the_fingerprint_of_its_tasks(benchmark):
    """What tasks use is not gold of `body`: there it changes nothing."""
    body = Protocol.parse("body")
    sample = part_of(select(benchmark, body), 8)
    task = next(task for task in sample.tasks if len(task.uses) > 1)
    assert part_of(select(_fewer_uses(benchmark, task.task_id), body), 8).fingerprint == sample.fingerprint


def test_a_sampled_run_says_what_it_was_drawn_from_and_is_found_again(benchmark, pack, tmp_path):
    """Under every kind of gold; what is not scored and what was not drawn make up the others."""
    result = recommend(benchmark, protocols=("uses", "docstring", "body"), tasks=8, out=tmp_path, **ASKED)
    assert len(result.runs) == 6
    for run in find_runs(result.runs, tmp_path):
        dataset, counts = run.manifest.dataset, run.manifest.counts
        sample = dataset.part.sample
        assert (dataset.tasks, sample.most, sample.seed) == (8, 8, 0)
        whole = re.search(rf"8 of (\d+) (?:tasks|queries) \(drawn (?:from {sample.of},|with) seed 0\)", dataset.label)[
            1
        ]
        if run.metrics.protocol != "docstring":  # its unscored functions are not tasks
            assert int(whole) == sample.of + counts.tasks_unscored
        assert verify(run, str(pack)).differences == ()


PARTS = ({}, {"repos": ("beta",)}, {"limit": 14}, {"limit": 500}, {"repos": ("beta",), "limit": 7})


def _evaluated(pack, protocol, part, out, retriever="bm25"):
    benchmark = load_benchmark(pack, **part)
    return evaluate(benchmark, "fixed:max_nws=200", protocol=protocol, retriever=retriever, out=out)


@pytest.mark.parametrize("part", PARTS, ids=str)
@pytest.mark.parametrize("protocol", ["body", "uses", "docstring"])
def test_a_part_is_found_again(pack, tmp_path, protocol, part):
    """What was asked of the data is stored."""
    run = _evaluated(pack, protocol, part, tmp_path)
    stored = run.manifest.dataset.part
    named = {"repositories": [*part["repos"]]} if "repos" in part else {}
    assert (stored.as_json() if stored else {}) == named | {name: part[name] for name in part.keys() & {"limit"}}
    assert verify(run, str(pack)).differences == ()


def test_the_command_of_a_run_asks_for_the_same_part(benchmark, pack, tmp_path):
    """Of a sample, which `eval` does not draw, that of `recommend`."""
    run = _evaluated(pack, "uses", {"repos": ("beta",), "limit": 7}, tmp_path)
    assert " --repos beta --limit 7  # and --source" in run_command(run)
    whole = _evaluated(pack, "uses", {}, tmp_path)
    assert "--limit" not in run_command(whole)
    result = recommend(benchmark, protocols=("uses",), tasks=8, out=tmp_path / "sampled", **ASKED)
    drawn = "recommend SOURCE --tasks 8 --protocol uses --retriever bm25"
    assert drawn in run_command(*find_runs(result.runs[:1], tmp_path / "sampled"))
