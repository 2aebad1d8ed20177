"""Which code ran: the commit and whether files differ from it, asked of git without a trace in the checkout."""

import os

from repoeval_bench.runs.provenance import code_state
from support.codebase import commit


def test_a_checkout_is_asked_and_not_written(tmp_path, monkeypatch):
    """A command that is killed while it asks would leave git's lock behind, and git would refuse to commit."""
    file = tmp_path / "repoeval_bench" / "runs" / "provenance.py"
    file.parent.mkdir(parents=True)
    file.write_text("")
    made = commit(tmp_path)
    os.utime(file, (1, 1))  # git would look at it, see that it is the same, and note that in its index
    before = (tmp_path / ".git" / "index").read_bytes()
    monkeypatch.setattr("repoeval_bench.runs.provenance.__file__", str(file))
    asked = code_state.__wrapped__
    assert (asked().commit, asked().dirty) == (made, False)
    assert (tmp_path / ".git" / "index").read_bytes() == before
    file.write_text("changed")
    assert asked().dirty
