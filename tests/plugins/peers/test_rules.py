"""The rules of editors' indexers: each branch by hand, and what each rule says of every file."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.chunkers.tools.cases import SAMPLES
from repoeval_bench.chunkers.tools.statistics import chunk_stats
from repoeval_bench.core.definitions import defining_nodes, definitions
from repoeval_bench.core.errors import LanguageError
from repoeval_bench.core.languages import LANGUAGES, language_of
from repoeval_bench.core.source import SourceFile, count_nws
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.syntax import Parsed, segments
from repoeval_bench.plugins.peers.blocks import BlocksChunker
from repoeval_bench.plugins.peers.early_split import EarlySplitChunker
from repoeval_bench.plugins.peers.half_overlap import HalfOverlapChunker
from repoeval_bench.plugins.peers.least_nested import LeastNestedChunker

LINE = "x = 1234\n"
"""Six non-whitespace characters."""


def texts(chunker: object, text: str, path: str = "m.py") -> list[str]:
    return [chunk.text for chunk in chunker.chunk(SourceFile("r", path, text))]


def function(name: str, lines: int = 2, indent: str = "") -> str:
    """Its name and 7 characters, and 6 for each further line."""
    return f"{indent}def {name}():\n" + f"{indent}    {LINE}" * lines


def code(simple: list[str], around: dict[str, str]) -> st.SearchStrategy[str]:
    """Code of `simple` lines, nested in what is `around` others: how it begins -> how it ends."""
    return st.recursive(
        st.sampled_from(["\n", *simple]),
        lambda inner: st.builds(
            lambda head, body: (
                head + "".join("    " + line for part in body for line in part.splitlines(keepends=True)) + around[head]
            ),
            st.sampled_from([*around]),
            st.lists(inner, min_size=1, max_size=4),
        ),
        max_leaves=20,
    )


CODE = {
    "a.py": code(
        [LINE, "# a note\n", "import os\n", 's = """\n    a\n    b\n    c\n"""\n'],
        dict.fromkeys(
            ["def f():\n", "class A:\n", "@d\ndef g():\n", "# on h\nasync def h():\n", "if x:\n"], "    pass\n"
        ),
    ),
    "a.ts": code(
        [
            "x = 1234;\n",
            "// a note\n",
            "/* a\n   b\n   c */\n",
            "type T = { a: string };\n",
            "const f = () => {\n    g();\n};\n",
        ],
        {
            "function f() {\n": "}\n",
            "/** On g. */\nexport function g() {\n": "}\n",
            "export const h = () => {\n": "};\n",
            "class A {\n    /** On m. */\n    m() {\n": "    }\n    n() {}\n}\n",
            "@d()\nexport class B {\n    @e()\n    m() {\n": "    }\n}\n",
            "namespace N {\n": "}\n",
            "if (x) {\n": "}\n",
        },
    ),
}
"""A file's name -> code of its language, with what a definition is seen with: comments, decorators, attributes."""

FILES = st.one_of(
    st.sampled_from([*CODE]).flatmap(
        lambda name: st.lists(CODE[name], max_size=12).map(lambda parts: SourceFile("r", name, "".join(parts)))
    ),
    st.sampled_from([*SAMPLES.values()]).flatmap(
        lambda sample: st.lists(st.sampled_from([*sample[1].splitlines(keepends=True), "\n", "}\n"]), max_size=60).map(
            lambda lines: SourceFile("r", sample[0], "".join(lines))
        )
    ),
)


LONG = "y = '" + "a" * 60 + "'\n"
METHOD = function("m", indent="    ")
CLASS, DECORATED = "class A:\n" + METHOD, "@d\n" + function("b")
COMMENT = ["  /* 12345678\n", *["     1234567890\n"] * 5, "  */\n"]
WIDE = ["ab\n", "a" * 58 + "\n", "a" * 11 + "\n"]
EIGHT = [f"x = 123{i}\n" for i in range(8)]
SEVEN = "x = 12345\n" * 3
NEARLY_ALL = "z = '" + "a" * 17 + "'\n"

