"""Chunkers that share the trees of files have the chunks that each has alone."""

import pickle

import pytest

from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.chunkers.together import together
from repoeval_bench.core.errors import LanguageError
from repoeval_bench.core.source import SourceFile, blanked
from repoeval_bench.core.spans import LineSpan

SPECS = ["ast:max_nws=300", "fixed", "ast:max_nws=300,header=stem", "ast:overlap=2,header=scope", "functions"]


def test_chunks_are_the_same_in_any_order(benchmark):
    """Also of a task's copy of a file, in another process, and where one of them fails."""
    files = [file for files in benchmark.files.values() for file in files]
    texts = [*files, *(blanked(file, LineSpan(1, file.n_lines // 2)) for file in files if file.n_lines > 3)]
    alone = [make_chunker(spec) for spec in SPECS]
    for shared in (together(alone), pickle.loads(pickle.dumps(together(alone[::-1])))[::-1]):
        assert [chunker.spec for chunker in shared] == [chunker.spec for chunker in alone]
        assert shared[1] == alone[1]
        for file in texts:
            assert [chunker.chunk(file) for chunker in shared] == [chunker.chunk(file) for chunker in alone]
    auto, named = together([make_chunker("ast"), make_chunker("ast:language=python")])
    notes = SourceFile("", "notes.txt", "nothing = 1\n")
    assert named.chunk(notes)
    with pytest.raises(LanguageError):
        auto.chunk(notes)
