"""What a leaf registers is like a built-in part: it may be verified, takes headers, and is offered when misspelled."""

import pytest

from repoeval_bench.chunkers.registry import CHUNKERS, make_chunker
from repoeval_bench.core.errors import SpecError

NAMES = {"astchunk", "ck", "cocoindex", "continue", "grepai", "semantic-text-splitter", "semchunk"}


def test_its_chunkers_are_in_the_list_once():
    names = [row.name for row in CHUNKERS]
    assert set(names) >= NAMES
    assert len(names) == len(set(names))
    assert not NAMES & {row.name for row in CHUNKERS.plug_ins()}


def test_they_are_not_code_from_outside():
    assert not any(CHUNKERS.is_outside(name) or CHUNKERS.known(name).origin for name in NAMES)
    assert make_chunker("ck:header=path").spec.endswith("header=path")
    with pytest.raises(SpecError, match="did you mean 'grepai'"):
        CHUNKERS.find("grepia")