BY_HAND = [
    # Blocks are definitions, nested ones too; what is in none is lost, and a file without one is cut by lines.
    ("blocks:min_nws=12", "import os\n" + CLASS + LINE + DECORATED, [CLASS, METHOD, DECORATED]),
    ("blocks:max_nws=12,min_nws=0", LINE * 4, [LINE * 2, LINE * 2]),
    # A rest below a fifth of the size takes lines from the piece before: ten lines of 6 and one would leave 6 at 60.
    ("blocks:max_nws=60,min_nws=0", LINE * 11, [LINE * 9, LINE * 2]),
    ("blocks:max_nws=60,min_nws=0", LINE * 12, [LINE * 10, LINE * 2]),
    # One that would be too large with one more line stays small: 58 and 11 are above 60.
    ("blocks:max_nws=60,min_nws=0", "".join(WIDE), [WIDE[0] + WIDE[1], WIDE[2]]),
    # A line above the size is a chunk of its own.
    ("least-nested:max_nws=30", "\n" + LINE + LONG + LINE + "\n", ["\n" + LINE, LONG, LINE + "\n"]),
    ("least-nested:max_nws=30", "\n" + LONG, ["\n" + LONG]),
    ("half-overlap:max_nws=24", "\n" + LONG + LINE * 4 + "\n\n", [LONG, LINE * 4 + "\n\n"]),
    # A chunk ends behind the line that passes the size, not at seven eighths of it.
    ("early-split:max_nws=20", LINE * 8, [LINE * 4, LINE * 4]),
    ("early-split:max_nws=24", SEVEN + "#\n" + LINE * 4, [SEVEN + "#\n" + LINE, LINE * 3]),
    # A file below one and a half sizes is one chunk, and blank lines at the end stay with the last.
    ("early-split:max_nws=21", LINE * 5, [LINE * 5]),
    ("early-split:max_nws=20", LINE * 5, [LINE * 4, LINE]),
    ("early-split:max_nws=20", LINE * 8 + "\n\n", [LINE * 4, LINE * 4 + "\n\n"]),
    # A chunk starts in the middle of the one before; of two lines as near, at the earlier one.
    ("half-overlap:max_nws=24", "".join(EIGHT), ["".join(EIGHT[i : i + 4]) for i in (0, 2, 4)]),
    ("half-overlap:max_nws=18", LINE * 3 + "y\n", [LINE * 3, LINE * 2 + "y\n"]),
    # None starts in the first quarter of the one before: `y` is followed by one line that has nearly all of the chunk.
    ("half-overlap:max_nws=24", "y\n" + NEARLY_ALL + LINE * 2, ["y\n" + NEARLY_ALL, LINE * 2]),
]


@pytest.mark.parametrize(("spec", "text", "chunks"), BY_HAND)
def test_rules_by_hand(spec: str, text: str, chunks: list[str]) -> None:
    assert texts(make_chunker(spec), text) == chunks


@pytest.mark.parametrize(
    ("chunker", "larger"),
    [
        (BlocksChunker(max_nws=60, min_nws=7), BlocksChunker(max_nws=60, min_nws=6)),
        (HalfOverlapChunker(max_nws=31), HalfOverlapChunker(max_nws=30)),
    ],
    ids=lambda chunker: chunker.spec,
)
def test_a_file_below_the_least_size_is_lost_and_counted(chunker: object, larger: object) -> None:
    file = SourceFile("r", "a.py", LINE)
    assert chunker.chunk(file) == []
    assert chunk_stats(chunker.spec, [(file, ())]).uncovered_lines == 1
    assert texts(larger, LINE) == [LINE]


def test_a_leaf_above_the_size_is_cut_by_lines() -> None:
    """A comment between braces is one node, without children."""
    result = texts(BlocksChunker(max_nws=30, min_nws=0), "function f() {\n" + "".join(COMMENT) + "}\n", "a.js")
    cut = ["".join(COMMENT[:3]), "".join(COMMENT[3:5]), "".join(COMMENT[5:])]
    assert [piece for piece in result if "1234" in piece] == cut


@pytest.mark.parametrize(
    "line", ["\n", "# why\n", "// why\n", "/* why */\n", "func f()\n", "public int a;\n", "type A\n", "   \n"]
)
def test_a_chunk_ends_early_in_front_of_a_blank_line_a_comment_or_a_declaration(line: str) -> None:
    """Three lines have 18, which is above 7/8 of 20; two have 12, which is not."""
    assert texts(EarlySplitChunker(max_nws=20), LINE * 3 + line + LINE * 3)[0] == LINE * 3
    assert texts(EarlySplitChunker(max_nws=20), LINE * 2 + line + LINE * 4)[0] != LINE * 2


@pytest.mark.parametrize("line", ["    # why\n", "def f(): 1\n", "  func f()\n"])
def test_a_chunk_does_not_end_early_elsewhere(line: str) -> None:
    """The words are at the start of a line, and Python's are not among them."""
    assert texts(EarlySplitChunker(max_nws=20), LINE * 3 + line + LINE * 4)[0] == LINE * 3 + line


