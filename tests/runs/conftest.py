"""What tests of stored runs share."""

import pytest

from repoeval_bench.runs.records import CodeState


@pytest.fixture(scope="module")
def places(mirror, tmp_path_factory):
    """Where the data of requests is: a source, and a home that the tests of a file share."""
    return {"source": str(mirror), "home": tmp_path_factory.mktemp("home")}


@pytest.fixture
def clean(monkeypatch):
    """As if the code were committed: runs of changed code are made again."""
    state = CodeState(commit="c" * 40, dirty=False)
    for module in ("store", "view"):
        monkeypatch.setattr(f"repoeval_bench.runs.{module}.code_state", lambda: state)
