"""Split-then-merge on the syntax tree: what stays together, what is cut, and what never breaks it."""

import itertools
import sys
from pathlib import Path

import pytest

from repoeval_bench.chunkers.ast import AstChunker
from repoeval_bench.core.errors import ChunkError
from repoeval_bench.core.source import Chunk, SourceFile, count_nws

GOLDEN = Path(__file__).parent / "golden"
"""A file and its chunks, which a person looked at: a change of them is a change of numbers."""


def cut(text: str, path: str = "m.py", **options: object) -> list[Chunk]:
    return AstChunker(**{"min_nws": 0, **options}).chunk(SourceFile("r", path, text))


def texts(text: str, **options: object) -> list[str]:
    return [chunk.text for chunk in cut(text, **options)]


def function(name: str, statements: int = 3, indent: str = "") -> str:
    body = "".join(f"{indent}    x{index} = {index}\n" for index in range(statements))
    return f"{indent}def {name}():\n{body}"


def test_the_chunks_are_those_written_down() -> None:
    """Comments and decorators lead their definition, the class header its first method, statements are whole."""
    text = (GOLDEN / "ast_source.py.txt").read_text("utf-8")
    chunks = AstChunker(max_nws=200).chunk(SourceFile("golden", "ast_source.py", text))
    expected = (GOLDEN / "ast_chunks_200.txt").read_text("utf-8").split("=====8<=====\n")
    assert [chunk.text for chunk in chunks] == expected


A, B = function("a"), function("b")
APART, ABOUT = "# end of part one\n\n\n", "y = 1  # about y\n"
DECORATOR, LARGE = "@table(\n" + "".join(f"    {index},\n" for index in range(10)) + ")\n", function("b", 8)
LONG = "x = [" + "1, " * 1000 + "]\n"


@pytest.mark.parametrize(
    ("max_nws", "chunks"),
    [
        # A comment apart is free to stay behind, a trailing one stays on its line.
        (count_nws(A + APART), [A + APART, B]),
        (count_nws(A + ABOUT), [A + ABOUT, B]),
        # A definition that fits only without its decorator is still whole.
        (count_nws(LARGE), [DECORATOR, LARGE]),
        # A single line above the limit is one chunk.
        (50, ["a = 1\n", LONG, "b = 2\n"]),
    ],
)
def test_where_a_text_is_cut(max_nws: int, chunks: list[str]) -> None:
    assert texts("".join(chunks), max_nws=max_nws) == chunks


def test_decorators_stay_with_the_header_of_a_definition_that_does_not_fit() -> None:
    text = function("a") + "# why\n@one\n@two\n" + function("b", 12)
    pieces = texts(text, max_nws=40)
    assert "".join(pieces) == text
    assert any(piece.startswith("# why\n@one\n@two\ndef b():\n    x0 = 0\n") for piece in pieces)


def test_a_closing_bracket_does_not_open_a_chunk() -> None:
    text = "x = [\n" + "".join(f"    {i:04},\n" for i in range(20)) + "]\ny = 1\n"
    assert not any(piece.lstrip().startswith("]") for piece in texts(text, max_nws=25))


@pytest.mark.parametrize("statements", [12, 16])
def test_small_pieces_at_the_border_of_a_split_definition_are_merged_where_they_fit(statements: int) -> None:
    """The first piece of the definition with what is before it, or the last one with what follows."""
    text = "import os\n" + function("long", statements) + "print(os)\n"
    sizes = [count_nws(piece) for piece in texts(text, max_nws=60)]
    assert all(size + following > 60 for size, following in itertools.pairwise(sizes))


def test_overlap_repeats_whole_lines_and_the_first_chunk_has_none() -> None:
    text = "".join(f"x{index} = {index}\n" for index in range(10))
    plain = cut(text, max_nws=12)
    overlapping = cut(text, max_nws=12, overlap=2)
    assert overlapping[0] == plain[0]
    for with_overlap, without in zip(overlapping[1:], plain[1:], strict=True):
        assert with_overlap.lines.start == max(0, without.lines.start - 2)
        assert with_overlap.lines.end == without.lines.end


def test_work_grows_with_the_file_and_not_with_its_square() -> None:
    """Eight times the text needs about eight times the calls of functions, Python's own and those written in C."""

    def calls(copies: int) -> int:
        text = (function("f", 40) + "class A:\n" + function("g", 9, "    ")) * copies
        file, n_calls = SourceFile("r", "m.py", text), itertools.count()
        sys.setprofile(lambda *_: next(n_calls))
        try:
            AstChunker().chunk(file)
        finally:
            sys.setprofile(None)
        return next(n_calls)

    calls(1)  # what is loaded once is not counted
    assert 2_000 < calls(80) < 9 * calls(10)


def test_an_unknown_ending_is_refused_with_the_way_out() -> None:
    with pytest.raises(ChunkError, match=r"r/notes\.txt: no grammar is here .*such as fixed"):
        cut("x = 1\n", path="notes.txt")
    assert cut("x = 1\n", path="notes.txt", language="python")
