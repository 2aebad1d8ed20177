"""Loading: selection, what is checked, and a fingerprint that follows the content."""

from dataclasses import replace

import pytest

from repoeval_bench.core.errors import DatasetError, UsageError
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.dataset import index
from repoeval_bench.dataset.assembly import fingerprint
from repoeval_bench.dataset.home import data_home
from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.dataset.repoeval import LEVELS, TaskSet, task_sets
from support import minirepo
from support.written import task


@pytest.fixture
def mini(mirror, tmp_path):
    def loaded(**options):
        return load_benchmark(str(mirror), home=tmp_path, **options)

    return loaded


def test_the_small_set_loads_whole(mini, notices):
    benchmark = mini()
    assert benchmark.is_whole
    assert list(benchmark.files) == ["acme_inventory", "northwind_textkit"]
    assert [len(files) for files in benchmark.files.values()] == [4, 5]
    assert len(benchmark.fingerprint) == 12
    assert notices == ["data from your archives: 18 of 18 tasks, 2 of 2 repositories"]
    assert mini() == benchmark
    assert len(notices) == 1, "a whole set that is there needs no notice"


def test_a_source_that_is_not_named_is_that_of_the_variable(tmp_path, monkeypatch, mirror, mini):
    """`eval` and a script find the same data: `auto` may have fewer tasks (170 of 455 from a package index)."""
    monkeypatch.setenv("REPOEVAL_SOURCE", str(mirror))
    assert load_benchmark(home=tmp_path).fingerprint == mini().fingerprint


def test_a_limit_is_of_the_repositories_that_are_scored(mini):
    """What a limit passes over is as if it had not been named: same tasks, same fingerprint; without one it stays."""
    passed = mini(limit=2, without=["acme_inventory"])
    named = mini(limit=2, repos=["northwind_textkit"])
    assert passed == named
    assert {task.repo for task in passed.tasks} == {"northwind_textkit"}
    assert mini(without=["acme_inventory"]) == mini()
    assert mini(limit=1, repos=["acme_inventory"], without=["acme_inventory"]).tasks == mini(limit=1).tasks


@pytest.mark.parametrize(
    ("level", "context", "tokenizer"),
    [(level, name[:2], name.rpartition("_")[2]) for level in ("line", "api") for name in minirepo.CONTEXTS[level]],
)
def test_line_and_api_levels_load_through_the_same_code(tmp_path, level, context, tokenizer):
    mirror = minirepo.build_mirror(tmp_path / "m", level)
    benchmark = load_benchmark(str(mirror), level=level, context=context, tokenizer=tokenizer, home=tmp_path)
    assert benchmark.name == f"custom-mini-{level}-{context}-{tokenizer}"
    assert {task.level for task in benchmark.tasks} == {level}
    assert len(benchmark.tasks) >= 6
    files = {(file.repo, file.path): file for result in benchmark.files.values() for file in result}
    for item in benchmark.tasks:
        assert files[item.repo, item.path].line_text(item.body) == item.ground_truth + "\n"


@pytest.mark.parametrize(
    ("level", "context", "tokenizer"),
    [("function", "1k", "codex"), ("function", "2k", "codegen"), ("line", "1k", "codex"), ("word", "2k", "codex")],
)
def test_a_combination_that_does_not_exist_is_refused_with_those_that_do(tmp_path, level, context, tokenizer):
    with pytest.raises(UsageError) as caught:
        load_benchmark("auto", level=level, context=context, tokenizer=tokenizer, home=tmp_path)
    assert "function: codex 2k, 4k; line: codegen 1k, 2k and codex 2k, 4k; api: " in str(caught.value)
    assert caught.value.exit_code == 2


def test_a_level_that_the_source_does_not_hold_is_named_with_what_it_holds(mini):
    with pytest.raises(DatasetError, match=r"holds no line_level_.*; it holds function_level_"):
        mini(level="line")


def test_repos_and_limit_keep_their_tasks_and_only_their_files(mini):
    whole = mini()
    part = mini(repos=["northwind--textkit"], limit=2)
    assert [task.task_id for task in part.tasks] == ["northwind_textkit/0", "northwind_textkit/1"]
    assert list(part.files) == ["northwind_textkit"]
    assert (part.whole_tasks, part.whole_repos) == (whole.whole_tasks, 2)
    assert not part.is_whole
    assert part.fingerprint != whole.fingerprint
    assert list(mini(limit=1).files) == ["acme_inventory"]
    assert mini(repos=["northwind/textkit", "acme_inventory"]) == whole


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"repos": ["acme_inventori"]}, "mean 'acme_inventory'"),
        ({"limit": 0}, "a limit of 0"),
        ({"repos": []}, "no task"),
    ],
)
def test_a_selection_of_nothing_is_refused(mini, options, complaint):
    with pytest.raises(UsageError, match=complaint):
        mini(**options)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"lineno": 4000}, r"northwind_textkit/\d+: its ground truth ends at line 4\d+"),
        ({"fpath_tuple": ["northwind_textkit", "no.py"]}, "its file northwind_textkit/no.py does not exist"),
        ({"fpath_tuple": ["initech_tps", "a.py"]}, "repository initech_tps is not among"),
    ],
)
def test_a_task_that_does_not_fit_the_repositories_is_named(tmp_path, change, complaint):
    rows = minirepo.rows()
    rows[-1]["metadata"].update(change)
    mirror = minirepo.build_mirror(tmp_path / "m", task_rows=rows)
    with pytest.raises(DatasetError, match=complaint):
        load_benchmark(str(mirror), home=tmp_path)


