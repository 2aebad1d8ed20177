"""The contract of a chunker, for every built-in one and every text."""

import functools
import importlib.util

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repoeval_bench.chunkers.registry import CHUNKERS, make_chunker
from repoeval_bench.chunkers.tools.cases import CASES, SAMPLES
from repoeval_bench.chunkers.tools.conformance import broken_promises, check_chunker
from repoeval_bench.core.definitions import definitions
from repoeval_bench.core.languages import LANGUAGES
from repoeval_bench.core.source import SourceFile, count_nws

ROWS = {row.name: row for row in CHUNKERS if not row.target}
"""Every registered chunker: those of the table, and those of leaves that are there."""

OURS = [name for name, row in ROWS.items() if not row.requires]
_SMALL = [
    *("ast:max_nws=40,min_nws=0", "ast:max_nws=40,min_nws=20", "ast:max_nws=40,overlap=3"),
    *("fixed:max_nws=40", "fixed:max_nws=40,offset=3", "fixed:max_tokens=12", "functions"),
    *("file", "recursive:max_nws=25", "window:lines=4,step=3"),
    *("ck:chunk_size=60", "grepai:chunk_size=60,chunk_overlap=15", "continue:max_nws=40"),
]
SMALL = [spec for spec in _SMALL if spec.partition(":")[0] in ROWS]
EXCEPTIONS = {
    "continue": {"nothing lost"},  # what is in no definition of a file that is too large
    "ck": {"line ends"},  # a size in characters, of which CR LF are two
    "grepai": {"line ends"},  # the same
}
"""Promises that the rules of indexers do not make."""
AT_SMALL_SIZES = {"continue": {"size"}}  # a collapsed definition is the lines of all of it


def unexpected(spec: str, broken: dict[str, str]) -> dict[str, str]:
    """The broken promises that are not the rule's own exceptions."""
    name = spec.partition(":")[0]
    allowed = EXCEPTIONS.get(name, set()) | AT_SMALL_SIZES.get(name, set())
    return {promise: detail for promise, detail in broken.items() if promise not in allowed}


identifiers = st.sampled_from(["a", "größe", "x1", "名"])
expressions = st.recursive(
    identifiers | st.sampled_from(["1", "'é\U0001d4b3'", '"""s\nt"""', "lambda: 0", "f'{a}'"]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(lambda items: "[\n    " + ",\n    ".join(items) + "\n]"),
        st.tuples(inner, inner).map(" + ".join),
        inner.map(lambda item: f"({item}\n)"),
    ),
    max_leaves=6,
)
simple = st.one_of(
    st.tuples(identifiers, expressions).map(" = ".join),
    expressions,
    st.sampled_from(["pass", "# a note", "", "return 1", "x = 1; y = 2  # two", "import os", "\f"]),
)


def indented(lines: str) -> str:
    return "\n".join(f"    {line}" if line.strip() else line for line in lines.split("\n"))


def block(head: str, body: list[str]) -> str:
    return head + "\n" + indented("\n".join([*body, "pass"]))


statements = st.recursive(
    simple,
    lambda inner: st.builds(
        block,
        st.sampled_from(
            [
                *("def f():", "class A(B):", "if a:", "@d\ndef g(\n    a,\n):", "# on g\n@d(1)\n# c\nclass C:"),
                "for x in y:",
            ]
        ),
        st.lists(inner, max_size=4),
    ),
    max_leaves=12,
)
modules = st.lists(statements, max_size=8).map("\n".join)
broken = st.lists(
    st.one_of(
        statements,
        st.sampled_from(["  (", "}", "'''", "\t\tx", "\\", "else:", "\x00", "\u2028", "\x85 y", "\x1cz", "\ufeff"]),
    ),
    max_size=8,
).map("\n".join)
texts = st.one_of(modules, modules.map(lambda text: text + "\n"), broken, st.text(max_size=200))


