"""Facts of tasks: of the function around the lines to be written."""

import pytest

from repoeval_bench.core.spans import LineSpan, Place
from repoeval_bench.dataset.task_facts import FACTS, task_facts
from support.cases import cases
from support.written import benchmark, sources, task

CASES = cases(__file__)
SOURCE = CASES["source"]


def facts_at(line, text=SOURCE, path="p.py"):
    task_ = task(path=path, body=LineSpan(line, line + 1))
    return task_facts(benchmark({"r": sources({path: text})}, [task_]))["r/0"]


@pytest.mark.parametrize("deep", ["x = a" + ".b()" * 30_000, "x = a" + " + a" * 100_000])
def test_of_code_that_is_nested_too_deeply_for_the_parser_nothing_is_known(deep):
    """It ended the command with a traceback."""
    assert facts_at(2, f"def f(a):\n    {deep}\n    return x\n")["nesting_depth"] in (None, 0)


def test_a_chain_of_elif_is_not_nested():
    text = "def f(a):\n    if a: pass\n" + "".join(f"    elif a == {n}: pass\n" for n in range(700)) + "    return 1\n"
    assert facts_at(500, text)["nesting_depth"] == 0


@pytest.mark.parametrize(("line", "lines", "depth", "docstring", "method"), CASES["facts"])
def test_facts_of_a_task(line, lines, depth, docstring, method):
    result = facts_at(line)
    assert set(result) == set(FACTS)
    assert (result["function_lines"], result["nesting_depth"]) == (lines, depth)
    assert (result["has_docstring"], result["is_method"], result["prompt_lines"]) == (docstring, method, line)


def test_the_function_that_answers_a_question_has_the_facts():
    """Its first line is where the place begins, so it was taken for what is around it."""
    method = LineSpan(5, 9)
    question = task(body=method, places=(Place("r/p.py", method),))
    facts = task_facts(benchmark({"r": sources({"p.py": SOURCE})}, [question]))["r/0"]
    assert (facts["function_lines"], facts["nesting_depth"], facts["is_method"]) == (4, 1, True)


def test_a_place_may_begin_with_the_comment_above_the_function():
    java = "class A {\n  /** Gives the sum. */\n  @Override\n  int f() {\n    return 1;\n  }\n}\n"
    whole = LineSpan(1, 6)
    question = task(path="A.java", body=whole, places=(Place("r/A.java", whole),))
    facts = task_facts(benchmark({"r": sources({"A.java": java})}, [question]))["r/0"]
    assert (facts["nesting_depth"], facts["has_docstring"], facts["is_method"]) == (1, True, True)


def test_facts_of_other_languages_and_of_none():
    java = "class A {\n  /** Documented. */\n  int f() {\n    int a = 1;\n    return a;\n  }\n}\n"
    known = facts_at(4, java, path="A.java")
    assert (known["function_lines"], known["nesting_depth"]) == (4, 1)
    assert (known["has_docstring"], known["is_method"]) == (True, True)
    assert facts_at(4, java, path="A.txt")["is_method"] is None
