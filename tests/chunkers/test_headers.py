"""Headers name a chunk's place and move no span."""

import re

import pytest

from repoeval_bench.chunkers.fixed import FixedChunker
from repoeval_bench.chunkers.headers import HeadedChunker, with_headers
from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.chunkers.tools.conformance import assert_chunker_conforms
from repoeval_bench.chunkers.window import WindowChunker
from repoeval_bench.core.errors import ChunkError, SpecError
from repoeval_bench.core.languages import LANGUAGES
from repoeval_bench.core.source import Chunk, SourceFile
from repoeval_bench.core.spans import CharSpan
from repoeval_bench.runs.parts import installed
from support.cases import cases
from support.plug_ins import DOCS

CASES = cases(__file__)
TEXT = CASES["text"]
FILE = SourceFile("r", "src/a.py", TEXT)


def source(start: str, end: str | None = None) -> Chunk:
    return Chunk.cut(FILE, CharSpan(TEXT.index(start), TEXT.index(end) if end else len(TEXT)))


def header(chunk: Chunk, kind: str = "scope") -> str:
    (headed,) = with_headers(FILE, [chunk], kind)
    assert (headed.chars, headed.lines, headed.text, headed.chunk_id) == (
        *(chunk.chars, chunk.lines, chunk.text, chunk.chunk_id),
    )
    assert headed.embed_text == headed.header + chunk.text
    return headed.header


def test_none_leaves_chunks_as_they_are_and_path_names_the_file() -> None:
    assert header(source("import"), "none") == ""
    assert header(source("import"), "path") == "# src/a.py\n"


def test_scope_names_what_is_around_and_what_is_defined() -> None:
    assert header(source("import", "@d")) == "# src/a.py\n"
    assert header(source("import", "class")) == "# src/a.py\n# defines: @d def f(a, b=1) -> int\n".replace("@d ", "")
    assert header(source("    return a", "class")) == "# src/a.py\n# in: def f(a, b=1) -> int\n"
    assert (
        header(source("        return inner", "    two")) == "# src/a.py\n# in: class A(Base) > async def one(self)\n"
    )
    assert header(source("    two")) == "# src/a.py\n# in: class A(Base)\n"
    assert header(source("class")) == "# src/a.py\n# defines: class A(Base); async def one(self); def inner()\n"


def test_overlapping_chunks_have_their_own_scopes() -> None:
    headed = with_headers(FILE, WindowChunker(lines=2, step=1).chunk(FILE), "scope")
    alone = [header(chunk) for chunk in WindowChunker(lines=2, step=1).chunk(FILE)]
    assert [chunk.header for chunk in headed] == alone


def test_comments_are_not_part_of_a_signature() -> None:
    text = "def f(  # one\n    a,  # two\n    b='# three',\n    # four\n):\n    # five\n    return a\n"
    file = SourceFile("r", "a.py", text)
    (chunk,) = with_headers(file, [Chunk.cut(file, CharSpan(0, len(text)))], "scope")
    assert chunk.header == "# a.py\n# defines: def f( a, b='# three', )\n"


def test_what_cannot_be_headed_is_refused() -> None:
    with pytest.raises(SpecError, match="did you mean 'scope'"):
        HeadedChunker(FixedChunker(), "scop")
    notes = SourceFile("r", "notes.txt", "x\n")
    with pytest.raises(ChunkError, match="no grammar"):
        with_headers(notes, [Chunk.cut(notes, CharSpan(0, 1))], "scope")
    assert with_headers(notes, [Chunk.cut(notes, CharSpan(0, 1))], "path")[0].header == "// notes.txt\n"


def test_a_header_is_an_option_of_every_built_in_chunker():
    """header=path puts one kind of header before the same chunks; it is printed back."""
    plain, headed = make_chunker("fixed:max_nws=20"), make_chunker("fixed:max_nws=20,header=path")
    assert headed.spec == "fixed:max_nws=20,offset=0,header=path"
    file = SourceFile("r", "pkg/a.py", "x = 1\ny = 2\nz = 'a long line of text'\n")
    assert [chunk.lines for chunk in headed.chunk(file)] == [chunk.lines for chunk in plain.chunk(file)]
    assert {chunk.header for chunk in headed.chunk(file)} == {"# pkg/a.py\n"}
    assert make_chunker("fixed:header=none").spec == make_chunker("fixed").spec


def test_a_header_needs_no_package() -> None:
    assert installed("chunker", ["ast:header=stem"]) == ("ast:header=stem",)


def test_stem_names_the_file_twice_and_three_folders() -> None:
    assert header(source("import"), "stem") == "# a a src\n"
    file = SourceFile("r", "one/two/three/four/http.py", "x = 1\n")
    (chunk,) = with_headers(file, [Chunk.cut(file, CharSpan(0, 6))], "stem")
    assert chunk.header == "# http http two three four\n"


def test_context_has_what_code_chunk_puts_before_a_chunk() -> None:
    assert header(source("    two"), "context").splitlines() == [
        *("# src/a.py", "# Scope: A", "# Defines: class A(Base)", "# Uses: os", "# After: f")
    ]
    assert header(source("@d", "class"), "context").splitlines()[-1] == "# Before: A"


@pytest.mark.parametrize(("path", "text", "names"), CASES["imports"])
def test_context_names_imports_in_every_language(path: str, text: str, names: str) -> None:
    file = SourceFile("r", path, text)
    (chunk,) = with_headers(file, [Chunk.cut(file, CharSpan(0, len(text)))], "context")
    assert [line.split(" ", 2)[2] for line in chunk.header.splitlines() if " Uses: " in line] == [names]


@pytest.mark.parametrize("name", LANGUAGES)
def test_every_language_has_a_header_of_its_context(name):
    """A language that lacks a row in a table of headers fails here, and not at a user's file."""
    language = LANGUAGES[name]
    file = SourceFile("r", f"a{language.endings[0]}", "x\n")
    (headed,) = with_headers(file, [Chunk.cut(file, CharSpan(0, 2))], "context")
    assert headed.header.startswith(f"{language.line_comment} ")


def test_the_headers_in_the_docs_conform_and_embed_what_they_say(tmp_path, monkeypatch):
    """As a user would copy the example in docs/chunkers.md."""
    blocks = re.findall(r"^```python\n(.*?)^```", (DOCS / "chunkers.md").read_text("utf-8"), re.DOTALL | re.MULTILINE)
    (example,) = [block for block in blocks if "class WithPath" in block]
    (tmp_path / "headers_of_the_docs.py").write_text(example, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    file = SourceFile("r", "src/a.py", "A = 1\n")
    for name, embedded in {"WithPath": "# src/a.py\nA = 1\n", "InLowerCase": "a = 1\n"}.items():
        chunker = make_chunker(f"py:headers_of_the_docs:{name}")
        assert_chunker_conforms(chunker, examples=0)
        assert [chunk.embed_text for chunk in chunker.chunk(file)] == [embedded]
