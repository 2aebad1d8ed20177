"""Tests as judges of completions: which of them cover a hole, whether they can tell right from wrong, who passes.

A task counts only if the tests that run through its hole pass with the ground truth and do not with a `raise` in its
place. All others are left out and counted by reason.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel

from repoeval_bench.core.errors import CacheError, CompletionError, UsageError, os_errors_as
from repoeval_bench.core.files import sha256_file
from repoeval_bench.core.json_reader import JsonFaultError, parse
from repoeval_bench.core.progress import progress
from repoeval_bench.embedding.storage import VectorCache, key_prefix, text_key
from repoeval_bench.runs.completion import sandboxed
from repoeval_bench.runs.completion.ending import indentation
from repoeval_bench.runs.completion.sandbox import Job, Sandbox

if TYPE_CHECKING:
    from repoeval_bench.core.benchmark import Benchmark, Task

NO_TESTS = "no test of its repository can be run"
UNCOVERED = "no test that passes runs through the hole"
TRUTH_FAILS = "the ground truth fails"
RAISE_PASSES = "a raise passes"

SUITE = 10
"""The whole of a repository's tests may take so many times as long as those of one hole."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """What the tests say before any model writes.

    `tests` is task_id -> the ids of the tests that judge it, of the tasks that count. `left_out` is reason -> tasks,
    `environment` repository -> Python and its packages, `suites` repository -> (tests that pass, all its tests).
    """

    tests: Mapping[str, tuple[str, ...]]
    left_out: Mapping[str, int]
    suites: Mapping[str, tuple[int, int]]
    environment: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """The tests of repositories in a sandbox; `folders` is repository -> its folder, `jobs` run side by side.

    Results are cached by everything that decides them: sandbox, Python and its packages, the repository's files, the
    text in the hole and the time limit. A repository's whole tests are run once by each judge, to know the packages.
    """

    sandbox: Sandbox
    folders: Mapping[str, Path]
    seconds: float
    jobs: int
    cache: VectorCache
    _baselines: dict[str, Baseline] = field(default_factory=dict, repr=False, compare=False)

    def baseline(self, tasks: Sequence[Task]) -> Baseline:
        """Which tasks count, and by which tests; a CompletionError where a repository's tests cannot be run.

        Found once for the same tasks.
        """
        key = json.dumps([task.task_id for task in tasks])
        if key not in self._baselines:
            self._baselines[key] = self._baseline(tasks)
        return self._baselines[key]

    def _baseline(self, tasks: Sequence[Task]) -> Baseline:
        covering: dict[str, tuple[str, ...]] = {}
        environment: dict[str, tuple[str, ...]] = {}
        suites: dict[str, tuple[int, int]] = {}
        repos = list(dict.fromkeys(task.repo for task in tasks))
        for repo in progress(repos, desc="run all tests", unit="repositories"):
            mine = [task for task in tasks if task.repo == repo]
            watched = tuple((task.path, task.task_id, task.body) for task in mine)
            result = self.sandbox.run(self.folders[repo], Job((), watched=watched), SUITE * self.seconds)
            if result is None:
                raise CompletionError(
                    f"the tests of {repo} take longer than {SUITE * self.seconds:g} seconds; give a longer --time-limit"
                )
            suites[repo] = sum(each == "passed" for each in result.outcomes.values()), len(result.outcomes)
            environment[repo] = tuple(result.environment)
            for task in mine:
                hit = result.covers.get(task.task_id, ())
                covering[task.task_id] = tuple(test for test in hit if result.outcomes[test] == "passed")
        covered = [task for task in tasks if covering[task.task_id]]
        truths = self._passed(covered, {task.task_id: task.ground_truth for task in covered}, covering, environment)
        right = [task for task in covered if truths[task.task_id]]
        wrong = self._passed(right, {task.task_id: _raise(task) for task in right}, covering, environment)
        reasons: Counter[str] = Counter()
        for task in tasks:
            if not suites[task.repo][1]:
                reasons[NO_TESTS] += 1
            elif not covering[task.task_id]:
                reasons[UNCOVERED] += 1
            elif not truths[task.task_id]:
                reasons[TRUTH_FAILS] += 1
            elif wrong[task.task_id]:
                reasons[RAISE_PASSES] += 1
        kept = {task.task_id: covering[task.task_id] for task in right if not wrong[task.task_id]}
        return Baseline(kept, dict(sorted(reasons.items())), suites, environment)

    def passed(self, tasks: Sequence[Task], texts: Mapping[str, str], baseline: Baseline) -> dict[str, bool]:
        """task_id -> whether its tests pass with this text in the hole, of tasks that count."""
        return self._passed(tasks, texts, baseline.tests, baseline.environment)

    def _passed(
        self,
        tasks: Sequence[Task],
        texts: Mapping[str, str],
        tests: Mapping[str, tuple[str, ...]],
        environment: Mapping[str, tuple[str, ...]],
    ) -> dict[str, bool]:
        jobs = {
            task.task_id: Job(tests[task.task_id], replaced=((task.path, task.body, texts[task.task_id]),))
            for task in tasks
        }
        identities = {repo: self._identity(repo, environment[repo]) for repo in {task.repo for task in tasks}}
        keys = {task.task_id: _key(identities[task.repo], jobs[task.task_id]) for task in tasks}
        stored = zip(tasks, self.cache.read(keys.values()), strict=True)
        found = {task.task_id: self._known(value) for task, value in stored if value is not None}
        missing = [task for task in tasks if task.task_id not in found]
        pool = ThreadPoolExecutor(self.jobs)
        try:
            running = {
                pool.submit(self.sandbox.run, self.folders[task.repo], jobs[task.task_id], self.seconds): task
                for task in missing
            }
            for done in progress(as_completed(running), desc="run tests", unit="holes", total=len(running)):
                task, result = running[done], done.result()
                passed = result is not None and result.passed(tests[task.task_id])
                value = json.dumps({"passed": passed, "late": result is None}).encode()
                self.cache.write({keys[task.task_id]: value}, "outcome", identities[task.repo])
                found[task.task_id] = passed
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
        return found

    def _identity(self, repo: str, environment: Sequence[str]) -> str:
        return json.dumps(
            {
                "model": f"the tests of {repo}",
                "sandbox": list(self.sandbox.words),
                "python": self.sandbox.python,
                "environment": list(environment),
                "seconds": self.seconds,
                "sandboxed": sha256_file(Path(sandboxed.__file__)),
                "files": _tree_hash(self.folders[repo]),
            },
            sort_keys=True,
        )

    def _known(self, value: bytes) -> bool:
        try:
            return parse(value, _Outcome).passed
        except JsonFaultError as fault:
            raise CacheError(
                f"the vector cache {self.cache.folder} holds a broken result of tests ({fault}); {self.cache.mend}"
            ) from fault


class _Outcome(BaseModel, strict=True, extra="forbid"):
    passed: bool
    late: bool


def check_folders(benchmark: Benchmark, folders: Mapping[str, Path]) -> None:
    """A UsageError unless every task is in Python and its lines in a repository's folder are the benchmark's."""
    files = benchmark.by_name
    for task in benchmark.tasks:
        if not task.path.endswith(".py"):
            raise UsageError(f"{task.file}: tests are run by pytest, so --execute takes tasks in Python alone")
        path = folders[task.repo] / task.path
        with os_errors_as(UsageError, f"{path} cannot be read", "name the repository's folder with --repository"):
            text = path.read_bytes().decode("utf-8-sig")
        if text.splitlines() != files[task.file].text.splitlines():
            raise UsageError(f"{path} is not the file of the task; name a checkout of that version with --repository")


def _raise(task: Task) -> str:
    return f"{indentation(task.ground_truth)}raise NotImplementedError\n"


def _key(identity: str, job: Job) -> bytes:
    ((path, lines, text),) = job.replaced
    asked = json.dumps([job.tests, path, lines.start, lines.end])
    return text_key(key_prefix("outcome", identity, asked), text)


def _tree_hash(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        digest.update(f"{path.relative_to(folder).as_posix()}\0{sha256_file(path)}\n".encode())
    return digest.hexdigest()
