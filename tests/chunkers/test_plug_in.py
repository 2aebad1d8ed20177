"""A package of a third party: installed, found by its entry point, used, and reported where it is broken."""

from __future__ import annotations

import pickle
import re
import sys
from pathlib import Path

import pytest

from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.chunkers.tools.conformance import assert_chunker_conforms
from repoeval_bench.cli.explain import explanations
from repoeval_bench.core.errors import SpecError
from repoeval_bench.core.registry import plug_ins
from repoeval_bench.core.source import SourceFile
from support.plug_ins import install

DOCS = Path(__file__).resolve().parents[2] / "docs"

MODULE = '''
import re

from repoeval_bench.core.source import Chunk
from repoeval_bench.core.spans import CharSpan


class Paragraphs:
    """Paragraphs between blank lines, at most `most` of them together."""

    def __init__(self, most: int = 1):
        self.most = most

    def chunk(self, file):
        spans = [match.span() for match in re.finditer(r"\\S(?:[^\\r\\n]|\\r?\\n(?=[^\\S\\n]*\\S))*", file.text)]
        groups = [spans[start : start + self.most] for start in range(0, len(spans), self.most)]
        return [Chunk.cut(file, CharSpan(group[0][0], group[-1][1])) for group in groups]


def first_characters(file: "SourceFile", n: int = 1, *, missing: "NotImported | None" = None):
    """The first `n` characters; its annotations are a type checker's."""
    return [Chunk.cut(file, CharSpan(0, n))]
'''


@pytest.fixture
def on_path(tmp_path, monkeypatch):
    """The package on the path, as pip leaves it."""
    (tmp_path / "paragraph_chunker.py").write_text(MODULE, "utf-8")
    install(tmp_path, "paragraph-chunker", {"repoeval_bench.chunkers": {"paragraphs": "paragraph_chunker:Paragraphs"}})
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("paragraph_chunker", None)


def test_an_installed_plug_in_is_listed_with_its_options_and_prints_its_spec_in_full(on_path) -> None:
    row = {row.name: row for row in plug_ins("chunker")}["paragraphs"]
    assert row.options["most"].default == 1
    assert row.meaning == "Paragraphs between blank lines, at most `most` of them together."
    chunker = make_chunker("paragraphs")
    assert chunker.spec == "paragraphs:most=1"
    file = SourceFile("r", "a.py", "a\nb\n\n\nc\n\nd\n")
    assert [chunk.text for chunk in chunker.chunk(file)] == ["a\nb", "c", "d"]
    assert [chunk.text for chunk in make_chunker("paragraphs:most=2").chunk(file)] == ["a\nb\n\n\nc", "d"]


def test_a_function_of_a_file_is_a_chunker_and_its_other_parameters_are_options(on_path) -> None:
    """Also where annotations name what only a type checker imports."""
    chunker = make_chunker("py:paragraph_chunker:first_characters:n=2")
    assert chunker.spec == "py:paragraph_chunker:first_characters:n=2"
    assert [chunk.text for chunk in chunker.chunk(SourceFile("r", "a.py", "abc\n"))] == ["ab"]
    assert pickle.loads(pickle.dumps(chunker)).spec == chunker.spec
    with pytest.raises(SpecError, match="n=two is not possible; n is a whole number"):
        make_chunker("py:paragraph_chunker:first_characters:n=two")
    (explained,) = explanations("py:paragraph_chunker:first_characters")
    assert explained.startswith("chunker py: The first `n` characters")


def test_the_headers_in_the_docs_conform_and_embed_what_they_say(tmp_path, monkeypatch):
    """The example of docs/chunkers.md, as a user would copy it."""
    blocks = re.findall(r"^```python\n(.*?)^```", (DOCS / "chunkers.md").read_text("utf-8"), re.DOTALL | re.MULTILINE)
    (example,) = [block for block in blocks if "class WithPath" in block]
    (tmp_path / "headers_of_the_docs.py").write_text(example, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    file = SourceFile("r", "src/a.py", "A = 1\n")
    for name, embedded in {"WithPath": "# src/a.py\nA = 1\n", "InLowerCase": "a = 1\n"}.items():
        chunker = make_chunker(f"py:headers_of_the_docs:{name}")
        assert_chunker_conforms(chunker, examples=3)
        assert [chunk.embed_text for chunk in chunker.chunk(file)] == [embedded]
