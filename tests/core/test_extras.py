"""The command that installs an extra works from where the tool was installed."""

import json
import shlex
from importlib.metadata import Distribution
from pathlib import Path

import pytest

from repoeval_bench.core import extras

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

    def words(origin, wanted="chonkie"):
        monkeypatch.setattr(extras, "__file__", str(tmp_path / "lib" / "repoeval_bench" / "core" / "extras.py"))
        monkeypatch.setattr(extras, "_distribution", lambda name: Installed(origin))
        program, install, *rest = shlex.split(extras.install_command(wanted))
        assert (program, install) == ("pip", "install")
        return rest

    return words


def test_a_checkout_is_installed_as_it_was_with_its_folder_where_it_is_not_the_current_one(monkeypatch, tmp_path):
    monkeypatch.chdir(ROOT)
    assert shlex.split(extras.install_command("chonkie"))[-2:] == ["-e", ".[chonkie]"]
    assert shlex.split(extras.install_command())[-2:] == ["-e", "."]
    monkeypatch.chdir(tmp_path)
    assert shlex.split(extras.install_command("chonkie"))[-2:] == ["-e", f"{ROOT}[chonkie]"]


@pytest.mark.parametrize(
    ("origin", "words"),
    [
        (None, ["repoeval-bench[chonkie]"]),
        ({"url": "file:///w/it%27s%20here/a.whl", "archive_info": {}}, ["/w/it's here/a.whl[chonkie]"]),
        ({"url": "file:///w/source", "dir_info": {}}, ["/w/source[chonkie]"]),
        ({"url": "https://a.test/a.whl", "archive_info": {}}, ["repoeval-bench[chonkie] @ https://a.test/a.whl"]),
        (
            {"url": "https://a.test/a.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
            ["repoeval-bench[chonkie] @ git+https://a.test/a.git@abc"],
        ),
        (
            {"url": "file:///w/a", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
            ["repoeval-bench[chonkie] @ git+file:///w/a@abc"],
        ),
    ],
)
def test_what_was_not_got_from_an_index_is_named_by_its_place(from_origin, origin, words):
    assert from_origin(origin) == words


def test_a_program_that_keeps_an_environment_for_each_tool_makes_it_again(monkeypatch, tmp_path):
    monkeypatch.setattr(extras.sys, "prefix", str(tmp_path))
    for sign, words in (("uv-receipt.toml", "uv tool install --force"), ("pipx_metadata.json", "pipx install --force")):
        (tmp_path / sign).touch()
        assert extras.install_command("chonkie").startswith(f"{words} -e ")
        (tmp_path / sign).unlink()