def test_classes_in_classes_are_each_looked_into_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looked into from every class around it, they take time that grows with the square of the nesting."""
    looked: list[int] = []
    children = Parsed.children
    monkeypatch.setattr(Parsed, "children", lambda self, node: looked.append(node.id) or children(self, node))
    n = 300
    text = "".join(f"class A{index} {{\n" for index in range(n)) + "}\n" * n
    blocks = texts(BlocksChunker(max_nws=100, min_nws=50), text, "A.java")
    assert blocks[-1].startswith(f"class A{n - 5} {{")
    assert max(Counter(looked).values()) <= 2  # once for the definitions, once for the blocks


def nodes_of_blocks(file: SourceFile, max_nws: int, min_nws: int) -> tuple[set[LineSpan], set[LineSpan]]:
    """The lines of nodes that are blocks, and of those that are cut by lines: the rule, said over by recursion."""
    whole: set[LineSpan] = set()
    leaves: set[LineSpan] = set()

    def look(parsed: Parsed, lines: LineSpan, node) -> None:
        size = count_nws(file.line_text(lines))
        if size < min_nws:
            return
        if len(lines) == 1 or size <= max_nws:
            if size and (len(lines) > 1 or count_nws(parsed.text(node)) >= min_nws):
                whole.add(lines)
            return
        children = list(parsed.children(node))
        for first, last, child in children:
            look(parsed, LineSpan(first, last + 1), child)
        if not children:
            leaves.add(lines)

    for parsed in segments(file, language_of(file.path)):
        for definition, node in defining_nodes(parsed):
            if definition.kind != "variable":
                look(parsed, definition.lines, node)
    return whole, leaves


@given(file=FILES, max_nws=st.integers(1, 120), min_nws=st.integers(0, 30))
def test_blocks_are_what_the_rule_says_over_each_definition(file: SourceFile, max_nws: int, min_nws: int) -> None:
    """With and without what is above it, in whatever order the nodes are met."""
    min_nws = min(min_nws, max_nws)
    cut = {chunk.lines for chunk in BlocksChunker(max_nws=max_nws, min_nws=min_nws).chunk(file)}
    whole, leaves = nodes_of_blocks(file, max_nws, min_nws)
    if any(definition.kind != "variable" for definition in definitions(file, language_of(file.path))):
        assert whole <= cut
        assert all(any(leaf.contains(lines) for leaf in leaves) for lines in cut - whole)


def chosen(before: list[int], depths: list[int], start: int, first: int, limit: int) -> int:
    """The border that ends a chunk, said over: of those that fit from the first that leaves an eighth on, the best."""
    fits = [border for border in range(first, len(before)) if before[border] - before[start] <= limit]
    large = next((border for border in fits if 8 * (before[border] - before[start]) >= limit), fits[-1])
    least = min(depths[large : fits[-1] + 1])
    return max(border for border in range(large, fits[-1] + 1) if depths[border] == least)


@given(file=FILES, limit=st.integers(12, 120))
def test_every_chunk_ends_where_the_rule_says(file: SourceFile, limit: int) -> None:
    """Against the rule said over by counting; lines above the size are another branch."""
    before = [count_nws(file.line_text(LineSpan(0, line))) for line in range(file.n_lines + 1)]
    chunks = LeastNestedChunker(max_nws=limit).chunk(file)
    assert "".join(chunk.text for chunk in chunks) == (file.text if file.text.strip() else "")
    if max(file.line_nws(), default=0) > limit or before[-1] <= limit:
        return
    results = [
        LineSpan(definition.above, definition.lines.end)
        for definition in definitions(file, language_of(file.path))
        if definition.lines.end - definition.above > 1
    ]
    depths = [sum(span.start < line < span.end for span in results) for line in range(file.n_lines + 1)]
    looked = 0
    for chunk, following in pairwise(chunks):
        start = chunk.lines.start
        first = max(looked, start + 1)
        beyond = next(line for line in range(start, len(before)) if before[line] - before[start] > limit)
        if before[first] - before[start] > limit:  # the line that did not fit does not fit again
            assert following.lines.start == first - 1
        else:
            assert following.lines.start == chosen(before, depths, start, first, limit)
        looked = beyond


@given(file=FILES, size=st.integers(1, 120))
def test_every_line_is_in_one_chunk_that_ends_for_a_reason(file: SourceFile, size: int) -> None:
    chunks = EarlySplitChunker(max_nws=size).chunk(file)
    assert "".join(chunk.text for chunk in chunks) == (file.text if file.text.strip() else "")
    for chunk, following in pairwise(chunks):
        filled = count_nws(chunk.text)
        begun = following.text.splitlines()[0]
        restarts = not begun.strip() or begun.startswith(("//", "#", "/*", "func", "var", "const", "fn", "p", "type"))
        assert filled > size or (filled > 7 * size / 8 and restarts)
        assert filled - count_nws(chunk.text.splitlines()[-1]) <= size


@given(file=FILES, size=st.integers(1, 120))
def test_every_chunk_is_filled_and_starts_near_the_middle(file: SourceFile, size: int) -> None:
    """Where no line is above a fifth of the size, so that no piece of a file that is not small is too small itself."""
    chunks = HalfOverlapChunker(max_nws=size).chunk(file)
    nws = file.line_nws()
    if 5 * max(nws, default=0) > size or 5 * sum(nws) < size:
        return
    assert {line for chunk in chunks for line in chunk.lines} == {*range(file.n_lines)}
    for chunk, following in pairwise(chunks):
        filled = count_nws(chunk.text)
        assert filled <= size < filled + nws[chunk.lines.end]
        skipped = sum(nws[chunk.lines.start : following.lines.start])
        assert abs(2 * skipped - filled) <= max(nws[line] for line in chunk.lines)


@pytest.mark.parametrize("name", ["blocks", "least-nested"])
def test_a_file_of_no_known_language_is_refused_unless_one_is_named(name: str) -> None:
    file = SourceFile("r", "notes.txt", function("f", 20))
    with pytest.raises(LanguageError, match=r"r/notes\.txt: no grammar .*language="):
        make_chunker(name).chunk(file)
    assert make_chunker(f"{name}:language=python").chunk(file)
    assert set(LANGUAGES) == set(SAMPLES)
