"""What a user gets from an installed wheel, away from the checkout."""

import os
import re
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


def test_the_description_has_no_link_that_leads_nowhere_on_an_index(site):
    """A package index shows README.md alone, so paths into the repository are not links there."""
    wheel = zipfile.ZipFile(site[0])
    (metadata,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    _, _, description = wheel.read(metadata).decode().partition("\n\n")
    assert "RepoEval" in description
    links = re.findall(r"\]\(([^)]*)\)", description)
    assert [link for link in links if not link.startswith("https://")] == []


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


@pytest.mark.network
def test_an_installer_of_commands_takes_the_wheel(site, tmp_path, mirror):
    """In an environment of the tool's own: the base, with no torch and under 230 MB of files.

    What a chunker needs is named by a command that installs it there.
    """
    uv = shutil.which("uv", path=os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])))
    if uv is None:
        pytest.skip("uv is not installed: pip install uv")
    # The variables name several files with blanks between them, and the checkout's path may have one.
    pins = shutil.copy(CHECKOUT / "constraints.txt", tmp_path)
    folders = {"UV_TOOL_DIR": "tools", "UV_TOOL_BIN_DIR": "bin", "UV_CACHE_DIR": "downloads", "REPOEVAL_HOME": "home"}
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {name: str(tmp_path / folder) for name, folder in folders.items()}
    environment |= {"UV_CONSTRAINT": pins, "UV_PYTHON": sys.executable}
    environment["PATH"] = os.pathsep.join((str(Path(uv).parent), os.environ["PATH"]))

    def done(*command):
        settings = {"cwd": tmp_path, "env": environment, "timeout": 300, "check": False}
        return subprocess.run(list(map(str, command)), capture_output=True, text=True, **settings)

    assert done(uv, "tool", "install", site[0]).returncode == 0
    command = tmp_path / "bin" / "repoeval-bench"
    assert done(command, "--version").stdout.startswith("repoeval-bench, version 0")
    run = (command, "eval", "--source", mirror, "--limit", "3", "--retriever", "bm25", "-c")
    assert "3 of 18 tasks" in done(*run, "ast").stdout
    (packages,) = (tmp_path / "tools").glob("*/lib/*/site-packages")
    files = [path for path in packages.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert 50e6 < sum(path.stat().st_size for path in files) < 230e6
    assert not (packages / "torch").exists()
    refused = done(*run, "semchunk")
    assert refused.returncode == 2
    hint = shlex.split(refused.stderr.strip().partition("; run ")[2])
    assert hint[-1] == "repoeval-bench[semchunk]"
    assert done(*hint).returncode == 0
    assert "3 of 18 tasks" in done(*run, "semchunk").stdout


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
