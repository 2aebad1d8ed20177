"""Whole lines up to a size."""

from itertools import pairwise

import pytest

from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.core.source import SourceFile, count_nws


@pytest.mark.parametrize(
    ("spec", "chunks"),
    [
        # Lines are packed up to the limit and not beyond.
        ("max_nws=5", ["abc\nde\n", "fgh\ni\n"]),
        # Blank lines stay with what precedes, and at the start with what follows.
        ("max_nws=5", ["\n\nabcde\n\n\n", "fghij\n \n"]),
        # A line above the limit stands alone, with the blanks behind it.
        ("max_nws=3", ["a\n", "bcdefgh\n\n", "i\n"]),
        # An offset moves every boundary and leaves no stub at the head.
        ("max_nws=4", ["ab\ncd\n", "ef\ngh\n"]),
        ("max_nws=4,offset=1", ["ab\ncd\nef\n", "gh\n"]),
        # A file that fits into one chunk is one at every offset.
        *((f"max_nws=6,offset={offset}", ["ab\ncd\nef\n"]) for offset in range(5)),
        # Among blank lines or beyond the file an offset changes nothing.
        ("max_nws=4,offset=2", ["\n\nab\ncd\n"]),
        ("max_nws=4,offset=9", ["ab\ncd\n"]),
    ],
)
def test_whole_lines_up_to_a_size(spec: str, chunks: list[str]) -> None:
    file = SourceFile("r", "a.py", "".join(chunks))
    assert [chunk.text for chunk in make_chunker(f"fixed:{spec}").chunk(file)] == chunks


def test_line_sizes_are_those_of_count_nws_whatever_ends_a_line() -> None:
    for text in ("", "a", "a\n", "a b\n\n c", "a\x0bb\n", "a\u2028b\n", "ä ü\n", "a\x1fb\n", "\x1c\n", "a\rb"):
        sizes = [count_nws(line) for line in text.splitlines()]
        before = SourceFile("r", "a.py", text).nws_before()
        assert [after - earlier for earlier, after in pairwise(before)] == sizes
