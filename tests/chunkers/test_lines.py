"""The chunkers that need no grammar: windows, separators, tokens, whole files; and `functions`."""

import pytest

from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.chunkers.window import WindowChunker
from repoeval_bench.core.source import SourceFile


def texts(chunker, text: str) -> list[str]:
    return [chunk.text for chunk in chunker.chunk(SourceFile("r", "a.py", text))]


def numbered(count: int) -> str:
    return "".join(f"{index}\n" for index in range(count))


@pytest.mark.parametrize(
    ("n_lines", "windows"),
    [
        (1, [(0, 1)]),
        (4, [(0, 4)]),
        (5, [(0, 4), (2, 5)]),
        (6, [(0, 4), (2, 6)]),
        (7, [(0, 4), (2, 6), (4, 7)]),
        (8, [(0, 4), (2, 6), (4, 8)]),
    ],
)
def test_windows_step_through_the_file_until_one_reaches_the_end(n_lines: int, windows: list) -> None:
    chunks = WindowChunker(lines=4, step=2).chunk(SourceFile("r", "a.py", numbered(n_lines)))
    assert [(chunk.lines.start, chunk.lines.end) for chunk in chunks] == windows


M = "    def m(self):\n        return 1\n"
LONG = "    def f():\n" + "        x = 1\n" * 2000
PARTS = [
    "import os\n\nX = 1\n\n",
    "# about f\n@d\ndef f():\n    def inner():\n        pass\n    return inner\n\n",
    'class A:\n    """Doc."""\n\n    kind = 1\n\n',
    "    # about one\n    @property\n    def one(self):\n        return 1\n\n",
    "    other = 2\n",
    "    async def two(self): return 2\n\n\n",
    "if __name__:\n    f()\n",
]


@pytest.mark.parametrize(
    ("spec", "chunks"),
    [
        # The cascade cuts at classes, then functions, then blank lines, then lines, then words, then characters.
        ("recursive:max_nws=30", ["import os\n\n", "class A:\n" + M, "class B:\n" + M]),
        ("recursive:max_nws=4", ["a b\nc\n\n", "d\ne\n"]),
        ("recursive:max_nws=3", ["ab\n", "cd\n", "ef\n"]),
        ("recursive:max_nws=4", ["ab cd ", "ef\n"]),
        ("recursive:max_nws=3", ["abc", "def", "gh\n"]),
        ("file", ["a\n" * 5000]),
        # `functions` cuts every function, method and class header, in branches too; size is not a limit.
        ("functions", PARTS),
        ("functions", ["try:\n", LONG, "except E:\n    pass\n"]),
    ],
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
