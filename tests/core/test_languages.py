"""The language of a file, by its name, and by its text where the name belongs to two."""

import pytest

from repoeval_bench.core.languages import ENDINGS, LANGUAGES, language_of
from support.cases import cases

CASES = cases(__file__)


@pytest.mark.parametrize(
    ("language", "path"), [(name, path) for name, paths in CASES["names of files"].items() for path in paths]
)
def test_the_name_of_a_file_says_its_language(language: str, path: str) -> None:
    assert language_of(path) is LANGUAGES[language]


@pytest.mark.parametrize("path", ["notes.md", "Makefile", "a.py.orig", "a.py/notes", "a.", ""])
def test_any_other_name_says_none(path: str) -> None:
    assert language_of(path) is None


@pytest.mark.parametrize(
    ("text", "language"),
    [(text, language) for language, texts in CASES["language of the header"].items() for text in texts],
)
def test_a_header_is_cpp_where_its_text_is_nothing_else(text: str, language: str) -> None:
    assert language_of("a.h", text) is LANGUAGES[language]
    assert language_of("a.py", text) is LANGUAGES["python"]


@pytest.mark.parametrize(
    ("text", "named"), [(text, named) for named, texts in CASES["beside Objective-C"].items() for text in texts]
)
def test_a_header_of_objective_c_is_in_no_known_language(text: str, named: str) -> None:
    assert (language_of("a.h", text) is not None) == (named == "read")
    assert language_of("a.c", text) is LANGUAGES["c"]


def test_each_ending_belongs_to_one_language() -> None:
    assert len(ENDINGS) == len(set(ENDINGS)) == sum(len(language.endings) for language in LANGUAGES.values())
    assert all(ending == ending.lower() and ending.startswith(".") for ending in ENDINGS)
