"""A chunker of another package is sized, preloaded and coloured by its facts, like the tool's own."""

import shutil
import sys
from pathlib import Path

import pytest

from repoeval_bench.chunkers.registry import row_of
from repoeval_bench.chunkers.tools.sizes import chunker_name, chunker_size, match_size, resize
from repoeval_bench.core.source import SourceFile
from repoeval_bench.report.figure import SERIES, looks
from repoeval_bench.runs.executors import modules_of
from support.plug_ins import install
from support.runs import write_run

FILES = [SourceFile("repo", f"{name}.py", "value = 12345\n" * 200) for name in "ab"]


@pytest.fixture
def rows(tmp_path, monkeypatch):
    """The name of an installed chunker whose class registers itself."""
    shutil.copy(Path(__file__).with_name("their_rows.py.txt"), tmp_path / "their_rows.py")
    install(tmp_path, "their-rows", {"repoeval_bench.chunkers": {"rows": "their_rows:Rows"}})
    monkeypatch.syspath_prepend(tmp_path)
    yield "rows"
    sys.modules.pop("their_rows", None)


def test_it_is_set_to_a_size(rows):
    """By the option that it names, which no other chunker has; what is scaled keeps its ratio."""
    match = match_size(rows, 33 * 11, FILES)
    assert not match.reason
    assert chunker_size(match.spec) not in {None, 10}
    assert resize(rows, 30) == "rows:height=30,shift=15"
    assert chunker_name("rows:height=30,shift=15") == "rows"


def test_the_pool_takes_it_and_imports_it_ahead(rows):
    assert row_of(rows).parallel
    assert modules_of([rows, "ast", "nothing:of=this"]) == ["their_rows", "repoeval_bench.chunkers.ast"]


def test_it_keeps_its_colour(rows, tmp_path):
    """The colour is its own wherever it stands, and another's without one is the next that is free."""
    runs = [
        write_run(tmp_path / name, {"ndcg@5": [0.5]}, chunker=name) for name in ("rows:height=5", "exec:cut", "fixed")
    ]
    assert [look.colour for look in looks(runs)] == [SERIES[2], SERIES[1], SERIES[0]]
    assert [look.colour for look in looks(runs[::-1])] == [SERIES[0], SERIES[1], SERIES[2]]


def test_a_run_of_one_that_is_gone_is_shown(tmp_path):
    run = write_run(tmp_path / "gone", {"ndcg@5": [0.5]}, chunker="gone:height=5")
    assert looks([run])[0].colour == SERIES[0]
    assert chunker_size("gone:height=5") is None
