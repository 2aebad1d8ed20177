"""What a user gets from an installed wheel, away from the checkout."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with the wheel unpacked by pip."""
    pytest.importorskip("hatchling", reason="hatchling builds the wheel; it comes with the extra 'dev'")
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", str(folder), str(CHECKOUT)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    install = [*pip, "install", "--no-deps", "--no-compile", "--target", str(folder / "site"), str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    return wheel, folder / "site"


def run(site, cwd, *arguments, **env):
    environment = dict(os.environ, PYTHONPATH=str(site), **env)
    return subprocess.run(
        [sys.executable, *map(str, arguments)], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )


def test_the_wheel_holds_packages_types_and_index_and_nothing_else(site):
    """Both packages, their py.typed, the index and the licence; no tests, data or results."""
    names = zipfile.ZipFile(site[0]).namelist()
    for needed in (
        "repoeval_bench/py.typed",
        "repoeval_bench/chunkers/ast.py",
        "repoeval_bench/_data/sources.json",
        "repoeval_bench/report/page/templates/report.html",
        "repoeval_bench/report/page/templates/style.css",
        "repoeval_bench/_data/repoeval.yaml",
    ):
        assert needed in names
    assert any(name.endswith("LICENSE") for name in names)
    roots = {name.split("/")[0] for name in names}
    assert {root for root in roots if not root.endswith(".dist-info")} == {"repoeval_bench"}


def test_an_installed_wheel_runs_the_whole_job(site, tmp_path, mirror, warm_home):
    """From another folder, the installed package reads its own index and evaluates."""
    where = run(
        site[1],
        tmp_path,
        "-c",
        "import repoeval_bench, repoeval_bench.chunkers as chunkers; print(repoeval_bench.__file__, chunkers.__file__)",
    )
    assert where.stdout.count(str(site[1])) == 2, where.stdout + where.stderr
    listed = run(site[1], tmp_path, "-m", "repoeval_bench", "list", "datasets")
    assert "455" in listed.stdout, listed.stderr
    done = run(
        site[1],
        tmp_path,
        "-m",
        "repoeval_bench",
        "eval",
        "-c",
        "ast:max_nws=400",
        "--source",
        mirror,
        REPOEVAL_HOME=str(warm_home),
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "results").is_dir()
    assert "macro, 2 repositories" in done.stdout


def test_an_installed_wheel_keeps_data_in_the_users_cache_folder(site, tmp_path):
    """Away from a checkout, data and vectors go where the platform keeps caches."""
    script = "from repoeval_bench.dataset.home import data_home; print(data_home())"
    done = run(site[1], tmp_path, "-c", script, REPOEVAL_HOME="", XDG_CACHE_HOME=str(tmp_path / "caches"))
    assert done.stdout.strip().endswith("repoeval-bench"), done.stdout + done.stderr


def test_the_public_names_are_there_and_cost_little(site, tmp_path):
    """`import repoeval_bench` loads neither torch, numpy nor faiss; its public names do what __all__ says."""
    script = (
        "import sys, repoeval_bench as r\n"
        "assert not {'torch', 'numpy', 'faiss', 'pydantic', 'click'} & set(sys.modules)\n"
        "assert all(hasattr(r, name) for name in r.__all__)\n"
    )
    done = run(site[1], tmp_path, "-c", script)
    assert done.returncode == 0, done.stderr
