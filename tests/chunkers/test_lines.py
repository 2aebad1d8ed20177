"""The chunkers that need no grammar: windows, separators, tokens, whole files; and `functions`."""

import pytest

from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.chunkers.window import WindowChunker
from repoeval_bench.core.source import SourceFile
from support.cases import cases

CASES = cases(__file__)


def texts(chunker, text: str) -> list[str]:
    return [chunk.text for chunk in chunker.chunk(SourceFile("r", "a.py", text))]


def numbered(count: int) -> str:
    return "".join(f"{index}\n" for index in range(count))


@pytest.mark.parametrize(("n_lines", "windows"), CASES["windows"])
def test_windows_step_through_the_file_until_one_reaches_the_end(n_lines: int, windows: list) -> None:
    chunks = WindowChunker(lines=4, step=2).chunk(SourceFile("r", "a.py", numbered(n_lines)))
    assert [[chunk.lines.start, chunk.lines.end] for chunk in chunks] == windows


LONG = "    def f():\n" + "        x = 1\n" * 2000


@pytest.mark.parametrize(
    ("spec", "chunks"),
    [*CASES["cuts"], ("file", ["a\n" * 5000]), ("functions", ["try:\n", LONG, "except E:\n    pass\n"])],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_where_a_text_is_cut(spec: str, chunks: list[str]) -> None:
    assert texts(make_chunker(spec), "".join(chunks)) == chunks


@pytest.mark.parametrize(
    ("spec", "text", "chunks"),
    [("window:lines=2,step=2", "a\nb\n\n\nc\nd\n", ["a\nb\n", "c\nd\n"]), ("file", " \n", [])],
)
def test_a_blank_chunk_is_left_out(spec: str, text: str, chunks: list[str]) -> None:
    assert texts(make_chunker(spec), text) == chunks


def test_a_tokenizer_of_ones_own_is_read_from_its_folder(tmp_path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    words.save(str(tmp_path / "tokenizer.json"))
    chunker = make_chunker(f"fixed:max_tokens=3,tokenizer={tmp_path}")
    assert texts(chunker, "a b\nc\nd e f\n") == ["a b\nc\n", "d e f\n"]
