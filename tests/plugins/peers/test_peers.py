"""Other people's chunkers, where their extra is installed: their spans on our files."""

import importlib.util
import os
import socket
import subprocess
import sys
from contextlib import suppress
from itertools import pairwise
from subprocess import PIPE

import pytest

from repoeval_bench.chunkers._adapters import spans_in_order, unknown_language
from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.chunkers.tools.cases import SAMPLES
from repoeval_bench.chunkers.tools.conformance import broken_promises
from repoeval_bench.core.errors import ChunkError, LanguageError, SpecError
from repoeval_bench.core.source import SourceFile, count_nws

PACKAGES = {
    "astchunk": "astchunk",
    "cocoindex": "cocoindex",
    "langchain": "langchain_text_splitters",
    "llama-index": "llama_index",
    "semantic-text-splitter": "semantic_text_splitter",
    "semchunk": "semchunk",
}
CODE = "".join(
    f'# größe {index}\n@d\ndef f{index}(a):\n    """Doc \U0001d4b3."""\n    return a + {index}\n\n\n'
    for index in range(40)
)


def peer(name: str, options: str = ""):
    if importlib.util.find_spec(PACKAGES[name]) is None:
        pytest.skip(f"{PACKAGES[name]} is not installed; pip install 'repoeval-bench[{name}]' runs this test")
    return make_chunker(name + options)


SIZES = {
    "astchunk": ":max_chunk_size=300",
    "cocoindex": ":chunk_size=400",
    "langchain": ":chunk_size=400",
    "llama-index": ":max_chars=400",
    "semantic-text-splitter": ":max_nws=300",
    "semchunk": ":max_nws=300",
}


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("llama-index", ")\nx = 1\n", "llama-index failed with ValueError"),
        # Recursion that is too deep.
        ("astchunk", "x = " + "(" * 10_000 + ")" * 10_000, "astchunk failed with RecursionError"),
    ],
    ids=lambda value: value[:20],
)
def test_what_a_library_fails_on_is_named_with_the_file(name: str, text: str, says: str) -> None:
    file = SourceFile("r", "bad.py", text)
    with pytest.raises(ChunkError, match=rf"r/bad\.py: {says}"):
        peer(name).chunk(file)


@pytest.mark.parametrize("name", ["semantic-text-splitter", "semchunk"])
def test_a_size_is_one_of_this_project_or_of_a_tokenizer(name: str) -> None:
    """A chunk is what the library takes for one text, so it has no more tokens than it may."""
    from repoeval_bench.chunkers._tokens import counter

    file = SourceFile("r", "a.py", CODE)
    assert max(count_nws(chunk.text) for chunk in peer(name, ":max_nws=100").chunk(file)) <= 100
    chunks = peer(name, ":max_tokens=40").chunk(file)
    assert len(chunks) > 5
    assert max(counter("default")(chunk.text) for chunk in chunks) <= 40
    with pytest.raises(SpecError, match="two sizes"):
        peer(name, ":max_tokens=40,max_nws=100")


def test_cocoindex_overlaps_where_it_is_asked_to() -> None:
    file = SourceFile("r", "a.py", CODE)
    apart = peer("cocoindex", ":chunk_size=400").chunk(file)
    over = peer("cocoindex", ":chunk_size=400,chunk_overlap=150").chunk(file)
    assert all(a.chars.end <= b.chars.start for a, b in pairwise(apart))
    assert any(a.chars.end > b.chars.start for a, b in pairwise(over))


CUT = """
from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.core.source import SourceFile, count_nws
assert make_chunker("cocoindex").chunk(SourceFile("r", "a.py", "x = 1\\n"))
"""
ASKED = "import cocoindex.ops.text"


@pytest.mark.slow
@pytest.mark.parametrize(("script", "requested"), [(CUT, False), (ASKED, True)])
def test_cocoindex_tells_nobody_that_it_was_used(script: str, requested: bool) -> None:
    """A proxy of our own sees whom a process wants to reach: the package alone asks for a server, the chunker does not."""
    if importlib.util.find_spec("cocoindex") is None:
        pytest.skip("cocoindex is not installed; pip install 'repoeval-bench[cocoindex]' runs this test")
    reached = False
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        address = f"http://127.0.0.1:{proxy.getsockname()[1]}"
        kept = {k: v for k, v in os.environ.items() if "proxy" not in k.lower() and not k.startswith("COCOINDEX")}
        env = kept | {"https_proxy": address, "HTTPS_PROXY": address}
        command = [sys.executable, "-c", f"{script}\nimport sys; sys.stdin.read()"]
        with subprocess.Popen(command, env=env, stdin=PIPE) as it:
            proxy.settimeout(30 if requested else 1)
            with suppress(TimeoutError):
                proxy.accept()[0].close()
                reached = True
            it.stdin.close()
            assert it.wait(30) == 0
    assert reached == requested


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(ChunkError, match="'pyhton' is not a valid Language"):
        peer("langchain", ":language=pyhton").chunk(SourceFile("r", "a.py", CODE))


CANNOT = {"astchunk": {"javascript", "go", "rust", "c", "cpp"}}


@pytest.mark.parametrize("name", PACKAGES)
@pytest.mark.parametrize("language", SAMPLES)
def test_a_file_is_cut_by_its_own_language_or_refused_in_one_sentence(name: str, language: str) -> None:
    path, text = SAMPLES[language]
    chunker = peer(name, SIZES[name])
    if language in CANNOT.get(name, ()):
        with pytest.raises(LanguageError, match=rf"r/{path}: {name} does not know {language}, only python, .*; use "):
            chunker.chunk(SourceFile("r", path, text))
        return
    file = SourceFile("r", path, text * 2)
    assert len(chunker.chunk(file)) > 1
    assert broken_promises(chunker, file).keys() <= {"line ends"}


@pytest.mark.parametrize("name", PACKAGES)
def test_that_a_language_is_unknown_is_known_from_the_shortest_file_of_each(name: str) -> None:
    """The languages of several files, one of them empty, beside Python."""
    chunker = peer(name)
    for language, (path, text) in SAMPLES.items():
        more = [("long/" + path, text * 3), (path, text), ("empty_" + path, ""), ("a.py", CODE)]
        error = unknown_language(chunker, [SourceFile("r", *spec) for spec in more])
        if language in CANNOT.get(name, ()):
            assert str(error).startswith(f"r/{path}: {name} does not know {language}, only python")
        else:
            assert error is None


@pytest.mark.parametrize("name", sorted(PACKAGES.keys() - {"semchunk"}))
def test_a_file_of_no_known_language_is_refused_unless_one_is_named(name: str) -> None:
    with pytest.raises(
        LanguageError, match=r"r/a\.txt: (no grammar is here for files that end in |.* does not know txt)"
    ):
        peer(name).chunk(SourceFile("r", "a.txt", CODE))
    assert peer(name, ":language=python").chunk(SourceFile("r", "a.txt", CODE))


def test_texts_are_found_again_in_order_even_where_they_repeat() -> None:
    assert spans_in_order("a\n\na\nb\n", ["a", "\na\n", "b"]) == [(0, 1), (3, 4), (5, 6)]
    assert spans_in_order("a\nx\nb\n", ["a\n", "", "b"]) == [(0, 1), (4, 5)]
    assert spans_in_order("a\nb\n", ["b", "a"]) is None
