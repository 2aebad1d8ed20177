"""Checkouts that are not one's own: nothing in them runs, is fetched or is waited for; and what git says stays true."""

import os
import shutil
import socket
from pathlib import Path

import pytest

from repoeval_bench.core.errors import DatasetError
from repoeval_bench.dataset.reading.code import Gathered, gather
from repoeval_bench.dataset.reading.origin import open_folder
from repoeval_bench.own.history.repository import history_of
from support.cases import cases
from support.codebase import commit, git, write_code, write_files
from support.command import succeed

CASES = cases(__file__)


@pytest.fixture
def planted(tmp_path):
    """A program that leaves a file when it runs, as its path and a function that says whether it did."""
    ran = tmp_path / "ran"
    program = tmp_path / "program.sh"
    program.write_text(f"#!/bin/sh\n: > '{ran}'\nexit 1\n")
    program.chmod(0o755)
    return program, ran.exists


@pytest.fixture(scope="module")
def committed(tmp_path_factory):
    folder = write_code(tmp_path_factory.mktemp("committed") / "checkout", aside=False)
    (folder / ".gitattributes").write_text("*.py filter=planted diff=planted merge=planted text\n*.go ident eol=crlf\n")
    (folder / ".gitmodules").write_text('[submodule "x"]\n\tpath = x\n\turl = ext::true\n\tupdate = !true\n')
    commit(folder)
    return folder


@pytest.fixture
def folder(committed, tmp_path):
    """A copy of the checkout, to be spoilt."""
    return Path(shutil.copytree(committed, tmp_path / "checkout"))


def read(folder: Path) -> tuple[dict[str, object], list[str], dict[str, int]]:
    """The facts, the files that are read to their ends, and what is left out."""
    origin = open_folder(folder)
    result = Gathered()
    files = [file.path for file in gather(origin, (), result) if file.file]
    return dict(origin.facts), sorted(files), result.counts


def configured(folder: Path, settings: dict[str, str], program: object = "") -> None:
    """Add settings to a checkout's own; {} is the program."""
    for key, value in settings.items():
        git(folder, "config", "--add", key, value.format(program))


SETTINGS = CASES["settings"]


@pytest.mark.parametrize("name", SETTINGS)
def test_no_setting_runs_a_program(folder, planted, name):
    program, ran = planted
    whole = read(folder)
    configured(folder, SETTINGS[name], program)
    assert read(folder) == whole
    assert not ran()


def test_submodules_and_repositories_inside_are_not_read_with_it(folder, planted):
    program, ran = planted
    for name in ("x", "untracked"):
        inner = folder / name
        inner.mkdir()
        (inner / "inner.py").write_text("x = 1\n")
        commit(inner)
        git(inner, "config", "core.fsmonitor", str(program))
    git(folder, "update-index", "--add", "--cacheinfo", f"160000,{git(folder / 'x', 'rev-parse', 'HEAD').strip()},x")
    facts, files, skipped = read(folder)
    assert not ran()
    assert (facts["kind"], skipped["ignored by git"]) == ("git", 2)
    assert not [path for path in files if path.startswith(("x/", "untracked/"))]


