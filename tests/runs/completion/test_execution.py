"""Tests as judges: which cover a hole, which tasks count, who passes; and sandboxes that are really run.

Most run without a sandbox of their own (`env -C`): what they run is written here.
"""

import json
import shutil
import sys
import time
from pathlib import Path

import pytest

from repoeval_bench import LineSpan, Task
from repoeval_bench.core.errors import CompletionError, UsageError
from repoeval_bench.embedding.storage import VectorCache
from repoeval_bench.runs.completion.execution import NO_TESTS, RAISE_PASSES, TRUTH_FAILS, UNCOVERED, Judge
from repoeval_bench.runs.completion.sandbox import Job, Sandbox

CODE = """\
import os


def double(x):
    return 2 * x


def loud(x):
    return str(x) + "!"


def unused(x):
    return x


def broken(x):
    return x - 1


def guarded(x):
    return x


def slow(x):
    return x
"""
TESTS = """\
import shop


def test_double():
    assert shop.double(3) == 6


def test_both():
    assert shop.loud(shop.double(1)) == "2!"


def test_broken():
    assert shop.broken(1) == 1


def test_guarded():
    try:
        shop.guarded(1)
    except NotImplementedError:
        pass


def test_slow():
    assert shop.slow(1) == 1
"""
BODIES = {name: CODE.splitlines().index(f"def {name}(x):") + 1 for name in
          ("double", "loud", "unused", "broken", "guarded", "slow")}  # fmt: skip
HERE = ("env", "-C", "{repo}", "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1")


def task(name):
    line = BODIES[name]
    truth = CODE.splitlines(keepends=True)[line]
    return Task(
        task_id=f"shop/{name}",
        repo="shop",
        path="shop.py",
        prompt=CODE.partition(truth)[0],
        ground_truth=truth,
        body=LineSpan(line, line + 1),
        context_start=0,
        level="function",
    )


@pytest.fixture
def shop(tmp_path):
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "shop.py").write_text(CODE)
    (folder / "test_shop.py").write_text(TESTS)
    (folder / "setup.cfg").write_text("[tool:pytest]\naddopts = --no-such-option\n")
    return folder


@pytest.fixture
def judge(shop, tmp_path):
    cache = VectorCache(tmp_path / "vectors")
    yield Judge(sandbox=Sandbox(HERE, sys.executable), folders={"shop": shop}, seconds=20, jobs=2, cache=cache)
    cache.close()


def test_a_task_counts_only_if_its_tests_can_judge_it(judge, shop):
    """No test, a ground truth that fails, and a raise that passes: left out and counted; the files stay as they are."""
    found = judge.baseline([task(name) for name in BODIES])
    assert {name: len(ids) for name, ids in found.tests.items()} == {"shop/double": 2, "shop/loud": 1, "shop/slow": 1}
    assert found.left_out == {UNCOVERED: 2, RAISE_PASSES: 1}
    (environment,) = found.environment.values()
    assert environment[0] == f"python=={sys.version.split()[0]}"
    assert any(each.startswith("pytest==") for each in environment)
    assert (shop / "shop.py").read_text() == CODE
    assert not (shop / ".repoeval").exists()


def test_a_test_that_needs_the_whole_suite_leaves_its_task_out(judge, shop):
    """It passes after another one and fails by itself: such a test says nothing of a completion."""
    (shop / "test_shop.py").write_text(
        "import shop\nseen = []\n\n\ndef test_a():\n    seen.append(1)\n\n\n"
        "def test_b():\n    assert shop.loud(1) == '1!' and seen\n"
    )
    assert judge.baseline([task("loud")]).left_out == {TRUTH_FAILS: 1}