# Lines of a real file, left out, doubled and moved.
of_any_language = st.sampled_from([*SAMPLES.values()]).flatmap(
    lambda sample: st.lists(
        st.sampled_from([*sample[1].splitlines(keepends=True), "\n", "}\n", "(", "\u2028", "\x0c\n"]), max_size=40
    ).map(lambda lines: SourceFile("r", sample[0], "".join(lines)))
)
_THEIRS = {
    "chonkie:chunk_size=60": "chonkie",
    "langchain:chunk_size=60": "langchain_text_splitters",
    "langchain:chunk_size=80,chunk_overlap=40": "langchain_text_splitters",
    "llama-index:max_chars=60": "llama_index",
    "astchunk:max_chunk_size=40": "astchunk",
    "chonkie:kind=sentence,chunk_size=60": "chonkie",
    "chonkie:kind=fast,chunk_size=60": "chonkie",
    "cocoindex:chunk_size=60": "cocoindex",
    "cocoindex:chunk_size=60,chunk_overlap=20": "cocoindex",
    "semantic-text-splitter:max_nws=40": "semantic_text_splitter",
    "semantic-text-splitter:max_nws=40,kind=text": "semantic_text_splitter",
    "semchunk:max_nws=40": "semchunk",
    "semble:chunk_size=60": "semble",
    "haystack:max_effective_lines=3,min_effective_lines=1": "haystack",
}
THEIRS = {spec: package for spec, package in _THEIRS.items() if spec.partition(":")[0] in ROWS}
SPINE = ("ast", "fixed")
"""Built-in chunkers that are tested at their defaults every day; all are at small sizes, where more is cut."""
EVERYDAY = [spec for spec in THEIRS if spec in {"chonkie:chunk_size=60", "astchunk:max_chunk_size=40"}]
"""Those of a library that other tests import anyway; the import of some takes seconds."""


# Each of the many specs has some of the examples.
few = settings(max_examples=settings.default.max_examples // 4)


@functools.cache
def chunker(spec: str):
    return make_chunker(spec)


@pytest.mark.parametrize("spec", SMALL)
@few
@given(text=texts)
def test_every_promise_holds_on_every_text(spec: str, text: str) -> None:
    """Slices, order, coverage, size, determinism, line ends: see chunkers.tools.conformance.PROMISES."""
    assert unexpected(spec, broken_promises(chunker(spec), SourceFile("r", "a.py", text))) == {}


def test_no_chunker_is_left_out() -> None:
    """Neither one of the table, nor one of a leaf that is there, nor a library's."""
    assert {spec.partition(":")[0] for spec in SMALL} >= set(OURS)
    # chunkhound's package is too large to be beside the others; tests/plugins/peers try it where it is installed.
    assert {spec.partition(":")[0] for spec in THEIRS} >= ROWS.keys() - {*OURS, "chunkhound"}


@pytest.mark.parametrize("spec", [*SMALL, "ast:max_nws=40,header=scope"])
@few
@given(file=of_any_language)
def test_every_promise_holds_on_every_language(spec: str, file: SourceFile) -> None:
    assert unexpected(spec, broken_promises(chunker(spec), file)) == {}


@pytest.mark.parametrize(
    "spec", EVERYDAY + [pytest.param(s, marks=pytest.mark.slow) for s in THEIRS if s not in EVERYDAY]
)
@few
@given(file=of_any_language)
def test_a_library_breaks_no_other_promise_on_another_language(spec: str, file: SourceFile) -> None:
    """Each refuses some text and counts carriage returns; one cannot cut every language."""
    if importlib.util.find_spec(THEIRS[spec]) is None:
        pytest.skip(f"{THEIRS[spec]} is not installed")
    assert set(broken_promises(chunker(spec), file)) <= {"no failure", "line ends", "nothing lost"}


@pytest.mark.parametrize(
    "name", [name if name in SPINE else pytest.param(name, marks=pytest.mark.slow) for name in OURS]
)
def test_every_built_in_passes_the_suite_at_its_defaults(name: str) -> None:
    report = check_chunker(make_chunker(name), examples=1)
    broken = {finding.promise for finding in report.findings if finding.n_broken}
    assert broken == EXCEPTIONS.get(name, set()), str(report)


@pytest.mark.parametrize("spec", SMALL)
def test_every_built_in_passes_the_cases_at_small_sizes(spec: str) -> None:
    broken = {
        name: unexpected(spec, broken_promises(chunker(spec), SourceFile("r", "a.py", text)))
        for name, text in CASES.items()
        if len(text) < 6_000
    }
    assert not any(broken.values()), broken


@given(text=modules.map(lambda text: text + "\n"))
def test_a_definition_that_fits_is_never_cut(text: str) -> None:
    """A function or class of at most max_nws is within one chunk of `ast`, in any context."""
    file = SourceFile("r", "a.py", text)
    chunks = chunker("ast:max_nws=40,min_nws=0").chunk(file)
    if not text.strip():
        return
    for result in definitions(file, LANGUAGES["python"]):
        lines = result.lines
        if result.kind != "variable" and count_nws(file.line_text(lines)) <= 40:
            assert any(chunk.lines.contains(lines) for chunk in chunks), (result, chunks)
