"""Calls, comments and identifiers, in each of the ten languages."""

import builtins
import keyword

import pytest

from repoeval_bench.core.definitions import calls_in, comments_in, identifiers_in
from repoeval_bench.core.grammars import GRAMMARS
from repoeval_bench.core.languages import LANGUAGES
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.syntax import parse
from support.samples import samples

SAMPLES = samples("occurrences")


def look(language, text):
    return parse(SourceFile("r", "f", text), LANGUAGES[language])


def names(parsed):
    return [(name, len(lines)) for name, lines in calls_in(parsed)]


@pytest.mark.parametrize("language", SAMPLES)
def test_calls_with_their_lines_and_comments_are_found(language):
    sample = SAMPLES[language]
    result = look(language, sample["text"])
    assert [f"{name}:{lines}" for name, lines in names(result)] == sample["calls"].split()
    assert [span.start for span in comments_in(result)] == sample["comments"]


def test_lines_are_those_of_a_file_with_form_feeds():
    assert calls_in(look("python", "x = 1\x0c\nfoo(\n  1)\n")) == [("foo", LineSpan(2, 4))]


IDENTIFIERS = samples("identifiers")


def used_names(language, text, first=0, end=None):
    file = SourceFile("r", "p", text)
    return identifiers_in(parse(file, LANGUAGES[language]), LineSpan(first, file.n_lines if end is None else end))


@pytest.mark.parametrize("language", LANGUAGES)
def test_names_are_found_in_every_language(language):
    sample = IDENTIFIERS[language]
    assert used_names(language, sample["text"]) == {*sample["names"].split()}


def test_only_those_on_the_lines_count():
    text = "a = 1\nb = 2\nc = '''x\ny''' + d\n"
    assert [sorted(used_names("python", text, line, line + 1)) for line in range(4)] == [["a"], ["b"], ["c"], ["d"]]
    # A form feed ends a line here, and not in the syntax tree.
    assert used_names("python", "a = 1\x0c\nb = 2\n", 2, 3) == {"b"}


def test_the_built_in_names_of_python_are_those_of_its_interpreters():
    """A newer one may add some: the table is fixed, so that no score moves with it."""
    shown = {name for name in dir(builtins) if not keyword.iskeyword(name)}
    assert len(shown - GRAMMARS["python"].builtins) <= 2
    assert {"PythonFinalizationError", "__file__", "print"} <= GRAMMARS["python"].builtins
    assert not any(map(keyword.iskeyword, GRAMMARS["python"].builtins))
