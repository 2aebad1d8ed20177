"""Sizes in tokens of a named tokenizer: `max_tokens=512`."""

from pathlib import Path

import pytest

from repoeval_bench.chunkers._tokens import tokenizer_named
from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.chunkers.tools.cases import CASES
from repoeval_bench.chunkers.tools.conformance import broken_promises
from repoeval_bench.chunkers.tools.sizes import match_size, mean_nws, resize
from repoeval_bench.core.source import SourceFile

SIZED = ("ast", "fixed", "recursive")
FILES = [
    SourceFile("r", path.name, path.read_text(encoding="utf-8"))
    for path in sorted((Path(__file__).parents[2] / "repoeval_bench" / "runs").glob("*.py"))[:4]
]


def count(text: str) -> int:
    return len(tokenizer_named("default").encode(text, add_special_tokens=False))


@pytest.mark.parametrize("name", SIZED)
def test_chunks_are_as_large_as_asked_in_tokens(name) -> None:
    """No chunk of several lines is larger, and most are well filled."""
    chunker = make_chunker(f"{name}:max_tokens=200")
    chunks = [chunk for file in FILES for chunk in chunker.chunk(file)]
    sizes = [count(chunk.text) for chunk in chunks if len(chunk.lines) > 1]
    assert sum(size > 200 for size in sizes) == 0
    assert sum(sizes) / len(sizes) > 100


@pytest.mark.parametrize("name", SIZED)
def test_the_spec_prints_the_size_that_counts(name) -> None:
    """Without max_tokens it is what it was, so that no run's id changes."""
    usual, tokens = make_chunker(name).spec, make_chunker(f"{name}:max_tokens=200").spec
    assert "tokens" not in usual
    assert "tokenizer" not in usual
    assert "max_tokens=200,tokenizer=default" in tokens
    assert "max_nws" not in tokens
    assert make_chunker(tokens).spec == tokens


@pytest.mark.parametrize("name", SIZED)
def test_a_size_in_tokens_conforms(name) -> None:
    """On the inputs that break chunkers, but for the longest."""
    chunker = make_chunker(f"{name}:max_tokens=30")
    files = [SourceFile("r", "a.py", text) for text in CASES.values() if len(text) < 4_000]
    assert [broken for file in files if (broken := broken_promises(chunker, file))] == []


def test_a_long_line_is_cut_at_tokens() -> None:
    """`recursive` cuts within a word that alone is too long."""
    text = "x = '" + "lorem_ipsum" * 80 + "'\n"
    chunks = make_chunker("recursive:max_tokens=20").chunk(SourceFile("r", "a.py", text))
    assert "".join(chunk.text for chunk in chunks) == text
    assert len(chunks) > 5


def test_sizes_are_set_and_matched_in_tokens() -> None:
    """`--sizes` and `--match-size` set max_tokens where a spec has it."""
    assert "max_tokens=64" in resize("ast:max_tokens=200", 64)
    target = mean_nws(make_chunker("fixed:max_nws=600"), FILES)
    match = match_size("ast:max_tokens=200", target, FILES)
    assert not match.reason
    assert "max_tokens=" in match.spec
