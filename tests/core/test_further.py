"""The further languages, whose grammars are in an extra: their definitions, and what their comments are."""

import pytest

from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.core.definitions import definitions
from repoeval_bench.core.grammars import GRAMMARS
from repoeval_bench.core.languages import FURTHER, language_name, language_of
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.syntax import parse
from support.cases import cases

pytest.importorskip("tree_sitter_language_pack")

CASES = cases(__file__)
COMMENTS = {"ruby": "# Add", "haskell": "-- | Add", "php": "/** Add", "shell": "#!", "zig": "/// A"}


def source(language):
    case = CASES[language]
    return SourceFile("r", case["file"], case["text"])


def test_every_further_language_has_a_case():
    assert CASES.keys() == FURTHER.keys()


@pytest.mark.parametrize("language", CASES)
def test_definitions_are_read_by_the_table_of_the_language(language):
    file = source(language)
    assert language_of(file.path) is FURTHER[language]
    result = [
        [one.kind, one.qualified, one.lines.start + 1, one.lines.end] for one in definitions(file, FURTHER[language])
    ]
    assert [one for one in result if one[1] != "add.helper"] == CASES[language]["definitions"]


@pytest.mark.parametrize("language", CASES)
def test_a_text_has_no_syntax_error_and_its_comments_are_found(language):
    parsed = parse(source(language), FURTHER[language])
    assert not parsed.root.has_error
    texts = [parsed.text(node) for match in parsed.matches(GRAMMARS[language].comments) for node in match["comment"]]
    assert texts[0].strip().startswith(COMMENTS.get(language, ("//", "--", "#")))


@pytest.mark.parametrize("chunker", ["ast:max_nws=60", "functions", "recursive:max_nws=60"])
@pytest.mark.parametrize("language", CASES)
def test_chunkers_cut_it_without_a_gap(language, chunker):
    file = source(language)
    chunks = make_chunker(chunker).chunk(file)
    assert len(chunks) > 1
    assert {line for chunk in chunks for line in chunk.lines} == {*range(file.n_lines)}


def test_a_language_without_its_grammar_has_a_name_alone(monkeypatch):
    monkeypatch.setattr("repoeval_bench.core.languages._is_here", lambda module: "language_pack" not in module)
    assert (language_of("a.rb"), language_name("a.rb"), language_name("b/a.proto")) == (None, "ruby", "proto")
