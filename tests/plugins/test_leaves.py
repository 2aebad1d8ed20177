"""A leaf is deleted with its folder and its entry points, and the tool goes on without it."""

import shutil
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from support.command import python
from support.leaves import PARTS
from support.plug_ins import install

ROOT = Path(__file__).resolve().parents[2]
LEAVES = sorted(path.parent.name for path in (ROOT / "repoeval_bench" / "plugins").glob("*/__init__.py"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
POINTS = PROJECT["entry-points"]

SAMPLE = (
    "tests/core/test_registry.py",
    "tests/core/test_spec.py",
    "tests/cli",
    "tests/metrics/test_brute_force.py",
    "tests/retrieval/test_ranking.py",
    "tests/protocols/test_queries_qrels.py",
    "tests/runs/test_view.py",
    "tests/analysis/test_gates.py",
    "tests/report/test_markup_properties.py",
    "tests/chunkers/test_fixed.py",
    "tests/chunkers/test_registry.py",
    "tests/end_to_end/test_compare_cli.py",
)
"""Tests of the spine, one or two of each room, and all of the commands; the others pass too, and take minutes."""

each_leaf_and_all = pytest.mark.parametrize("leaves", [*((leaf,) for leaf in LEAVES), tuple(LEAVES)], ids="-".join)


def module(leaf: str) -> str:
    return f"repoeval_bench.plugins.{leaf}."


@pytest.fixture(scope="module")
def without(tmp_path_factory):
    """Make a copy of the package without some leaves; a function that runs a command of this Python there."""
    copies = {}

    def copy(leaves):
        here = tmp_path_factory.mktemp("without")
        skipped = shutil.ignore_patterns("__pycache__", "*.pyc")
        shutil.copytree(ROOT / "repoeval_bench", here / "repoeval_bench", ignore=skipped)
        for leaf in leaves:
            shutil.rmtree(here / "repoeval_bench" / "plugins" / leaf)
        for name in ("data", "tests", "scripts", "docs", "Makefile"):
            (here / name).symlink_to(ROOT / name)
        project = (ROOT / "pyproject.toml").read_text("utf-8").splitlines(keepends=True)
        lost = tuple(map(module, leaves))
        left = [line for line in project if not any(f'"{leaf}' in line for leaf in lost)]
        (here / "pyproject.toml").write_text("".join(left), "utf-8")
        kept = {
            group: {name: where for name, where in points.items() if not where.startswith(lost)}
            for group, points in POINTS.items()
        }
        install(here, "repoeval-bench", kept)
        return here

    def run(leaves, *words, code=0):
        here = copies.get(leaves) or copies.setdefault(leaves, copy(leaves))
        variables = {"PYTHONPATH": str(here), "REPOEVAL_HOME": str(here / "home"), "REPOEVAL_SOURCE": None}
        done = python("-m", *words, cwd=here, **variables)
        assert done.code == code, done.out + done.err
        return done

    return run


def test_every_leaf_is_named_by_entry_points_that_lead_somewhere():
    for leaf in LEAVES:
        assert any(where.startswith(module(leaf)) for points in POINTS.values() for where in points.values()), leaf
    for points in POINTS.values():
        for where in points.values():
            name, _, attribute = where.partition(":")
            assert getattr(import_module(name), attribute) is not None


def test_what_tests_of_the_spine_use_is_of_the_leaf_that_they_say():
    points = {name: where for table in POINTS.values() for name, where in table.items()}
    for leaf, names in PARTS.items():
        assert all(points[name].startswith(module(leaf)) for name in names), leaf


@pytest.mark.slow
@each_leaf_and_all
def test_the_tool_works_without_leaves(without, mirror, leaves, tmp_path):
    """Its help and its lists; without all of them a run too, and what they brought is unknown, in one sentence."""
    lost = tuple(map(module, leaves))
    listed = without(leaves, "repoeval_bench", "--help").out
    commands = POINTS["repoeval_bench.commands"]
    for name, where in commands.items():
        assert (f"\n  {name} " in listed) is not where.startswith(lost), name
    chunkers = without(leaves, "repoeval_bench", "list", "chunkers", "--json").out
    for name, where in POINTS["repoeval_bench.chunkers"].items():
        assert (f'"{name}"' in chunkers) is not where.startswith(lost), name
    if leaves == tuple(LEAVES):
        for name in commands:
            assert "unknown command" in without(leaves, "repoeval_bench", name, code=2).err
        run = ("eval", "-c", "fixed:max_nws=400", "--retriever", "bm25", "--source", mirror, "--out", tmp_path)
        without(leaves, "repoeval_bench", *run)
        assert list(tmp_path.glob("*/manifest.json"))


@pytest.mark.slow
def test_the_tests_of_the_spine_pass_without_leaves(without):
    without(tuple(LEAVES), "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", *SAMPLE)
