"""Source on the page: lines and columns are counted as a browser counts them."""

from hypothesis import given
from hypothesis import strategies as st

from repoeval_bench.report.html.code import LINE, cut_lines, position, units


@given(st.text(alphabet="ab\n\r\u2028\f\U0001f600 ", max_size=60), st.data())
def test_a_place_in_the_text_is_its_line_and_column(text, data):
    """Cutting the joined lines at the place leaves the lines before it and the column's text."""
    at = data.draw(st.integers(0, len(text)))
    line, column = position(text, at)
    lines = text.splitlines()
    before = text[:at].splitlines(keepends=True)
    if at == len(text):
        assert (line, column) == (len(lines), 0)
    else:
        ended = bool(before) and before[-1] != before[-1].splitlines()[0] and not text[: at + 1].endswith("\r\n")
        assert line == (len(before) if ended or not before else len(before) - 1)
        assert column <= units(lines[line])


def test_long_lines_are_cut_and_say_how_long_they_are():
    """A line of a megabyte is shown by its beginning; a place behind the cut is the cut."""
    lines, cut = cut_lines("short\n" + "x" * 1_000_000 + "\nlast")
    assert [len(line) for line in lines] == [5, LINE, 4]
    assert cut == {1: 1_000_000}
    assert position("short\n" + "x" * 1_000_000, 500_000) == (1, LINE)
