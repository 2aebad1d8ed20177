"""`ast` and `functions` beyond Python, where the grammar's package is installed."""

import itertools

import pytest

from repoeval_bench.chunkers.ast import AstChunker
from repoeval_bench.chunkers.recursive import RecursiveChunker
from repoeval_bench.chunkers.tools.cases import SAMPLES
from repoeval_bench.core.definitions import definitions
from repoeval_bench.core.languages import LANGUAGES
from repoeval_bench.core.source import SourceFile, count_nws
from support.cases import cases

CASES = cases(__file__)


@pytest.mark.parametrize("language", SAMPLES)
def test_definitions_that_fit_are_whole(language: str) -> None:
    path, text = SAMPLES[language]
    file = SourceFile("r", path, text)
    chunks = AstChunker(max_nws=120, min_nws=0).chunk(file)
    assert "".join(chunk.text for chunk in chunks) == text
    fit = [
        result.lines
        for result in definitions(file, LANGUAGES[language])
        if result.kind != "variable" and count_nws(file.line_text(result.lines)) <= 120
    ]
    assert fit
    assert all(any(chunk.lines.contains(lines) for chunk in chunks) for lines in fit)


@pytest.mark.parametrize("path", CASES["above"])
def test_what_stands_above_a_definition_stays_with_it(path: str) -> None:
    before, definition = CASES["above"][path]
    chunks = AstChunker(max_nws=count_nws(definition), min_nws=0).chunk(SourceFile("r", path, before + definition))
    assert [chunk.text for chunk in chunks] == [before, definition]


@pytest.mark.parametrize("path", CASES["recursive"])
def test_recursive_cuts_before_the_words_of_the_file_s_language(path: str) -> None:
    """At a size that no two of these parts fit in together, and each alone does."""
    text, cuts = CASES["recursive"][path].values()
    file = SourceFile("r", path, text)
    bounds = [0, *cuts, file.n_lines]
    parts = ["".join(text.splitlines(keepends=True)[a:b]) for a, b in itertools.pairwise(bounds)]
    chunks = RecursiveChunker(max_nws=max(map(count_nws, parts))).chunk(file)
    assert [chunk.text for chunk in chunks] == parts