@pytest.mark.slow
def test_who_passes(judge):
    """Right, wrong, no Python, nothing, ways to look finished, and one that never ends."""
    asked = task("double")
    baseline = judge.baseline([asked])
    wrong = ["return 7", "return (", "", "os._exit(0)", "raise SystemExit(0)"]
    for body in ["return x + x", *wrong]:
        assert judge.passed([asked], {asked.task_id: f"    {body}\n"}, baseline) == {asked.task_id: body not in wrong}
    hasty = Judge(sandbox=judge.sandbox, folders=judge.folders, seconds=2, jobs=1, cache=judge.cache)
    started = time.monotonic()
    endless = {asked.task_id: "    while True: pass\n"}
    assert hasty.passed([asked], endless, baseline) == {asked.task_id: False}
    assert time.monotonic() - started < 20


def test_what_was_run_is_not_run_again(judge, shop, monkeypatch):
    """Not until the text, the files or the tests change."""
    asked = task("double")
    baseline = judge.baseline([asked])
    right = {asked.task_id: asked.ground_truth}
    run = Sandbox.run
    ran = []
    monkeypatch.setattr(Sandbox, "run", lambda self, *words: (ran.append(words), run(self, *words))[1])
    assert judge.passed([asked], right, baseline) == {asked.task_id: True}
    assert ran == []
    (shop / "other.py").write_text("")
    assert judge.passed([asked], right, baseline) == {asked.task_id: True}
    assert len(ran) == 1


def test_a_file_of_crlf_keeps_its_line_ends(shop):
    """The hole is spliced by lines; the bytes around it stay."""
    (shop / "shop.py").write_bytes(CODE.replace("\n", "\r\n").encode())
    (shop / "test_shop.py").write_text(
        "from pathlib import Path\n\n\ndef test_bytes():\n    assert Path('shop.py').read_bytes().count(b'\\r\\n') == "
        f"{CODE.count(chr(10)) - 1}\n"
    )
    line = BODIES["double"]
    job = Job((), replaced=(("shop.py", LineSpan(line, line + 1), "    return x + x\n"),))
    assert Sandbox(HERE, sys.executable).run(shop, job, 20).outcomes == {"test_shop.py::test_bytes": "passed"}


def test_what_cannot_run_is_an_error_and_no_failed_test(shop, judge):
    """Without Python nothing is scored, and a repository without tests is left out."""
    with pytest.raises(CompletionError, match="ran no tests"):
        Sandbox(HERE, "/nowhere/python").run(shop, Job(()), 5)
    (shop / "test_shop.py").unlink()
    assert judge.baseline([task("double")]).left_out == {NO_TESTS: 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("env -C /repo", "write {repo} for its folder"),
        ("", "write {repo} for its folder"),
        ("no-such-program {repo}", "not installed or not on the path"),
        ("env 'half {repo}", "cannot be read"),
    ],
)
def test_a_sandbox_that_cannot_be_used_is_refused(text, message):
    """In one sentence, before anything is run."""
    with pytest.raises(UsageError) as error:
        Sandbox.parse(text, sys.executable)
    assert message in str(error.value)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
def test_bubblewrap_keeps_what_is_run_from_all_else(shop, tmp_path):
    """No network, no home, no writing outside the copy; the variables of this process are not seen."""
    (shop / "test_shop.py").write_text(
        "import os, pathlib, socket\nimport pytest\n\n\n"
        "def test_network():\n    with pytest.raises(OSError):\n        socket.create_connection(('127.0.0.1', 9), 1)\n\n\n"
        f"def test_files():\n    assert not pathlib.Path({str(tmp_path / 'secret')!r}).exists()\n"
        "    with pytest.raises(OSError):\n        pathlib.Path('/usr/written').write_text('x')\n\n\n"
        "def test_variables():\n    assert 'REPOEVAL_SECRET' not in os.environ\n"
    )
    (tmp_path / "secret").write_text("x")
    result = Sandbox.parse("bwrap", sys.executable).run(shop, Job(()), 60)
    assert result is not None, "in time"
    assert set(result.outcomes.values()) == {"passed"}, json.dumps(result.outcomes)
    assert len(result.outcomes) == 3
    assert not Path("/usr/written").exists()
