"""Whole lines up to a size."""

from itertools import pairwise

import pytest

from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.core.source import SourceFile, count_nws
from support.cases import cases

CASES = cases(__file__)


@pytest.mark.parametrize(("spec", "chunks"), CASES["cuts"])
def test_whole_lines_up_to_a_size(spec: str, chunks: list[str]) -> None:
    file = SourceFile("r", "a.py", "".join(chunks))
    assert [chunk.text for chunk in make_chunker(f"fixed:{spec}").chunk(file)] == chunks


def test_line_sizes_are_those_of_count_nws_whatever_ends_a_line() -> None:
    for text in ("", "a", "a\n", "a b\n\n c", "a\x0bb\n", "a\u2028b\n", "ä ü\n", "a\x1fb\n", "\x1c\n", "a\rb"):
        sizes = [count_nws(line) for line in text.splitlines()]
        before = SourceFile("r", "a.py", text).nws_before()
        assert [after - earlier for earlier, after in pairwise(before)] == sizes
