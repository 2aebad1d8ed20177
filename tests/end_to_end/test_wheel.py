"""What a user gets from an installed wheel, away from the checkout."""

import os
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from support.command import python

pytestmark = pytest.mark.slow  # building it takes seconds
CHECKOUT = Path(__file__).resolve().parents[2]


def run(site, cwd, *arguments, **env):
    return python(*arguments, cwd=cwd, PYTHONPATH=str(site), **env)


def test_the_wheel_holds_packages_types_and_index_and_nothing_else(site):
    """Both packages, their py.typed, the index and the licence; no tests, data or results."""
    names = zipfile.ZipFile(site[0]).namelist()
    for needed in (
        *("repoeval_bench/py.typed", "repoeval_bench/chunkers/ast.py", "repoeval_bench/_data/sources.json"),
        *("repoeval_bench/report/html/templates/report.html",),
        *("repoeval_bench/report/html/templates/style.css", "repoeval_bench/_data/repoeval.yaml"),
        *("repoeval_bench/_data/priors.json", "repoeval_bench/_data/packs/pypi-40@2026-11/pack.yaml"),
        *("repoeval_bench/_data/packs/npm-12@2026-11/uses.tsv.gz",),
        *("repoeval_bench/_data/packs/native-8.yaml",),
    ):
        assert needed in names
    assert any(name.endswith("LICENSE") for name in names)
    roots = {name.split("/")[0] for name in names}
    assert {root for root in roots if not root.endswith(".dist-info")} == {"repoeval_bench"}


def test_an_installed_wheel_runs_the_whole_job(site, tmp_path, mirror, warm_home):
    """From another folder, the installed package reads its own index and evaluates."""
    names = "import repoeval_bench, repoeval_bench.chunkers as c; print(repoeval_bench.__file__, c.__file__)"
    where = run(site[1], tmp_path, "-c", names)
    assert where.out.count(str(site[1])) == 2, where.out + where.err
    listed = run(site[1], tmp_path, "-m", "repoeval_bench", "list", "datasets")
    assert "455" in listed.out, listed.err
    words = ("-m", "repoeval_bench", "eval", "-c", "ast:max_nws=400", "--details", "--source", mirror)
    done = run(site[1], tmp_path, *words, REPOEVAL_HOME=str(warm_home))
    assert done.code == 0, done.err
    assert (tmp_path / "results").is_dir()
    assert "macro mean" in done.out


TOOLS = {
    "uv tool": ("uv", ["tool", "install", "WHEEL"], ["BIN/repoeval-bench"]),
    "uvx": ("uv", ["--version"], ["uv", "tool", "run", "--from", "WHEEL", "repoeval-bench"]),
    "pipx": ("pipx", ["install", "WHEEL"], ["BIN/repoeval-bench"]),
}
"""Installer -> the program, how it installs the wheel, and how the command is called then."""


@pytest.fixture(scope="module")
def downloads(tmp_path_factory):
    """The folder in which uv keeps what it has fetched."""
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture
def installed(site, tmp_path, mirror, downloads):
    """Has one of `TOOLS` install the wheel in an environment of the tool's own; (the command, what runs commands)."""

    def install(name):
        program, words, call = TOOLS[name]
        result = shutil.which(program, path=os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])))
        if result is None:
            pytest.skip(f"{program} is not installed: pip install {program}")
        places = {"UV_TOOL_DIR": "tools", "UV_TOOL_BIN_DIR": "bin", "REPOEVAL_HOME": "home"}
        places |= {"PIPX_HOME": "pipx", "PIPX_BIN_DIR": "bin", "PIPX_MAN_DIR": "man"}
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        environment |= {name: str(tmp_path / folder) for name, folder in places.items()}
        # These variables name several files with blanks between them, and the checkout's path may have one.
        pins = shutil.copy(CHECKOUT / "constraints.txt", downloads)
        environment |= {"UV_CONSTRAINT": pins, "PIP_CONSTRAINT": pins, "UV_PYTHON": sys.executable}
        # pip reads the second as the value of compiling: what a command imports is compiled then, and nothing else.
        environment |= {"PIPX_DEFAULT_PYTHON": sys.executable, "PIP_NO_COMPILE": "0", "UV_CACHE_DIR": str(downloads)}
        environment["PATH"] = os.pathsep.join((str(Path(result).parent), os.environ["PATH"]))
        known = {"WHEEL": str(site[0]), "BIN/repoeval-bench": str(tmp_path / "bin" / "repoeval-bench"), "uv": result}

        def done(*command):
            words, settings = [known.get(word, word) for word in command], {"cwd": tmp_path, "env": environment}
            return subprocess.run(words, **settings, capture_output=True, text=True, timeout=300, check=False)

        printed = done(result, *words)
        assert printed.returncode == 0, printed.stderr
        return call, done

    return install


@pytest.mark.network
@pytest.mark.parametrize("name", TOOLS)
def test_installers_of_commands_take_the_wheel(installed, site, tmp_path, mirror, name):
    """In an environment of the tool's own the command answers and evaluates; that of `uv tool` is looked at.

    It is the base: no torch, under 230 MB of files. What a chunker needs is named by a command that installs it there.
    """
    command, done = installed(name)
    assert done(*command, "--version").stdout.startswith("repoeval-bench, version 0")
    run = ("eval", "--source", str(mirror), "--limit", "3", "--retriever", "bm25", "-c")
    ranked = done(*command, *run, "ast")
    assert "3 of 18 tasks" in ranked.stdout, ranked.stderr
    if name == "uv tool":
        (packages,) = (tmp_path / "tools").glob("*/lib/*/site-packages")
        files = [path for path in packages.rglob("*") if path.is_file() and path.suffix != ".pyc"]
        assert 50e6 < sum(path.stat().st_size for path in files) < 230e6
        assert not (packages / "torch").exists()
    refused = done(*command, *run, "semchunk")
    assert refused.returncode == 2
    hint = shlex.split(refused.stderr.strip().partition("; run ")[2])
    assert f"{site[0]}[semchunk]" in hint
    if hint[-1] == "repoeval-bench":  # for one call
        command = hint
    else:
        printed = done(*hint)
        assert printed.returncode == 0, printed.stderr
    ranked = done(*command, *run, "semchunk")
    assert "3 of 18 tasks" in ranked.stdout, ranked.stderr


def test_an_installed_wheel_keeps_data_in_the_users_cache_folder(site, tmp_path):
    """Away from a checkout, data and vectors go where the platform keeps caches."""
    script = "from repoeval_bench.dataset.home import data_home; print(data_home())"
    done = run(site[1], tmp_path, "-c", script, REPOEVAL_HOME="", XDG_CACHE_HOME=str(tmp_path / "caches"))
    assert done.out.strip().endswith("repoeval-bench"), done.out + done.err


def test_the_public_names_are_there_and_cost_little(site, tmp_path):
    """`import repoeval_bench` loads neither torch, numpy nor faiss; its public names do what __all__ says."""
    script = (
        "import sys, repoeval_bench as r\n"
        "assert not {'torch', 'numpy', 'faiss', 'pydantic', 'click'} & set(sys.modules)\n"
        "assert all(hasattr(r, name) for name in r.__all__)\n"
    )
    done = run(site[1], tmp_path, "-c", script)
    assert done.code == 0, done.err
