"""What all tests share: no test writes to the user's own data, and real data is found by environment only."""

from __future__ import annotations

import gc
import os
import sys
from tempfile import mkdtemp
from typing import TYPE_CHECKING

# ranx's functions would be compiled for tens of seconds; as plain Python they are the same formulas. numba reads this
# when it is first imported, by whichever test.
os.environ["NUMBA_DISABLE_JIT"] = "1"

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from repoeval_bench.core.cores import usable_cores
from repoeval_bench.core.notices import collected

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from repoeval_bench.core.benchmark import Benchmark
    from support.embedding_server import Server
    from support.runs import TwoRuns

# What the user's shell says of colours, widths, languages and bytecode moves what is printed. Tests begin without it,
# and so do the processes that they start.
for _name in (
    *("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLORTERM"),
    *("COLUMNS", "LINES", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "PYTHONIOENCODING", "PYTHONDONTWRITEBYTECODE"),
):
    os.environ.pop(_name, None)
os.environ["LC_ALL"] = "C.UTF-8"
# As the command line does: thousands of tests and their modules would be searched for garbage again and again.
gc.set_threshold(200_000, 20, 100)
# A slow machine is not a fault of the code: `make bench` shows times, and tests never assert them. `quick` has the same
# examples each time, so that only a change can make it fail; `deep` looks for new ones.
settings.register_profile(
    "quick", deadline=None, max_examples=25, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("deep", settings.get_profile("quick"), max_examples=300, derandomize=False)
settings.load_profile("quick")
# Hypothesis would draw the constants of every module that is imported by then, too: reading them takes seconds of each
# process, and examples would depend on the tests that ran before.
providers._get_local_constants = lambda: providers._local_constants


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the tests' homes: pytest looks through all that lies beside a folder to number it."""
    return tmp_path_factory.mktemp("homes")


@pytest.fixture(autouse=True)
def own_home(homes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fetched data goes to a folder of the test; no proxy is used between a test and its local server."""
    monkeypatch.setenv("REPOEVAL_HOME", mkdtemp(dir=homes))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture(scope="session")
def mirror(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that --source takes: two repositories in upstream's format. No test changes it."""
    from support.minirepo import build_mirror

    return build_mirror(tmp_path_factory.mktemp("mirror"))


@pytest.fixture(scope="session")
def benchmark(mirror: Path, tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """The tasks and files of the mirror."""
    from repoeval_bench.dataset.loader import load_benchmark

    return load_benchmark(mirror, home=tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="session")
def two_runs(mirror: Path, tmp_path_factory: pytest.TempPathFactory) -> TwoRuns:
    """Two stored runs that need no model. No test changes them."""
    from support.command import succeed
    from support.runs import TwoRuns

    here = tmp_path_factory.mktemp("two-runs")
    words = ("-c", "ast:max_nws=400", "-c", "fixed:max_nws=400", "--retriever", "bm25", "--source", mirror)
    succeed("eval", *words, "--out", here / "out", home=here / "home")
    ast, fixed = sorted((here / "out").iterdir())
    return TwoRuns(ast, fixed, here / "out", here / "home")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server of embeddings; modules that need another kind have their own."""
    from support.embedding_server import serving

    with serving() as server:
        yield server


@pytest.fixture
def no_faults(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test begins with its module's `server` free of faults, a clean log, and the right key."""
    server.fail()
    server.seen()
    monkeypatch.setenv("OPENAI_API_KEY", server.key)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@pytest.fixture
def real_source(request: pytest.FixtureRequest) -> str:
    """Where the real RepoEval data is; for tests marked `full_data`."""
    assert request.node.get_closest_marker("full_data"), "mark the test with pytest.mark.full_data"
    source = os.environ.get("REPOEVAL_SOURCE")
    if not source:
        pytest.skip("REPOEVAL_SOURCE is not set: it names the folder or address of the real RepoEval data")
    return source


@pytest.fixture
def notices() -> Iterator[list[str]]:
    """The notices of the test."""
    with collected() as lines:
        yield lines


@pytest.hookimpl(optionalhook=True)  # xdist need not be installed
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """With `-n auto` a process for each core, and one more for the long tests, which also wait.

    They wait for a package index, for workers of a cluster, for a browser. xdist's own variable comes first.
    """
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    return usable_cores() + (not config.option.markexpr.startswith("not "))


MODEL_MODULES = frozenset(
    {
        *("test_embed_once", "test_encoder", "test_faults_texts", "test_model_folders"),
        *("test_precision", "test_server_texts", "test_rerank", "test_embedders_cli"),
        *("test_evaluate", "test_protocols", "test_python"),
        "test_verify_cli",
        *("test_import_run", "test_pipeline_cli", "test_score"),
    }
)
"""Modules in which torch computes. Its import takes seconds of each process."""


def pytest_collection_finish() -> None:
    """What is collected stays to the end, so nobody who asks for garbage has it searched (statsmodels does)."""
    gc.freeze()


_imported: list[int] = [0]
"""Numbers of modules after whose import what they made was set aside."""


def pytest_runtest_teardown() -> None:
    """What large libraries made stays as well: building a pack asks for garbage after each of its sources."""
    if len(sys.modules) > _imported[-1] + 300:
        _imported.append(len(sys.modules))
        gc.collect()
        gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest begins first, so that it is not what all other processes wait for at the end.

    The tests on one Ray cluster are the longest, because they wait. The slow tests that need all of the data, or an
    index, come next. Those that load a model follow, together with those on its vectors, so that one process does it.
    The tests of a room stay together: each process takes neighbours, and a library is imported, and a fixture of a
    module made, by few of them; those of `plugins` import what those of `chunkers` do.
    """
    marks = ("full_data", "network", "slow")
    items.sort(
        key=lambda item: (
            "cluster" not in getattr(item, "fixturenames", ()),
            -sum(item.get_closest_marker(mark) is not None for mark in marks),
            item.path.stem not in MODEL_MODULES,
            "warm_home" not in getattr(item, "fixturenames", ()),
            item.path.relative_to(item.config.rootpath).parts[1].replace("plugins", "chunkers"),
        )
    )
