"""Whole lines up to a size."""

from itertools import pairwise

from repoeval_bench.chunkers.fixed import FixedChunker
from repoeval_bench.core.source import SourceFile, count_nws


def texts(text: str, **options: int) -> list[str]:
    return [chunk.text for chunk in FixedChunker(**options).chunk(SourceFile("r", "a.py", text))]


def test_lines_are_packed_up_to_the_limit_and_not_beyond() -> None:
    assert texts("abc\nde\nfgh\ni\n", max_nws=5) == ["abc\nde\n", "fgh\ni\n"]


def test_blank_lines_stay_with_what_precedes_and_at_the_start_with_what_follows() -> None:
    assert texts("\n\nabcde\n\n\nfghij\n \n", max_nws=5) == ["\n\nabcde\n\n\n", "fghij\n \n"]


def test_a_line_above_the_limit_stands_alone_with_the_blanks_behind_it() -> None:
    assert texts("a\nbcdefgh\n\ni\n", max_nws=3) == ["a\n", "bcdefgh\n\n", "i\n"]


def test_an_offset_moves_every_boundary_and_leaves_no_stub_at_the_head() -> None:
    assert texts("ab\ncd\nef\ngh\n", max_nws=4) == ["ab\ncd\n", "ef\ngh\n"]
    assert texts("ab\ncd\nef\ngh\n", max_nws=4, offset=1) == ["ab\ncd\nef\n", "gh\n"]


def test_a_file_that_fits_into_one_chunk_is_one_at_every_offset() -> None:
    assert all(texts("ab\ncd\nef\n", max_nws=6, offset=offset) == ["ab\ncd\nef\n"] for offset in range(5))


def test_an_offset_among_blank_lines_or_beyond_the_file_changes_nothing() -> None:
    assert texts("\n\nab\ncd\n", max_nws=4, offset=2) == ["\n\nab\ncd\n"]
    assert texts("ab\ncd\n", max_nws=4, offset=9) == ["ab\ncd\n"]


def test_line_sizes_are_those_of_count_nws_whatever_ends_a_line() -> None:
    for text in ("", "a", "a\n", "a b\n\n c", "a\x0bb\n", "a\u2028b\n", "ä ü\n", "a\x1fb\n", "\x1c\n", "a\rb"):
        sizes = [count_nws(line) for line in text.splitlines()]
        before = SourceFile("r", "a.py", text).nws_before()
        assert [after - earlier for earlier, after in pairwise(before)] == sizes
