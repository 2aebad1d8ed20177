"""Where a completion ends, on the real tasks too."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoeval_bench import LineSpan, load_benchmark
from repoeval_bench.plugins.completion.layout import cut, stops
from support import written

LINES = st.lists(st.sampled_from(["", "    a = 1", "        b", "  c", "d()", "def x():", "if y:", "}", "\tt", "    "]))


def task(truth, level="function"):
    body = LineSpan(1, 1 + len(truth.splitlines()))
    return written.task(prompt="def f():\n", ground_truth=truth, body=body, level=level)


def test_a_function_ends_where_its_indentation_does():
    """Blank lines are within, those at the end are not; what follows the hole is not part of it."""
    answer = "    a = 1\n\n    if a:\n        b()\n    return a\n\n\ndef g():\n    pass\n"
    assert cut(answer, task("    return 1\n"), chat=False) == answer.partition("\n\n\ndef g")[0] + "\n"
    assert cut("return 1\n", task("    return 1\n"), chat=False) == ""


@pytest.mark.parametrize("level", ["line", "api"])
def test_a_line_or_a_call_has_as_many_lines_as_the_truth(level):
    """Blank lines do not count."""
    assert cut("\n  a(\n\n  b)\nc\n", task("a(\n  b)\n", level), chat=False) == "\n  a(\n\n  b)\n"


@pytest.mark.parametrize(
    "answer",
    ["```python\n    return a\n```", "```\nreturn a\n```\nSo.", "return a", "\n\n    return a\n", "``` py\nreturn a\n"],
)
def test_a_chat_may_fence_its_answer_and_lose_the_first_indentation(answer):
    """What is in the fence counts, the first line indented as the hole's."""
    assert cut(answer, task("    return 1\n"), chat=True) == "    return a\n"


@given(LINES, st.sampled_from(["python", "java"]))
def test_stops_save_tokens_and_change_nothing(lines, language):
    """Cut where the server stops, an answer keeps the same lines."""
    task_ = task("    return 1\n")
    answer = "\n".join(lines)
    stopped = answer
    for stop in stops(task_, language, chat=False):
        stopped = stopped.partition(stop)[0]
    assert cut(stopped, task_, chat=False) == cut(answer, task_, chat=False)


def test_nothing_is_stopped_where_it_could_be_wanted():
    """A hole in the first column, a line, and a chat have no stops; a server takes four at most."""
    assert stops(task("x = 1\n"), "python", chat=False) == ()
    assert stops(task("    x = 1\n", "line"), "python", chat=False) == ()
    assert stops(task("    x = 1\n"), "python", chat=True) == ()
    assert 0 < len(stops(task("    x = 1\n"), "python", chat=False)) <= 4


@pytest.mark.full_data
def test_the_rest_of_a_real_file_is_cut_to_the_ground_truth(real_source):
    """A perfect model that goes on to the end of the file: for each of the 455 tasks the ground truth is left."""
    benchmark = load_benchmark(real_source)
    for task in benchmark.tasks:
        file = benchmark.by_name[task.file]
        rest = file.line_text(LineSpan(task.body.start, file.n_lines))
        assert cut(rest, task, chat=False).rstrip() == task.ground_truth.rstrip(), task.task_id
