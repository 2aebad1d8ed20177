"""Source on the page: lines, columns and colours are counted as a browser counts them."""

import re

from hypothesis import given
from hypothesis import strategies as st

from repoeval_bench.report.html.code import LINE, cut_lines, position, syntax, units

SOURCE = 'def greet(name):\n    """Say hello."""\n    return f"hi {name}"  # \U0001f600 done\n'


def runs(text):
    return [(letter, int(length)) for letter, length in re.findall(r"([a-z])(\d+)", text)]


def test_colours_cover_the_text_and_name_its_parts():
    """Runs add up to the text in UTF-16 units; keyword, name, docstring and comment are distinguished."""
    lines = SOURCE.splitlines()
    result = runs(syntax(lines, "a/b.py"))
    assert sum(length for _, length in result) == units("\n".join(lines))
    text, at, parts = "\n".join(lines).encode("utf-16-le"), 0, []
    for letter, length in result:
        parts.append((letter, text[2 * at : 2 * (at + length)].decode("utf-16-le")))
        at += length
    for part_ in (("k", "def"), ("f", "greet"), ("k", "return"), ("c", "# \U0001f600 done")):
        assert part_ in parts
    assert any(letter == "s" and "Say hello." in part for letter, part in parts)


def test_a_language_nobody_knows_has_no_colours():
    """Such a file is shown plain."""
    assert syntax(["whatever"], "a/b.nonsense") == ""


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
