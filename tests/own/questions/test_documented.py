"""Protocol docstring: what each documented function asks, what answers it, and what is blanked."""

from dataclasses import replace

import pytest

from repoeval_bench.core.errors import DatasetError
from repoeval_bench.own.questions.documented import documented
from support import written
from support.cases import cases
from support.codebase import CODE

SAMPLES = cases(__file__)
PYTHON = SAMPLES["python"]


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


@pytest.mark.parametrize("case", SAMPLES["marked"])
def test_directives_and_markup_are_no_part_of_the_question(case):
    sample = SAMPLES["marked"][case]
    (task,) = documented(benchmark({sample["path"]: sample["code"]})).tasks
    assert task.prompt == sample["question"]


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
