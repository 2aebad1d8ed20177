"""Other people's chunkers, where their extra is installed: their spans on our files."""

from __future__ import annotations

import importlib.util

import pytest

from repoeval_bench.chunkers._adapters import spans_in_order
from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.chunkers.tools.cases import CASES
from repoeval_bench.chunkers.tools.conformance import broken_promises
from repoeval_bench.chunkers.tools.samples import SAMPLES
from repoeval_bench.core.errors import ChunkError, LanguageError, SpecError
from repoeval_bench.core.source import SourceFile

PACKAGES = {"astchunk": "astchunk", "langchain": "langchain_text_splitters", "llama-index": "llama_index"}
CODE = "".join(
    f'# größe {index}\n@d\ndef f{index}(a):\n    """Doc \U0001d4b3."""\n    return a + {index}\n\n\n'
    for index in range(40)
)


def peer(name: str, options: str = ""):
    if importlib.util.find_spec(PACKAGES[name]) is None:
        pytest.skip(f"{PACKAGES[name]} is not installed; pip install 'repoeval-bench[{name}]' runs this test")
    return make_chunker(name + options)


SIZES = {"astchunk": ":max_chunk_size=300", "langchain": ":chunk_size=400", "llama-index": ":max_chars=400"}


@pytest.mark.parametrize("name", PACKAGES)
def test_chunks_are_slices_and_no_character_is_lost(name: str) -> None:
    chunks = peer(name, SIZES[name]).chunk(SourceFile("r", "a.py", CODE))
    assert len(chunks) > 5
    assert all(chunk.text == CODE[chunk.chars.start : chunk.chars.end] for chunk in chunks)
    assert "".join("".join(chunk.text for chunk in chunks).split()) == "".join(CODE.split())


@pytest.mark.parametrize("name", PACKAGES)
def test_its_texts_and_order_pass_the_suite_whatever_else_does_not(name: str) -> None:
    chunker = peer(name)
    texts = [text for text in CASES.values() if len(text) < 10_000]
    broken = {promise for text in texts for promise in broken_promises(chunker, SourceFile("r", "a.py", text))}
    assert broken <= {"no failure", "line ends", "nothing lost"}


def test_what_llama_index_refuses_is_named_with_the_file() -> None:
    with pytest.raises(ChunkError, match=r"r/bad\.py: llama-index failed with ValueError"):
        peer("llama-index").chunk(SourceFile("r", "bad.py", ")\nx = 1\n"))


def test_what_recurses_too_deep_in_astchunk_is_named_with_the_file() -> None:
    with pytest.raises(ChunkError, match=r"r/deep\.py: astchunk failed with RecursionError"):
        peer("astchunk").chunk(SourceFile("r", "deep.py", "x = " + "(" * 10_000 + ")" * 10_000))


def test_an_unknown_language_is_refused_with_those_that_exist() -> None:
    with pytest.raises(SpecError, match="did you mean 'python'"):
        peer("langchain", ":language=pyhton").chunk(SourceFile("r", "a.py", CODE))


CANNOT = {"astchunk": {"javascript", "go", "rust", "c", "cpp"}, "langchain": set(), "llama-index": set()}


@pytest.mark.parametrize("name", PACKAGES)
@pytest.mark.parametrize("language", SAMPLES)
def test_a_file_is_cut_by_its_own_language_or_refused_in_one_sentence(name: str, language: str) -> None:
    path, text = SAMPLES[language]
    chunker = peer(name, SIZES[name])
    if language in CANNOT[name]:
        with pytest.raises(LanguageError, match=rf"r/{path}: {name} does not know {language}, only python, .*; use "):
            chunker.chunk(SourceFile("r", path, text))
        return
    file = SourceFile("r", path, text * 2)
    assert len(chunker.chunk(file)) > 1
    assert broken_promises(chunker, file).keys() <= {"line ends"}


@pytest.mark.parametrize("name", PACKAGES)
def test_a_file_of_no_known_language_is_refused_unless_one_is_named(name: str) -> None:
    with pytest.raises(LanguageError, match=r"r/a\.txt: no grammar is known for files that end in '\.txt'; name one"):
        peer(name).chunk(SourceFile("r", "a.txt", CODE))
    assert peer(name, ":language=python").chunk(SourceFile("r", "a.txt", CODE))


def test_texts_are_found_again_in_order_even_where_they_repeat() -> None:
    assert spans_in_order("a\n\na\nb\n", ["a", "\na\n", "b"]) == [(0, 1), (3, 4), (5, 6)]
    assert spans_in_order("a\nx\nb\n", ["a\n", "", "b"]) == [(0, 1), (4, 5)]
    assert spans_in_order("a\nb\n", ["b", "a"]) is None
