"""The command that installs an extra changes the environment that runs."""

import shlex

import pytest

from repoeval_bench.core import extras
from repoeval_bench.core.errors import UsageError


def test_the_environment_that_runs_is_changed(monkeypatch, tmp_path):
    """`pip` alone may belong to another one, and uv makes environments without it."""
    python = str(tmp_path / "bin" / "python")
    monkeypatch.setattr(extras.sys, "prefix", str(tmp_path))
    monkeypatch.setattr(extras.sys, "executable", python)
    requirement = "repoeval-bench[dense,report]"
    for pip, words in (("/usr/bin/pip", [python, "-m", "pip"]), (str(tmp_path / "bin" / "pip"), ["pip"])):
        monkeypatch.setattr(extras, "which", lambda _, pip=pip: pip)
        assert shlex.split(extras.install_command("dense,report")) == [*words, "install", requirement]
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    assert shlex.split(extras.install_command()) == f"uv pip install --python {tmp_path} repoeval-bench".split()


def test_a_package_that_only_a_plug_in_needs_is_named():
    """It is in no extra, so no command of ours installs it."""
    with pytest.raises(UsageError, match="chunker wordy needs absent_words; install absent_words"):
        extras.require("chunker wordy", "absent_words")
