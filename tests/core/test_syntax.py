"""Bytes become lines and characters: against a plain count over the file's text."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tree_sitter import Language as TreeSitterLanguage
from tree_sitter import Parser, Tree

from repoeval_bench import core
from repoeval_bench.core import syntax
from repoeval_bench.core.errors import GrammarError
from repoeval_bench.core.extras import install_command
from repoeval_bench.core.languages import LANGUAGES, Language
from repoeval_bench.core.source import SourceFile, blanked
from repoeval_bench.core.syntax import Reparser, bare_grammar, parse, segments

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
@given(rows=LINES, window=st.integers(1, 100))
def test_a_node_is_at_the_lines_and_characters_of_its_text(newline: str, rows: list[str], window: int) -> None:
    """Identifiers and numbers have no line end in them, so the file holds their text as it is."""
    file = SourceFile("r", "a.py", newline.join(rows))
    for parsed in segments(file, LANGUAGES["python"], window):
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


def nodes(tree: Tree) -> list[tuple[object, ...]]:
    """Every node of a tree in order, with all that can be seen of it."""
    cursor, seen = tree.walk(), []
    while True:
        node = cursor.node
        seen.append((node.kind_id, node.range, node.is_missing, cursor.field_name, node.text))
        if cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return seen


@given(rows=LINES, others=LINES, cut=st.tuples(st.integers(0, 20), st.integers(0, 20)))
def test_a_reused_tree_is_that_of_a_parse_from_scratch(
    rows: list[str], others: list[str], cut: tuple[int, int]
) -> None:
    """Texts that differ in the middle, errors and all, in the order in which they come."""
    start, end = sorted(cut)
    language = LANGUAGES["python"]
    reparser = Reparser(TreeSitterLanguage(bare_grammar(language)))
    for text in (rows, rows[:start] + rows[end:], rows[:start] + others + rows[end:], rows):
        encoded = "\n".join(text).encode()
        scratch = Parser(TreeSitterLanguage(bare_grammar(language))).parse(encoded)
        assert nodes(reparser.parse(encoded)) == nodes(scratch)


def test_chunkers_and_sizes_share_the_trees_of_files_and_of_their_targets() -> None:
    """Ten files with ten targets each, cut four times: a file is parsed once, and a target until it has come again."""
    reparser = Reparser(TreeSitterLanguage(bare_grammar(LANGUAGES["python"])))
    files = [[f"def of_{n}_{line}(): return {line}\n" for line in range(40)] for n in range(10)]
    for _ in range(4):
        for rows in files:
            reparser.parse("".join(rows).encode())
            for target in range(10):
                blank = "".join([*rows[:target], "\n", *rows[target + 1 :]]).encode()
                assert not reparser.parse(blank).root_node.has_error
    assert reparser.parses == 10 + 2 * 100


def test_targets_that_do_not_fit_do_not_push_out_one_that_does(monkeypatch) -> None:
    """A target that came twice is kept; of those that come by turns and are more than the room, none is."""
    monkeypatch.setattr(syntax, "_REUSED", 1000)
    reparser = Reparser(TreeSitterLanguage(bare_grammar(LANGUAGES["python"])))
    rows = [f"def of_{line}(): return {line}\n" for line in range(40)]
    targets = ["".join([*rows[:target], "\n", *rows[target + 1 :]]).encode() for target in range(3)]
    reparser.parse("".join(rows).encode())
    for target in [0, 0, *[0, 1, 2] * 4]:
        reparser.parse(targets[target])
    assert reparser.parses == 1 + 2 + 4 * 2


def test_trees_are_forgotten_beyond_their_room(monkeypatch) -> None:
    """One with an error, which comes again, is parsed once too."""
    monkeypatch.setattr(syntax, "_WHOLE", 40)
    reparser = Reparser(TreeSitterLanguage(bare_grammar(LANGUAGES["python"])))
    first, second, long = b"def (\n", b"bcd = 22222\n" * 2, b"x = 3\n" * 9
    for text, parses in ((first, 1), (second, 2), (first, 2), (long, 3), (first, 4), (long, 5)):
        reparser.parse(text)
        assert reparser.parses == parses


def test_a_file_with_a_function_blanked_is_parsed_as_from_scratch() -> None:
    """Every other function of this package's longest file, as tasks blank them; its size is below a window's."""
    language = LANGUAGES["python"]
    grammar = TreeSitterLanguage(bare_grammar(language))
    path = max(Path(core.__file__).parents[1].rglob("*.py"), key=lambda path: path.stat().st_size)
    file = SourceFile("r", path.name, path.read_text("utf-8"))
    reparser = Reparser(grammar)
    reparser.parse(file.text.encode())
    parsed = parse(file, language)
    bodies = [result["body"][0] for result in parsed.matches("(function_definition body: (block) @body)")][::2]
    for body in bodies:
        blank = blanked(file, parsed.span(body)).text.encode()
        assert nodes(reparser.parse(blank)) == nodes(Parser(grammar).parse(blank))
    assert len(bodies) > 8
