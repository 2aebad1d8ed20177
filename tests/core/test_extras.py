"""The command that installs an extra works from where the tool was installed."""

import json
import shlex
from importlib.metadata import Distribution
from pathlib import Path

import pytest

from repoeval_bench.core import extras
from repoeval_bench.core.errors import UsageError

ROOT = Path(__file__).resolve().parents[2]


class Installed(Distribution):
    """A distribution with a direct_url.json, or none."""

    def __init__(self, origin):
        self._origin = origin

    def read_text(self, filename):
        return json.dumps(self._origin) if filename == "direct_url.json" and self._origin else None

    def locate_file(self, path):
        return Path(path)


@pytest.fixture
def from_origin(monkeypatch, tmp_path):
    """Has the tool be installed away from a checkout, with these facts on where it came from; the words after install."""

    def words(origin, expected="chonkie"):
        monkeypatch.setattr(extras, "__file__", str(tmp_path / "lib" / "repoeval_bench" / "core" / "extras.py"))
        monkeypatch.setattr(extras, "_distribution", lambda name: Installed(origin))
        *program, install, requirement = shlex.split(extras.install_command(expected))
        assert "pip" in program[-1]
        assert install == "install"
        return requirement

    return words


def test_a_checkout_is_installed_as_it_was_with_its_folder_where_it_is_not_the_current_one(monkeypatch, tmp_path):
    monkeypatch.chdir(ROOT)
    assert shlex.split(extras.install_command("chonkie"))[-2:] == ["-e", ".[chonkie]"]
    assert shlex.split(extras.install_command())[-2:] == ["-e", "."]
    monkeypatch.chdir(tmp_path)
    assert shlex.split(extras.install_command("chonkie"))[-2:] == ["-e", f"{ROOT}[chonkie]"]


GIT = {"vcs_info": {"vcs": "git", "commit_id": "abc"}}


@pytest.mark.parametrize(
    ("origin", "requirement"),
    [
        (None, "repoeval-bench[chonkie]"),
        ({"url": "file:///w/it%27s%20here/a.whl", "archive_info": {}}, "/w/it's here/a.whl[chonkie]"),
        ({"url": "file:///w/source", "dir_info": {}}, "/w/source[chonkie]"),
        ({"url": "https://a.test/a.whl", "archive_info": {}}, "repoeval-bench[chonkie] @ https://a.test/a.whl"),
        ({"url": "https://a.test/a.git", **GIT}, "repoeval-bench[chonkie] @ git+https://a.test/a.git@abc"),
        ({"url": "file:///w/a", **GIT}, "repoeval-bench[chonkie] @ git+file:///w/a@abc"),
    ],
)
def test_what_was_not_got_from_an_index_is_named_by_its_place(from_origin, origin, requirement):
    assert from_origin(origin) == requirement


def test_a_program_that_keeps_an_environment_for_each_tool_makes_it_again(monkeypatch, tmp_path):
    monkeypatch.setattr(extras.sys, "prefix", str(tmp_path))
    for sign, words in (("uv-receipt.toml", "uv tool install --force"), ("pipx_metadata.json", "pipx install --force")):
        (tmp_path / sign).touch()
        assert extras.install_command("chonkie").startswith(f"{words} -e ")
        (tmp_path / sign).unlink()


@pytest.mark.parametrize("folder", ["archive-v0", "builds-v0", "environments-v2"])
def test_an_environment_for_one_call_is_made_again_with_the_extra(monkeypatch, tmp_path, folder):
    monkeypatch.setattr(extras.sys, "prefix", str(tmp_path / folder / "zxrZO6J6Q9ZgMoGC"))
    monkeypatch.chdir(tmp_path)
    words = shlex.split(extras.install_command("chonkie"))
    assert words == ["uvx", "--from", f"{ROOT}[chonkie]", "repoeval-bench"]


def test_an_environment_that_is_not_active_is_named(monkeypatch, tmp_path):
    """`pip` and `uv pip` alone would change another one."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "pip").touch(mode=0o755)
    monkeypatch.setattr(extras.sys, "prefix", str(tmp_path))
    monkeypatch.setattr(extras.sys, "executable", str(tmp_path / "bin" / "python"))
    for pip_is_here in (True, False):
        monkeypatch.setattr(extras, "_distribution", lambda name, here=pip_is_here: Installed({}) if here else None)
        monkeypatch.delenv("VIRTUAL_ENV", raising=False)
        monkeypatch.setenv("PATH", "/usr/bin")
        assert str(tmp_path) in extras.install_command("chonkie")
        monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path))
        monkeypatch.setenv("PATH", str(tmp_path / "bin"))
        assert str(tmp_path) not in extras.install_command("chonkie")


def test_a_package_that_only_a_plug_in_needs_is_named():
    """It is in no extra, so no command of ours installs it."""
    with pytest.raises(UsageError, match="chunker wordy needs absent_words; install absent_words"):
        extras.require("chunker wordy", "absent_words")
