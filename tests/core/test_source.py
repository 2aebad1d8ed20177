"""The promises of spans, files and chunks to every later stage."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoeval_bench.core.source import Chunk, SourceFile, count_nws, encode_id
from repoeval_bench.core.spans import CharSpan, LineSpan
from support.written import task

few = st.tuples(st.integers(0, 5), st.integers(0, 3)).map(lambda pair: LineSpan(pair[0], sum(pair)))


@given(few, few)
def test_spans_overlap_by_the_positions_that_both_hold(a, b):
    """Half-open, so touching or empty spans share none."""
    shared = len(set(a) & set(b))
    assert (a.overlap(b), a.overlaps(b)) == (shared, shared > 0)
    assert a.contains(b) == (a.start <= b.start and b.end <= a.end)


@pytest.mark.parametrize("ends", [(-1, 2), (3, 2)])
def test_impossible_spans_are_refused(ends):
    with pytest.raises(ValueError, match="is not a range"):
        LineSpan(*ends)


@pytest.mark.parametrize("text", ["", "a", "a\n", "a\nb", "a\n\nb\n", "a\fb\n", "x\u2028y\nz", "é\n𝒳 y\n"])
def test_line_table_is_that_of_splitlines(text):
    """Lines are those of str.splitlines(), whose form feeds and separators count too, and rebuild the text."""
    file = SourceFile("r", "p.py", text)
    lines = text.splitlines(keepends=True)
    assert file.n_lines == len(lines)
    assert [file.line_text(LineSpan(i, i + 1)) for i in range(file.n_lines)] == lines
    for i, line in enumerate(lines):
        span = file.chars_of(LineSpan(i, i + 1))
        assert file.slice(span) == line
        assert file.lines_of(span) == LineSpan(i, i + 1)


def test_lines_of_partial_spans():
    """A span's lines are those its characters are on; a line's newline belongs to the line; empty has none."""
    file = SourceFile("r", "p.py", "ab\ncd\nef")
    assert file.lines_of(CharSpan(1, 4)) == LineSpan(0, 2)
    assert file.lines_of(CharSpan(2, 3)) == LineSpan(0, 1)
    assert file.lines_of(CharSpan(7, 8)) == LineSpan(2, 3)
    assert len(file.lines_of(CharSpan(3, 3))) == 0
    assert len(file.lines_of(CharSpan(8, 8))) == 0


def test_chunk_cut_copies_the_files_text():
    """A chunk's text is the file's slice, its id says where it is, and its header moves no span."""
    file = SourceFile("own/repo", "a b.py", "x = 1\ny = 2\n")
    chunk = Chunk.cut(file, CharSpan(6, 12), header="# a\n")
    assert chunk.text == "y = 2\n"
    assert chunk.lines == LineSpan(1, 2)
    assert chunk.chunk_id == "own/repo/a%20b.py@6-12"
    assert chunk.embed_text == "# a\ny = 2\n"


@pytest.mark.parametrize("span", [CharSpan(2, 2), CharSpan(0, 99)])
def test_chunk_cut_refuses_empty_and_outside(span):
    with pytest.raises(ValueError, match="empty or outside"):
        Chunk.cut(SourceFile("r", "p.py", "x = 1\n"), span)


def test_encoded_ids_are_one_word_and_distinct():
    """Blanks and percent signs are encoded, so that ids stay one word and no two become one."""
    assert encode_id("a b\t%20é\u3000") == "a%20b%09%2520é%E3%80%80"
    assert encode_id("a b") != encode_id("a%20b")


def test_count_nws_counts_code_points():
    """nws counts characters that are not white space, of any script."""
    assert count_nws(" a\tb\n\u3000𝒳é \f") == 4


def test_gold_spans_follow_the_protocol_page():
    """prompt = [c, h+1), context = [c, h+n), body = [h, h+n)."""
    gold = task(body=LineSpan(10, 12), context_start=3)
    assert (gold.prompt_span, gold.context_span, gold.body) == (LineSpan(3, 11), LineSpan(3, 12), LineSpan(10, 12))


def test_no_module_hides_a_public_name():
    """A submodule named like a public function would replace it once imported."""
    import pkgutil

    import repoeval_bench

    modules = {module.name for module in pkgutil.iter_modules(repoeval_bench.__path__)}
    assert not modules & set(repoeval_bench.__all__)


@pytest.mark.parametrize(
    ("header", "rewritten", "embedded", "added"),
    [
        ("", "", "ab c\n", 0),
        ("# h\n", "", "# h\nab c\n", 2),
        ("", "# h\nab c\n", "# h\nab c\n", 2),
        ("# h\n", "ab c and more", "# h\nab c and more", 9),
        ("", "a", "a", 0),
    ],
)
def test_what_is_embedded_beyond_a_chunks_text_is_added(header, rewritten, embedded, added):
    """A header costs itself, a rewritten text what it has more; a shorter one takes nothing off the lines."""
    file = SourceFile("r", "a.py", "ab c\nd\n")
    chunk = Chunk.cut(file, CharSpan(0, 5), header, rewritten)
    assert (chunk.text, chunk.embed_text, chunk.added_nws) == ("ab c\n", embedded, added)
    assert chunk.chunk_id == Chunk.cut(file, CharSpan(0, 5)).chunk_id


def test_spans_and_chunks_are_themselves_in_another_process():
    """Types and every field; a line span never equals a character span with the same numbers."""
    assert LineSpan(1, 2) != CharSpan(1, 2)
    chunk = Chunk.cut(SourceFile("r", "a.py", "ab c\nd\n"), CharSpan(0, 5), "h", "w")
    again = pickle.loads(pickle.dumps(chunk))
    assert again == chunk
    assert (type(again.chars), type(again.lines)) == (CharSpan, LineSpan)
