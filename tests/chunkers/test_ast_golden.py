"""One file whose chunks were looked at by a person and written down: a change of them is a change of numbers."""

from pathlib import Path

from repoeval_bench.chunkers.ast import AstChunker
from repoeval_bench.core.source import SourceFile

HERE = Path(__file__).parent / "golden"


def test_the_chunks_are_those_written_down() -> None:
    """Comments and decorators lead their definition, the class header its first method, statements are whole."""
    text = (HERE / "ast_source.py.txt").read_text("utf-8")
    chunks = AstChunker(max_nws=200).chunk(SourceFile("golden", "ast_source.py", text))
    expected = (HERE / "ast_chunks_200.txt").read_text("utf-8").split("=====8<=====\n")
    assert [chunk.text for chunk in chunks] == expected
