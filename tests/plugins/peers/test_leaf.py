"""What a leaf registers is like a built-in part: it may be verified, takes headers, and is offered when misspelled."""

import pytest

from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.core.errors import SpecError
from repoeval_bench.core.registry import Row, find, is_outside, known, plug_ins, rows
from support.plug_ins import install

NAMES = {
    "astchunk",
    "blocks",
    "cocoindex",
    "early-split",
    "half-overlap",
    "least-nested",
    "semantic-text-splitter",
    "semchunk",
}


def test_its_chunkers_are_in_the_list_once():
    names = [row.name for row in rows("chunker")]
    assert set(names) >= NAMES
    assert len(names) == len(set(names))
    assert not NAMES & {row.name for row in plug_ins("chunker")}


def test_they_are_not_code_from_outside():
    assert not any(is_outside("chunker", name) or known("chunker", name).origin for name in NAMES)
    assert make_chunker("blocks:header=path").spec.endswith("header=path")
    with pytest.raises(SpecError, match="did you mean 'blocks'"):
        find("chunker", "block")


def test_a_row_of_another_package_is_from_outside(tmp_path, monkeypatch):
    """It is shown with its package, and says itself what it needs."""
    (tmp_path / "rowed.py").write_text(
        "from repoeval_bench.core.registry import Row\n"
        "row = Row(name='rowed', where='repoeval_bench.chunkers.file:FileChunker', meaning='Rows.', options=None)\n"
    )
    install(tmp_path, "rows-package", {"repoeval_bench.chunkers": {"rowed": "rowed:row"}})
    monkeypatch.syspath_prepend(tmp_path)
    result = known("chunker", "rowed")
    assert isinstance(result, Row)
    assert result.origin == "rows-package 1.0"
    assert is_outside("chunker", "rowed")