def test_a_file_that_is_not_utf8_is_counted_and_a_task_in_it_is_refused(tmp_path):
    files = minirepo.tree_files()
    files["acme_inventory/latin.py"] = b"# \xe9t\xe9\n"
    mirror = minirepo.build_mirror(tmp_path / "m", files=files)
    assert load_benchmark(str(mirror), home=tmp_path).undecodable == ("acme_inventory/latin.py",)
    files["acme_inventory/inventory/stock.py"] = b"# \xe9t\xe9\n"
    mirror = minirepo.build_mirror(tmp_path / "n", files=files)
    with pytest.raises(DatasetError, match="inventory/stock.py does not exist, or is not UTF-8"):
        load_benchmark(str(mirror), home=tmp_path)


def test_a_broken_task_file_is_reported_row_by_row(tmp_path):
    rows = minirepo.rows()
    del rows[0]["prompt"]
    rows[2]["metadata"]["lineno"] = "x"
    mirror = minirepo.build_mirror(tmp_path / "m", task_rows=rows)
    with pytest.raises(DatasetError, match=r"jsonl:1: prompt: .*\n.*jsonl:3: metadata\.lineno: "):
        load_benchmark(str(mirror), home=tmp_path)


@pytest.mark.parametrize(
    ("source", "complaint"), [(name, f"unknown source '{name}'") for name in ("gihub", "folder-that-is-not-there")]
)
def test_a_source_that_is_none_is_a_usage_error(tmp_path, source, complaint):
    with pytest.raises(UsageError, match=complaint):
        load_benchmark(source, home=tmp_path)


def test_the_home_is_named_by_argument_by_environment_or_lies_in_the_checkout(tmp_path, monkeypatch):
    assert data_home(tmp_path) == tmp_path
    monkeypatch.setenv("REPOEVAL_HOME", str(tmp_path / "env"))
    assert data_home() == tmp_path / "env"
    monkeypatch.delenv("REPOEVAL_HOME")
    assert data_home().parts[-2:] == ("data", "cache")
    assert (data_home().parents[1] / "Makefile").is_file()


TASK = task(path="a.py", prompt="p", ground_truth="x = 1\n")
FILE = SourceFile("r", "a.py", "x = 1\n")


@pytest.mark.parametrize(
    ("changed", "file"),
    [
        (replace(TASK, task_id="r/1"), FILE),
        (replace(TASK, path="b.py"), FILE),
        (replace(TASK, prompt="q"), FILE),
        (replace(TASK, ground_truth="x = 2\n"), FILE),
        (replace(TASK, body=LineSpan(1, 2)), FILE),
        (replace(TASK, body=LineSpan(1, 2), context_start=1), FILE),
        (TASK, SourceFile("r", "b.py", "x = 1\n")),
        (TASK, SourceFile("r", "a.py", "x = 1")),
    ],
)
def test_whatever_changes_changes_the_fingerprint(changed, file):
    assert fingerprint([changed], {"r": (file,)}) != fingerprint([TASK], {"r": (FILE,)})


def test_the_index_says_what_is_published():
    sizes = {name: (level.tasks, level.repositories) for name, level in LEVELS.items()}
    assert sizes == {"function": (455, 8), "line": (1600, 8), "api": (1600, 8)}
    repositories = index.repositories()
    assert sum(fact.tasks for fact in repositories.values()) == 455
    assert sum(fact.files for fact in repositories.values()) == len(index.file_hashes("function_level")) == 441
    assert repositories["facebookresearch_omnivore"].licence == "CC-BY-NC-4.0"
    for context, inexact in (("2k", 3), ("4k", 4)):
        places = index.coordinates(TaskSet("function", context, "codex"))
        assert len({place.task.task_id for place in places}) == 455
        assert sum(place.prompt is None for place in places) == inexact
    assert {task_set.task_file for task_set in task_sets()} == set(index.sources().task_files)
