"""The rules of living indexers: ck, grepai and Continue by hand and on generated files; packages where installed."""

import importlib.util
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.chunkers.tools.sizes import match_size
from repoeval_bench.core.errors import LanguageError
from repoeval_bench.core.source import SourceFile, count_nws
from support.cases import cases

ROOT = Path(__file__).resolve().parents[3]
CASES = cases(__file__)
CLASS = CASES["class"]
NUMBERED = "".join(f"x = {i % 10}\n" for i in range(50))


def chunks(spec: str, text: str, path: str = "m.py"):
    return make_chunker(spec).chunk(SourceFile("r", path, text))


def real_files():
    return [
        SourceFile("r", str(path.relative_to(ROOT)), path.read_text("utf-8"))
        for path in sorted((ROOT / "repoeval_bench" / "retrieval").glob("*.py"))
    ]


@pytest.mark.parametrize("size", [8, 13, 40])
@pytest.mark.parametrize("overlap", [0, 3, 7])
@given(text=st.text(st.sampled_from("ab \n\tß\U0001d4b3"), max_size=120))
def test_grepai_loses_nothing_and_repeats_what_it_says(text, size, overlap):
    result = chunks(f"grepai:chunk_size={size},chunk_overlap={overlap}", text)
    assert all(len(chunk.text.encode()) <= size + 3 for chunk in result)
    covered = {char for chunk in result for char in range(chunk.chars.start, chunk.chars.end)}
    assert all(char.isspace() for index, char in enumerate(text) if index not in covered)


@pytest.mark.parametrize(
    ("spec", "text", "cut"),
    [
        *CASES["rules"],
        # ck cuts what is large into windows that overlap by a fifth of the size.
        ("ck:chunk_size=100", NUMBERED, [NUMBERED[i : i + 90] for i in (0, 70, 140, 210)]),
    ],
)
def test_rules_by_hand(spec, text, cut):
    assert [chunk.text for chunk in chunks(spec, text)] == cut
    assert not any(chunk.rewritten for chunk in chunks(spec, text))


def test_ck_keeps_the_order_of_starts_where_a_class_is_cut_and_its_methods_are_chunks():
    code = "class A:\n" + "".join(f"    def m{index}(self):\n        return {index}\n\n" for index in range(9))
    result = chunks("ck:chunk_size=100", code)
    assert [chunk.chars.start for chunk in result] == sorted(chunk.chars.start for chunk in result)
    assert len({chunk.chunk_id for chunk in result}) == len(result)


@given(text=st.lists(st.sampled_from(["def f():\n    x = 1\n", "y = 2\n", "\n", "class A:\n    def m(self): ...\n"])))
def test_ck_puts_every_line_in_a_chunk(text):
    joined = "".join(text)
    covered = {
        line for chunk in chunks("ck:chunk_size=30", joined) for line in range(chunk.lines.start, chunk.lines.end)
    }
    assert all(not line.strip() for index, line in enumerate(joined.splitlines()) if index not in covered)


def test_continue_collapses_a_class_and_then_opens_it():
    box, *methods = chunks("continue:max_nws=100", CLASS)
    assert (box.lines.start, box.lines.end) == (2, 14)
    assert "    def open(self):\n        ...\n" in box.rewritten
    # Python's grammar has a node around a decorated method, which is not among Continue's.
    assert "return os.name" in box.rewritten
    assert [chunk.text.split("(")[0].split()[-1] for chunk in methods] == ["open", "lid"]
    assert all(not chunk.rewritten for chunk in methods)


def test_continue_shows_a_large_function_by_its_head_and_its_class():
    code = "class A:\n    def f(self):\n" + "        x = 1234\n" * 20
    head, method = chunks("continue:max_nws=60", code)
    assert head.rewritten == "class A:\n    def f(self):\n        ..."
    assert method.rewritten == "class A:\n    ...\n\n    def f(self):\n        ..."
    (script,) = chunks("continue:max_nws=40", "function f() {\n" + "  g(1234);\n" * 20 + "}\n", "a.ts")
    assert script.rewritten == "function f() { ... }"


def test_continue_leaves_methods_out_from_the_end_until_the_form_fits():
    methods = "".join(f"    def method_{index}(self):\n        return {index}{'0' * 40}\n\n" for index in range(9))
    (box, *_) = chunks("continue:max_nws=150", f"class A:\n{methods}")
    assert count_nws(box.rewritten) <= 150
    assert "method_0" in box.rewritten
    assert "method_8" not in box.rewritten


@pytest.mark.parametrize(
    "spec", ["ck", "grepai", "semble", pytest.param("haystack", marks=pytest.mark.slow), "chunkhound"]
)
def test_it_is_brought_to_the_mean_size_of_others(spec):
    if spec in {"semble", "haystack", "chunkhound"} and importlib.util.find_spec(spec) is None:
        pytest.skip(f"{spec} is not installed; pip install 'repoeval-bench[{spec}]' runs this test")
    assert not match_size(spec, 400, real_files()).reason


@pytest.mark.parametrize("name", ["semble", "chunkhound"])
def test_lines_are_those_of_the_package(name):
    """The adapter moves nothing: its chunks are the package's own on real files."""
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed; pip install 'repoeval-bench[{name}]' runs this test")
    # ChunkHound names the imports twice here, once with an empty third line.
    for file in [*real_files(), SourceFile("r", "imports.py", "from a import b\nfrom c import d\n")]:
        ours = [(chunk.lines.start + 1, chunk.lines.end) for chunk in make_chunker(f"{name}:{OWN[name]}").chunk(file)]
        if name == "semble":
            from semble.chunking import chunk_source

            theirs = [(chunk.start_line, chunk.end_line) for chunk in chunk_source(file.text, file.path, "python")]
        else:
            from chunkhound.core.types.common import Language
            from chunkhound.parsers.parser_factory import create_parser_for_language

            result = create_parser_for_language(Language.PYTHON).parse_content(file.text)
            theirs = sorted({(chunk.start_line, min(chunk.end_line, file.n_lines)) for chunk in result})
        assert ours == theirs


OWN = {"semble": "chunk_size=750", "chunkhound": "max_chunk_size=1200"}


@pytest.mark.slow  # haystack imports torch
def test_haystack_gives_the_package_texts_and_its_class_lines_as_headers():
    haystack = pytest.importorskip("haystack", reason="pip install 'repoeval-bench[haystack]' runs this test")
    from haystack.components.preprocessors import PythonCodeSplitter

    chunker = make_chunker("haystack:max_effective_lines=20,min_effective_lines=5")
    library = PythonCodeSplitter(max_effective_lines=20, min_effective_lines=5)
    long = "def f():\n" + "    call(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)\n" * 90
    headed = 0
    for file in [*real_files(), SourceFile("r", "long.py", CLASS + long + CLASS)]:
        ours = [chunk.embed_text for chunk in chunker.chunk(file)]
        assert ours == [
            document.content for document in library.run([haystack.Document(content=file.text)])["documents"]
        ]
        headed += sum(bool(chunk.header) for chunk in chunker.chunk(file))
    assert headed
    blank = "def f():\n\n\n\nclass A:\n    def g(\n        self,\n    ):\n\n    def h(self):\n        return 1\n"
    (whole,) = chunker.chunk(SourceFile("r", "a.py", blank))
    assert whole.text == blank
    with pytest.raises(LanguageError, match="does not know typescript"):
        chunker.chunk(SourceFile("r", "a.ts", "let a = 1;\n"))
