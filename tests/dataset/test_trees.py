"""Repository trees: which files belong, and their text."""

import os

import pytest

from repoeval_bench.core.errors import DatasetError
from repoeval_bench.dataset.trees import is_source_path, read_tree
from support.codebase import write_files


def test_python_files_outside_hidden_folders_sorted_by_path(tmp_path):
    root = write_files(
        tmp_path / "r",
        dict.fromkeys(["b.py", "a/z.py", "a.py", ".git/x.py", "a/__pycache__/z.py", "a/n.txt", "a/.tox/q.py"], b""),
    )
    assert [file.path for file in read_tree(root, "r").files] == ["a.py", "a/z.py", "b.py"]


@pytest.mark.parametrize(
    ("path", "taken"),
    [("a.py", True), ("x/y/a.py", True), (".x/a.py", False), ("__pycache__/a.py", False), ("a.pyc", False)],
)
def test_a_path_is_judged_as_the_tree_is_walked(path, taken):
    assert is_source_path(path) is taken


def test_a_file_that_is_not_utf8_is_named_and_the_others_stay(tmp_path):
    root = write_files(tmp_path / "r", {"good.py": b"x = 1\n", "sub/bad.py": b"\xff\xfe"})
    tree = read_tree(root, "r")
    assert [file.path for file in tree.files] == ["good.py"]
    assert tree.undecodable == ("sub/bad.py",)


def test_no_link_is_followed(tmp_path):
    write_files(tmp_path / "elsewhere", {"secret.py": b"x = 1\n"})
    root = write_files(tmp_path / "r", {"a.py": b"x = 1\n"})
    (root / "inside.py").symlink_to(root / "a.py")
    (root / "outside.py").symlink_to(tmp_path / "elsewhere" / "secret.py")
    (root / "nowhere.py").symlink_to(tmp_path / "nothing.py")
    (root / "folder").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    tree = read_tree(root, "r")
    assert [file.path for file in tree.files] == ["a.py"]


def test_a_missing_repository_is_named_with_the_way_out(tmp_path):
    with pytest.raises(DatasetError, match=r"repository r is not among the data .*repoeval-bench data fetch"):
        read_tree(tmp_path / "r", "r")


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser reads every folder")
def test_a_folder_that_cannot_be_read_is_named(tmp_path):
    root = write_files(tmp_path / "r", {"a/b.py": b""})
    (root / "a").chmod(0)
    try:
        with pytest.raises(DatasetError, match="cannot read the folder"):
            read_tree(root, "r")
    finally:
        (root / "a").chmod(0o755)
