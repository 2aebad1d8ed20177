"""Verification finds what changed after it was installed."""

from dataclasses import replace

import pytest

from repoeval_bench.core.errors import DatasetError
from repoeval_bench.dataset.install import HASHES, install
from repoeval_bench.dataset.repoeval import TaskSet
from repoeval_bench.dataset.sources import SetFacts
from repoeval_bench.dataset.sources.archived import MirrorFolder
from repoeval_bench.dataset.verification import verify
from support import minirepo

FUNCTION = TaskSet("function", "2k", "codex")


def official(tmp_path, task_set=FUNCTION):
    """A set that says of itself that it is the published one."""
    mirror = MirrorFolder(minirepo.build_mirror(tmp_path / "m", task_set.level))
    return replace(install(tmp_path / "home", mirror, task_set), facts=SetFacts(name="repoeval", source="mirror"))


@pytest.fixture
def installed(tmp_path):
    return install(tmp_path / "home", MirrorFolder(minirepo.build_mirror(tmp_path / "m")), FUNCTION)


def test_an_untouched_set_passes(installed):
    result = verify(installed)
    assert result.passed
    assert (result.tasks, result.files) == (len(minirepo.rows()), len(minirepo.tree_files()) + 1)


def files_of(result):
    """The names of the wrong files, sorted."""
    return sorted(line.partition(": ")[0] for line in result.wrong_files)


def test_a_changed_file_and_the_tasks_that_no_longer_fit_are_named(installed):
    path = installed.tree / "northwind_textkit" / "textkit" / "wrap.py"
    path.write_text("# one line more\n" + minirepo.WRAP, encoding="utf-8")
    result = verify(installed)
    assert not result.passed
    assert files_of(result) == ["northwind_textkit/textkit/wrap.py"]
    assert len(result.wrong_tasks) == 2
    assert all("is not at line" in line for line in result.wrong_tasks)


def test_missing_added_and_undecodable_files_are_named(installed):
    tree = installed.tree / "northwind_textkit" / "textkit"
    (tree / "wrap.py").unlink()
    (tree / "new.py").write_text("x = 1\n")
    (tree / "search.py").write_bytes(b"\xff")
    result = verify(installed)
    assert files_of(result) == [f"northwind_textkit/textkit/{name}.py" for name in ("new", "search", "wrap")]
    assert len({line.partition(": ")[2] for line in result.wrong_files}) == 3  # each for a reason of its own
    ends = {line.partition(": its file northwind_textkit/textkit/")[2] for line in result.wrong_tasks}
    assert ends == {f"{name}.py does not exist, or is not UTF-8" for name in ("wrap", "search")}


def test_a_set_without_its_record_of_hashes_says_how_to_get_one(installed):
    (installed.tree / HASHES).unlink()
    with pytest.raises(DatasetError, match=r"delete .* and fetch the data again"):
        verify(installed)


def test_an_official_task_file_that_was_edited_is_named(tmp_path):
    result = verify(official(tmp_path))
    assert (result.passed, result.wrong_tasks) == (False, ())
    texts = [line for line in result.wrong_files if line.startswith("function_level_completion_2k")]
    assert len(texts) == len(minirepo.rows())


def test_an_official_file_of_another_level_must_have_its_blob_id(tmp_path):
    result = verify(official(tmp_path, TaskSet("line", "2k", "codex")))
    assert files_of(result) == ["line_level_completion_2k_context_codex.test.jsonl"]
