"""One module of a package is imported without the package, which runs when it is asked for something."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.util import find_spec

import pytest

from repoeval_bench.core.alone import alone

INSTALLED = all(map(find_spec, ("chonkie", "llama_index", "openai")))

CODE = """
import sys
from repoeval_bench.chunkers import _chonkie_code, _llama_index_code
from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.core.source import SourceFile

file = SourceFile("r", "a.py", "def f():\\n    return 1\\n")
print(len([*make_chunker("chonkie").chunk(file), *make_chunker("llama-index").chunk(file)]))
print({"openai", "chonkie.cloud", "llama_index.core.query_engine"} & sys.modules.keys() or "alone")

import chonkie, llama_index.core
from llama_index.core.node_parser import CodeSplitter
print(chonkie.CodeChunker is sys.modules["chonkie.chunker.code"].CodeChunker, chonkie.types.Chunk.__name__)
print(CodeSplitter is sys.modules["llama_index.core.node_parser.text.code"].CodeSplitter, llama_index.core.global_handler)
print(llama_index.core.schema.Document is llama_index.core.Document)
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package that counts how often it is run, with a package in it that has a module."""
    inner = tmp_path / "outer_package" / "inner"
    inner.mkdir(parents=True)
    (inner.parent / "__init__.py").write_text("from outer_package.runs import runs\nruns.append(1)\nown = 1\n")
    (inner.parent / "runs.py").write_text("runs = []\n")
    (inner / "__init__.py").write_text("from outer_package.runs import runs\nruns.append(2)\n")
    (inner / "module.py").write_text("from outer_package.runs import runs\n")
    (inner / "other.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    before = {*sys.modules}
    yield "outer_package.inner.module"
    for name in sys.modules.keys() - before:
        del sys.modules[name]


def test_a_package_is_run_once_when_it_is_asked_for_something_of_its_own(package):
    with alone(package) as module:
        runs = module.runs
    assert runs == []
    import outer_package

    assert outer_package.inner.module.runs == []
    assert (outer_package.own, outer_package.own, runs) == (1, 1, [1])
    with alone(package) as module:
        assert module is outer_package.inner.module
    with pytest.raises(AttributeError, match="missing"):
        _ = outer_package.inner.missing
    assert runs == [1, 2]


def test_packages_are_run_from_outside_in_when_another_module_is_imported(package):
    with alone(package) as module:
        runs = module.runs
    with alone(package.replace("module", "other")):
        assert runs == []
    del sys.modules["outer_package.inner.other"]
    import outer_package.inner.other

    assert outer_package.inner.other.__name__ in sys.modules
    assert runs == [1, 2]


def test_a_module_that_is_not_there_is_an_import_error(package):
    for name in (f"{package}s", "no_such_package.inner.module"):
        with pytest.raises(ModuleNotFoundError, match="No module named"), alone(name):
            pass


def test_of_threads_that_ask_at_once_all_get_the_name_and_one_runs_the_package(package, tmp_path):
    init = tmp_path / "outer_package" / "__init__.py"
    init.write_text(f"import time\ntime.sleep(0.05)\n{init.read_text()}")
    with alone(package) as module:
        skipped = sys.modules["outer_package"]
    with ThreadPoolExecutor(8) as threads:
        assert [*threads.map(lambda _: skipped.own, range(8))] == [1] * 8
    assert module.runs == [1]


def test_a_package_that_cannot_be_run_is_an_import_error_each_time(package, tmp_path):
    with alone(package):
        skipped = sys.modules["outer_package"]
    (tmp_path / "outer_package" / "__init__.py").write_text("import no_such_package\n")
    for _ in range(2):
        with pytest.raises(ModuleNotFoundError, match="no_such_package"):
            _ = skipped.own
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        import_module("outer_package")


@pytest.mark.slow  # a process that imports both
@pytest.mark.skipif(not INSTALLED, reason="needs chonkie, llama-index and openai")
def test_both_libraries_cut_without_their_packages_which_others_still_get_whole():
    """In a process of its own: what else imported them does not matter."""
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["2", "alone", "True", "Chunk", "True", "None", "True"]
