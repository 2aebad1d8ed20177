"""Bytes become lines and characters: against a plain count over the file's text."""

import re
from itertools import combinations, islice

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tree_sitter import Language as TreeSitterLanguage
from tree_sitter import Tree

from repoeval_bench.core import syntax
from repoeval_bench.core.errors import GrammarError
from repoeval_bench.core.extras import install_command
from repoeval_bench.core.languages import LANGUAGES, Language
from repoeval_bench.core.source import SourceFile, blanked
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.syntax import TreeParser, bare_grammar, parse
from support.samples import samples

LINES = st.lists(
    st.sampled_from(
        [
            *("x = 1", "größe = 'é𝒳'", "def f():", "    return [1,", "  2]", "# 中", "", "\f", "y = '\u2028'"),
            *("s = '''", "\x85"),
        ]
    ),
    max_size=20,
)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@given(rows=LINES)
def test_a_node_is_at_the_lines_and_characters_of_its_text(newline: str, rows: list[str]) -> None:
    """Identifiers and numbers have no line end in them, so the file holds their text as it is."""
    file = SourceFile("r", "a.py", newline.join(rows))
    parsed = parse(file, LANGUAGES["python"])
    stack = [parsed.root]
    while stack:
        node = stack.pop()
        stack += node.children
        if node.type in ("identifier", "integer"):
            chars = parsed.chars(node)
            assert file.slice(chars) == parsed.text(node)
            assert parsed.lines(node) == file.lines_of(chars)


def test_the_lines_of_bytes_leave_blanks_at_the_ends_out() -> None:
    parsed = parse(SourceFile("r", "a.py", "\n\n  a\n  b\n\n\n"), LANGUAGES["python"])
    assert [*parsed.lines_between(0, 12)] == [2, 3]
    assert [*parsed.lines_between(0, 1)] == [1]
    assert [*parsed.lines_between(12, 12)] == [5]


def test_a_grammar_that_is_not_installed_is_a_sentence_with_the_way_out() -> None:
    missing = Language(name="go", endings=(".go",), module="tree_sitter_of_no_package")
    assert not missing.installed
    with pytest.raises(GrammarError, match=f"grammar of go is not installed; run {re.escape(install_command())}"):
        parse(SourceFile("r", "a.go", "package a\n"), missing)


def test_trees_are_forgotten_beyond_their_room(monkeypatch) -> None:
    """A text that comes again is not parsed again, until longer ones came between."""
    monkeypatch.setattr(syntax, "_CACHED", 40)
    parser = TreeParser(TreeSitterLanguage(bare_grammar(LANGUAGES["python"])))
    first, second, long = b"def (\n", b"bcd = 22222\n" * 2, b"x = 3\n" * 9
    tree = parser.parse(first)
    parser.parse(second)
    assert parser.parse(first) is tree
    parser.parse(long)
    assert parser.parse(first) is not tree


SOURCES = {name: sample["text"] for name, sample in samples("definitions").items()}


@pytest.mark.parametrize("language", SOURCES)
def test_a_copy_with_lines_blanked_has_the_tree_of_a_text_that_is_parsed_afresh(language: str) -> None:
    """With syntax errors or without, and whatever the parser has read before; C++ has copies where reuse would not."""
    file = SourceFile("r", "a", SOURCES[language])
    grammar = TreeSitterLanguage(bare_grammar(LANGUAGES[language]))
    parser = TreeParser(grammar)
    every = 1 if language == "cpp" else 5
    for start, end in islice(combinations(range(file.n_lines + 1), 2), 0, None, every):
        parser.parse(file.text.encode())
        copy = blanked(file, LineSpan(start, end)).text.encode()
        assert nodes(parser.parse(copy)) == nodes(TreeParser(grammar).parse(copy)), (start, end)


def nodes(tree: Tree) -> list[tuple[object, ...]]:
    """Every node of a tree, and its place."""
    listed, stack = [], [tree.root_node]
    while stack:
        node = stack.pop()
        listed.append((node.kind_id, node.start_byte, node.end_point, node.is_missing))
        stack += node.children
    return listed
