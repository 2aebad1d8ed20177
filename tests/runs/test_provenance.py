"""Which code ran: the commit and whether files differ from it, asked of git without a trace in the checkout."""

import os
from importlib.metadata import requires

import pytest
from packaging.requirements import Requirement

from repoeval_bench.core.extras import EXTRAS
from repoeval_bench.runs.parts import kinds
from repoeval_bench.runs.provenance import code_digest, code_state, versions
from support.codebase import commit, git


@pytest.fixture
def checkout(tmp_path):
    (tmp_path / "repoeval_bench").mkdir()
    (tmp_path / "repoeval_bench" / "part.py").write_text("")
    (tmp_path / "notes.md").write_text("")
    return tmp_path


def test_a_checkout_is_asked_and_not_written(checkout):
    """A command that is killed while it asks would leave git's lock behind, and git would refuse to commit."""
    file = checkout / "repoeval_bench" / "part.py"
    commit_id = commit(checkout)
    os.utime(file, (1, 1))  # git would look at it, see that it is the same, and note that in its index
    before = (checkout / ".git" / "index").read_bytes()
    result = code_state.__wrapped__(checkout)
    assert (result.commit, result.dirty) == (commit_id, False)
    assert (checkout / ".git" / "index").read_bytes() == before
    file.write_text("changed")
    assert code_state.__wrapped__(checkout).dirty


def test_code_is_the_same_until_its_text_is_another(checkout):
    """A commit of other files, another time and other kinds of files change nothing; a new, renamed or edited one does."""
    package = checkout / "repoeval_bench"
    commit(checkout)
    first = code_digest(package)
    (checkout / "notes.md").write_text("more")
    git(checkout, "commit", "-q", "-a", "-m", "Second")
    os.utime(package / "part.py", (1, 1))
    (package / "page.css").write_text("p {}")
    (package / ".#part.py").symlink_to("somebody@somewhere.1")  # an editor's lock
    assert code_digest(package) == first
    (checkout / "elsewhere").mkdir()
    (package / "linked").symlink_to(checkout / "elsewhere")
    (checkout / "elsewhere" / "cutter.py").write_text("")
    seen = {first, code_digest(package)}
    (package / "part.py").rename(package / "renamed.py")
    seen.add(code_digest(package))
    (package / "renamed.py").write_text("changed")
    seen.add(code_digest(package))
    assert len(seen) == 4


@pytest.mark.parametrize("kind", ["chunker", "embedder", "retriever", "reranker"])
def test_the_versions_name_the_packages_of_every_part(kind):
    """Else a stored run would be used again that another version of the chunker's package made."""
    of_extra = {}
    for requirement in map(Requirement, requires("repoeval-bench")):
        for extra in EXTRAS.values():
            if requirement.marker and requirement.marker.evaluate({"extra": extra}):
                of_extra.setdefault(extra, set()).add(requirement.name)
    needed = {name for row in kinds()[kind] for package in row.requires for name in of_extra[EXTRAS[package]]}
    assert needed <= versions().keys()
    assert {"numpy", "scipy", "tree-sitter", "tree-sitter-go"} <= versions().keys()
