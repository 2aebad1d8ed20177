"""Protocol docstring: what each documented function asks, what answers it, and what is blanked."""

from dataclasses import replace

import pytest

from repoeval_bench.core.errors import DatasetError
from repoeval_bench.own.questions.documented import documented
from support import written
from support.codebase import CODE

PYTHON = '''class A:
    """A class whose docstring stays, as no function has it."""

    @property
    def wide(self):
        """Say how wide the thing is.

        Not a part of the question.
        """
        return self.right - self.left


def short():
    """Too short this."""
    return 1


def inline(): """A docstring on a line with the signature."""; return 2


def followed():
    """A docstring on a line with a statement
    after it."""; return 3


def stub():
    """A function that has nothing but its docstring."""


def first(x):
    """Return the name of the thing that was given.
    :param x: the thing
    """
    return x.name


def second(x):
    """Return the name
    of the thing that was given."""
    return x.other
'''


SUM = "Gives the sum of two numbers."


def benchmark(files, limit=None):
    return written.benchmark({"r": written.sources(files)}, limit=limit)


def test_the_first_paragraph_asks_and_the_function_without_it_answers():
    result = documented(benchmark({"a.py": PYTHON}))
    wide, name = result.tasks
    assert wide.prompt == "Say how wide the thing is."
    assert [(place.file, place.lines.start, place.lines.end) for place in wide.places] == [
        ("r/a.py", 3, 5),
        ("r/a.py", 9, 10),
    ]
    # Two functions that ask the same are one question.
    assert name.prompt == "Return the name of the thing that was given."
    lines = PYTHON.splitlines()
    gold = [lines[line] for place in name.places for line in place.lines]
    assert gold == ["def first(x):", "    return x.name", "def second(x):", "    return x.other"]


def test_all_docstrings_of_functions_are_blanked_and_lines_keep_their_numbers():
    result = documented(benchmark({"a.py": PYTHON}))
    (file,) = result.files["r"]
    assert file.n_lines == len(PYTHON.splitlines())
    for gone in ("Say how wide", "Not a part", "Too short", "nothing but its docstring", ":param x:"):
        assert gone not in file.text
    for kept in ("A class whose docstring stays", "on a line with the signature", "return 3", "return self.right"):
        assert kept in file.text


MARKED = [
    # A role at the start of a line, as Sphinx writes references; a parameter at the same place ends the question.
    (
        "a.py",
        'def passes(key):\n    """Create a decorator that passes a key from\n    :attr:`Context.meta` as the first argument.\n'
        '    :param key: the key\n    """\n    return key.meta\n',
        "Create a decorator that passes a key from :attr:`Context.meta` as the first argument.",
    ),
    # Directives for programs, and how a text is set.
    (
        "a.go",
        "package a\n\n// Gives the sum of two numbers.\n//nolint:gocyclo // long\n//export Add\n//go:generate stringer -type=A\n"
        "func Add(a int) int {\n\treturn a\n}\n",
        SUM,
    ),
    (
        "A.java",
        "class A {\n  /**\n   * Gives the <b>sum</b> of {@code List<A>} and {@link B}<br>or not.\n   * <p>\n   * Not asked.\n   */\n"
        "  int add(int a) {\n    return a;\n  }\n}\n",
        "Gives the sum of List<A> and B or not.",
    ),
    # That it is a description.
    ("a.cpp", f"/// \\brief: {SUM}\n/// \\param a one\nint add(int a) {{\n  int b = a;\n  return b;\n}}\n", SUM),
    ("a.js", f"/**\n * @description {SUM}\n * @param a one\n */\nfunction add(a) {{\n  return a\n}}\n", SUM),
    # A tag right behind the mark is no sign of Doxygen.
    ("a.cs", f"class A {{\n  ///<summary>{SUM}</summary>\n  int Add(int a) {{\n    return a;\n  }}\n}}\n", SUM),
    # Entities are what they stand for, but not in code of Javadoc; `<para>` ends a paragraph as `<p>` does.
    (
        "a.cs",
        "class A {\n  /// <summary><para>Gives &lt;the&gt; sum of A &amp; B.</para><para>Not asked.</para></summary>\n"
        "  int Add(int a) {\n    return a;\n  }\n}\n",
        "Gives <the> sum of A & B.",
    ),
    (
        "A.java",
        "class A {\n  /** Gives <b>the</b> sum of &lt;A&gt; &amp;&nbsp;{@link B} as {@code &amp;}. */\n"
        "  int add(int a) {\n    return a;\n  }\n}\n",
        "Gives the sum of <A> & B as &amp;.",
    ),
    ("A.java", f"class A {{\n  /**<p>{SUM}</p>*/\n  int add(int a) {{\n    return a;\n  }}\n}}\n", SUM),
]


@pytest.mark.parametrize(("path", "code", "question"), MARKED)
def test_directives_and_markup_are_no_part_of_the_question(path, code, question):
    (task,) = documented(benchmark({path: code})).tasks
    assert task.prompt == question


def test_a_comment_on_what_is_before_it_asks_nothing_of_what_follows():
    code = "struct A {\n  int n;\n  ///< the number of things that were counted\n  int add(int a) {\n    return a;\n  }\n};\n"
    with pytest.raises(DatasetError, match="has a docstring of 5 words or more"):
        documented(benchmark({"a.cpp": code}))


def test_what_asks_nothing_is_counted():
    """`short` has 3 words; docstrings of `inline` and `followed` cannot be blanked; `stub` has no code to be found."""
    assert documented(benchmark({"a.py": PYTHON})).unscored == 3


def test_every_language_with_doc_comments_asks():
    result = documented(benchmark(CODE))
    assert {task.prompt.partition(" ")[0] for task in result.tasks} == {
        *("Add", "Say", "Put", "Run", "FetchOrLoad", "EvictOldest", "Counts")
    }
    # Files take turns.
    assert len({task.path for task in result.tasks[:4]}) == 4


def test_a_limit_leaves_the_first_and_says_of_how_many():
    result = documented(benchmark(CODE, limit=3))
    assert (len(result.tasks), result.whole_tasks) == (3, 7)
    assert result.tasks == documented(benchmark(CODE)).tasks[:3]


def test_it_is_done_once():
    once = documented(benchmark(CODE))
    assert documented(once) is once


def test_other_docstrings_are_another_benchmark():
    prints = [
        documented(benchmark({**CODE, "a.py": text})).fingerprint
        for text in (PYTHON, PYTHON.replace("how wide", "how high"), PYTHON.replace("self.left", "self.low"))
    ]
    assert len(set(prints)) == 3


def test_a_repository_without_docstrings_is_one_sentence():
    with pytest.raises(DatasetError, match="no function in r has a docstring of 5 words or more"):
        documented(benchmark({"a.py": "def f(x):\n    return x\n"}))


def test_files_of_other_kinds_are_left_alone():
    text = "# A title of five words here\n"
    result = documented(replace(benchmark({"a.py": PYTHON, "b.txt": text})))
    assert result.by_name["r/b.txt"].text == text
