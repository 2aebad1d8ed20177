"""The identifiers of code in every language: what names something, and is neither a keyword nor the language's own."""

import builtins
import keyword

import pytest

from repoeval_bench.core.definitions import identifiers_in
from repoeval_bench.core.grammars import GRAMMARS
from repoeval_bench.core.languages import LANGUAGES
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.syntax import parse
from support.samples import samples

SAMPLES = samples("identifiers")


def used_names(language, text, first=0, end=None):
    file = SourceFile("r", "p", text)
    return identifiers_in(parse(file, LANGUAGES[language]), LineSpan(first, file.n_lines if end is None else end))


@pytest.mark.parametrize("language", LANGUAGES)
def test_names_are_found_in_every_language(language):
    sample = SAMPLES[language]
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