def test_a_linked_worktree_and_a_submodule_are_checkouts(folder, tmp_path):
    """A `.git` file is followed: that reads names and ids there, and no setting."""
    git(folder, "worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    git(folder, "config", "core.fsmonitor", "/nowhere/program")
    assert read(tmp_path / "linked") == read(folder)
    facts = read(folder)[0]
    git(folder, "init", "-q", "--separate-git-dir", str(tmp_path / "apart"))
    assert read(folder)[0] == facts


@pytest.mark.parametrize("text", ["gitdir: /nowhere/at/all", "gitdir: /dev", "x" * 2_000_000, "gitdir: .", "", "\0"])
def test_a_git_file_that_leads_nowhere_is_said(folder, text):
    whole = read(folder)
    shutil.rmtree(folder / ".git")
    (folder / ".git").write_text(text)
    assert read(folder)[:2] == ({"kind": "folder"}, whole[1])
    (note,) = open_folder(folder).notes
    assert str(folder) in note


def test_a_bare_repository_has_the_files_of_its_head(folder, tmp_path):
    """It needs no worktree; what a partial clone lacks is counted."""
    facts, files, _ = read(folder)
    bare = tmp_path / "shop.git"
    git(tmp_path, "clone", "--quiet", "--bare", str(folder), str(bare))
    assert read(bare)[:2] == (facts, files)
    assert open_folder(bare).name == "shop"
    assert read(folder / ".git")[1] == files
    blob = git(folder, "rev-parse", f"HEAD:{files[0]}").strip()
    (folder / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    _, left, missing = read(folder / ".git")
    assert (left, missing["not here"]) == (files[1:], 1)
    shutil.rmtree(bare / "objects" / "pack", ignore_errors=True)
    for objects in (bare / "objects").glob("??"):
        shutil.rmtree(objects)
    with pytest.raises(DatasetError, match="cannot be read: its objects are broken or incomplete; clone it again"):
        open_folder(bare)


def test_a_damaged_checkout_is_a_folder(folder):
    whole = read(folder)
    for name in ("HEAD", "index"):
        path = folder / ".git" / name
        kept = path.read_bytes()
        refs = (b"ref: ../../../etc/passwd\n", b"ref: refs/heads/x\0\n")
        for wrong in (b"", b"\0" * 90, *refs, kept[:40], b"\xff" * 41):
            path.write_bytes(wrong)
            facts, files, _ = read(folder)
            assert files == whole[1]
            assert facts["kind"] == "folder" or facts["commit"] in {"", whole[0]["commit"]}
        path.write_bytes(kept)
    (folder / ".git" / "reftable").mkdir()
    assert read(folder)[0] == {"kind": "folder"}
    with pytest.raises(DatasetError, match="in a reftable; clone it again with --ref-format=files"):
        open_folder(folder / ".git")
    assert (folder / ".git" / "refs" / "heads").is_dir()  # nothing is written


def test_ids_may_be_of_sha_256(committed, folder, tmp_path):
    """A commit of theirs has a history too, loose and in a pack."""
    shutil.rmtree(folder / ".git")
    git(folder, "init", "-q", "--object-format=sha256")
    new = commit(folder)
    assert len(new) == 64
    facts, *whole = read(folder)
    assert ({**facts, "commit": ""}, whole) == ({**read(committed)[0], "commit": ""}, [*read(committed)[1:]])
    git(tmp_path, "clone", "--quiet", "--bare", str(folder), str(tmp_path / "bare.git"))
    git(tmp_path / "bare.git", "gc", "-q")
    for repository in (folder, tmp_path / "bare.git"):
        assert read(repository)[:2] == ({"kind": "git", "commit": new}, whole[0])
        with history_of(repository) as history:
            (first,) = history.log(history.time_of(new[:9]))
            assert {*whole[0]} <= history.files(first.tree).keys()


def test_git_is_not_needed(folder, monkeypatch, tmp_path):
    whole = read(folder)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    assert read(folder) == whole
    assert whole[0]["kind"] == "git"


def test_packs_indexes_and_branches_of_each_kind(folder):
    whole = read(folder)
    git(folder, "gc", "-q")
    git(folder, "multi-pack-index", "write")
    git(folder, "update-index", "--index-version", "4")
    git(folder, "config", "core.untrackedCache", "true")
    git(folder, "status")
    assert read(folder) == whole
    for name in ("ledger", "web/src"):
        assert read(folder / name)[0] == whole[0]
    git(folder, "checkout", "-q", "--orphan", "new")
    assert read(folder)[0] == {"kind": "git", "commit": ""}


RULES = CASES["rules"]
PATHS = [
    *("a.log.py", "keep.log.py", "out/x.py", "sub/out/x.py", "sub/in.py", "sub/x/in.py", "sub/top2.py"),
    *("top.py", "sub/top.py", "docs/gen.py", "docs/a/gen.py", "docs/a/b/gen.py", "deep/x.py"),
    *("x/deep/x.py", "a/b/c.py", "a/b/d/c.py", "trailing.py", "!bang.py", "#hash.py", "ax.py", "dx.py"),
    *("ay.py", "dy.py", "1z.py", "az.py", "qq.py", "qqq.py", "all/x.py", "all/kept.py", "all/d/kept.py"),
    *("[broken.py", "abc/x.py", "abc/d/x.py", "abc", "cr.py", "excluded.py", "sub/excluded.py", "n/out"),
    *("n/x.py", "tracked/out/x.py"),
]


def test_what_is_ignored_is_what_git_ignores(tmp_path):
    """Every rule of the file formats, against git itself."""
    folder = tmp_path / "rules"
    folder.mkdir()
    git(folder, "init", "-q")
    write_files(folder, RULES | dict.fromkeys([*(path for path in PATHS if path != "abc"), "esc .py"], "x = 1\n"))
    git(folder, "add", "-f", "tracked", "out/x.py")
    listed = git(folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    assert set(open_folder(folder).paths) == set(filter(None, listed))
    inner = git(folder / "sub", "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    assert set(open_folder(folder / "sub").paths) == set(filter(None, inner))
    assert open_folder(folder / "all" / "d").facts == {"kind": "folder"}
    assert open_folder(folder / "out").facts["kind"] == "git"  # git ignores it, and tracks a file in it


def test_each_checkout_in_a_folder_is_read_by_its_own_rules(tmp_path, folder):
    for name in ("one", "two"):
        write_files(tmp_path / name, {".gitignore": "out/\n", "a.py": "x = 1\n", "out/b.py": "x = 2\n"})
        commit(tmp_path / name)
    write_files(tmp_path / "plain", {"out/c.py": "x = 3\n"})
    shutil.rmtree(folder)
    origin = open_folder(tmp_path)
    assert {path for path in origin.paths if path.endswith(".py")} == {"one/a.py", "two/a.py", "plain/out/c.py"}
    assert origin.facts == {"kind": "folder"}
    assert origin.skipped["ignored by git"] == 2


def test_a_checkout_in_a_folder_that_cannot_be_read_is_named(tmp_path, folder):
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n\0")
    (folder / ".git" / "index").write_bytes(b"no index")
    origin = open_folder(tmp_path)
    assert origin.paths
    assert [note.partition(":")[0] for note in origin.notes] == [f"{folder} is a git checkout that is not read"]


def test_pipes_and_sockets_are_not_read(folder):
    os.mkfifo(folder / "pipe.py")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(folder / "socket"))
        assert not {"pipe.py", "socket"} & {*read(folder)[1]}


@pytest.mark.parametrize("name", ["ssh", "uploadpack", "ext"])
def test_recommend_and_data_build_run_nothing_and_say_so(folder, planted, tmp_path, name):
    program, ran = planted
    (folder / ".git" / "reftable").mkdir()
    configured(folder, SETTINGS[name], program)
    build = ("data", "build", folder, "-o", tmp_path / "pack", "--resolve", "no")
    recommend = ("recommend", folder, "--out", tmp_path / "results", "-c", "fixed", "--retriever", "bm25")
    for arguments in (build, (*recommend, "--sizes", "500,1000", "--home", tmp_path / "home")):
        done = succeed(*arguments)
        assert "is not read" in " ".join(done.err.split())
        assert not ran()
