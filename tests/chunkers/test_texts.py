"""`make_chunker` of the package cuts plain texts and, for runs, files."""

import pickle
from itertools import pairwise
from pathlib import Path

import pytest

from repoeval_bench import SourceFile, make_chunker
from repoeval_bench.chunkers import registry
from repoeval_bench.core.errors import LanguageError, UsageError
from support.cases import cases

CASES = cases(__file__)

CODE = {
    "a.py": "".join(f"def f{n}(a):\n    b = a + {n}\n    return b * {n}\n\n\n" for n in range(6)),
    "b.go": "package b\n\n" + "".join(f"func F{n}(a int) int {{\n\treturn a + {n}\n}}\n\n" for n in range(6)),
    "c.txt": "one two\n" * 40,
}


@pytest.mark.parametrize(("spec", "path"), CASES["texts"])
def test_chunks_of_a_text_are_the_measured_ones_as_strings_with_their_lines(spec, path):
    text = CODE[path]
    chunks = make_chunker(spec).chunk(text, path=path)
    measured = registry.make_chunker(spec).chunk(SourceFile("r", path, text))
    assert chunks == [chunk.text for chunk in measured]
    assert [chunk.lines for chunk in chunks] == [chunk.lines for chunk in measured]
    assert len(chunks) > 1
    lines = text.splitlines()
    for chunk in chunks:
        assert isinstance(chunk, str)
        assert chunk.splitlines()[0] == lines[chunk.start_line - 1]
        assert chunk.splitlines()[-1] == lines[chunk.end_line - 1]
    assert all(one.start_line < later.start_line for one, later in pairwise(chunks))


def test_a_header_is_part_of_the_string_and_moves_no_line():
    (chunk,) = make_chunker("file:header=path").chunk("a = 1\n", path="x/a.py")
    assert chunk == "# x/a.py\na = 1\n"
    assert (chunk.start_line, chunk.end_line) == (1, 1)


def test_a_blank_text_has_no_chunk():
    assert make_chunker("ast").chunk("\n \n", path="a.py") == []


def test_a_run_uses_the_same_chunker_with_files():
    file = SourceFile("r", "a.py", CODE["a.py"])
    chunker, measured = make_chunker("ast:max_nws=60"), registry.make_chunker("ast:max_nws=60")
    assert chunker.chunk(file) == measured.chunk(file)
    assert chunker.spec == measured.spec


def test_a_path_may_be_a_path_object_and_a_text_is_no_bytes():
    chunker = make_chunker("ast:max_nws=60")
    assert chunker.chunk(CODE["a.py"], path=Path("x/a.py")) == chunker.chunk(CODE["a.py"], path="x/a.py")
    with pytest.raises(UsageError, match="chunk cuts a text or a SourceFile; got bytes"):
        chunker.chunk(b"a = 1", path="a.py")


def test_a_chunk_keeps_its_lines_between_processes():
    chunks = make_chunker("fixed:max_nws=60").chunk(CODE["a.py"])
    assert [chunk.lines for chunk in pickle.loads(pickle.dumps(chunks))] == [chunk.lines for chunk in chunks]


def test_a_syntax_aware_chunker_asks_for_the_path_of_a_text():
    with pytest.raises(LanguageError, match=r'chunk\(text, path="a.py"\)'):
        make_chunker("ast").chunk(CODE["a.py"])
    assert make_chunker("ast:language=python").chunk(CODE["a.py"])
