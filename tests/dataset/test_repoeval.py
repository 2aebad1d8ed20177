"""Task files: what is read, what is refused, and how a bad row is named."""

import copy
import json

import pytest

from repoeval_bench.core.errors import DatasetError
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.dataset.repoeval import dump_tasks, parse_tasks
from support import minirepo
from support.cases import cases

CASES = cases(__file__)

ROW = {
    "prompt": "def f():",
    "metadata": {
        "task_id": "acme--tools/idx",
        "ground_truth": "    return 1\n",
        "fpath_tuple": ["acme_tools", "tools", "f.py"],
        "context_start_lineno": 3,
        "lineno": 7,
        "function_name": "f",
    },
}


def changed(prompt=ROW["prompt"], **fields):
    return {"prompt": prompt, "metadata": ROW["metadata"] | fields}


def without(*names):
    row = copy.deepcopy(ROW)
    for name in names:
        row["metadata"].pop(name, None)
        row.pop(name, None)
    return row


def parse(*rows, end="\r\n", level="function"):
    raw = "".join((row if isinstance(row, str) else json.dumps(row)) + end for row in rows).encode()
    return parse_tasks(raw, name="t.jsonl", level=level)


def refused(*rows):
    with pytest.raises(DatasetError) as caught:
        parse(*rows)
    return str(caught.value)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_row_becomes_a_task_whatever_the_line_ends(end):
    (task,) = parse(ROW, end=end)
    assert (task.task_id, task.repo, task.path) == ("acme_tools/0", "acme_tools", "tools/f.py")
    assert (task.body, task.context_start, task.level) == (LineSpan(7, 8), 3, "function")
    assert (task.prompt, task.ground_truth, task.function_name) == ("def f():", "    return 1\n", "f")


def test_ids_that_name_nothing_are_numbered_per_repository():
    other = changed(fpath_tuple=["acme_other", "a.py"])
    assert [task.task_id for task in parse(ROW, other, ROW, other)] == [
        *("acme_tools/0", "acme_other/0", "acme_tools/1", "acme_other/1")
    ]


def test_upstreams_own_numbers_are_kept_where_they_are_unique():
    rows = [changed(task_id=f"acme_tools/{number}") for number in (4, 7)]
    assert [task.task_id for task in parse(*rows)] == ["acme_tools/4", "acme_tools/7"]
    twice = [changed(task_id="acme_tools/4")] * 2
    assert [task.task_id for task in parse(*twice)] == ["acme_tools/0", "acme_tools/1"]


@pytest.mark.parametrize("parts", [["acme--tools", "tools", "f.py"], ["acme_tools", "tools/f.py"]])
def test_paths_come_with_dashes_and_with_several_parts_in_one(parts):
    (task,) = parse(changed(fpath_tuple=parts))
    assert (task.repo, task.path) == ("acme_tools", "tools/f.py")


def test_line_no_is_read_like_lineno():
    row = without("lineno", "function_name")
    row["metadata"]["line_no"] = 9
    (task,) = parse(row, level="line")
    assert task.body == LineSpan(9, 10)
    assert task.function_name is None


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ("{not json", "t.jsonl:1: row: not valid JSON"),
        *((without(name), f"t.jsonl:1: {field}: it is missing") for name, field in CASES["missing"].items()),
        *((changed(**fields), complaint) for fields, complaint in CASES["changed"]),
    ],
)
def test_a_broken_row_is_named_with_line_field_and_expectation(row, complaint):
    assert complaint in refused(row)


def test_all_problems_of_a_file_stand_in_one_report():
    report = refused(ROW, changed(lineno=-1), "{", without("prompt", "ground_truth"))
    assert report.startswith("t.jsonl has 3 bad rows:")
    assert [line.strip().split(": ")[0] for line in report.splitlines()[1:]] == [
        *("t.jsonl:2", "t.jsonl:3", "t.jsonl:4", "t.jsonl:4")
    ]


def test_a_file_without_a_row_is_refused():
    with pytest.raises(DatasetError, match="has no tasks"):
        parse_tasks(b"\r\n", name="t.jsonl", level="function")


@pytest.mark.parametrize("level", ["function", "line", "api"])
def test_tasks_written_out_read_back_equal(level):
    tasks = parse_tasks(minirepo.jsonl(minirepo.rows(level)), name="t.jsonl", level=level)
    assert len(tasks) >= 6
    assert parse_tasks(dump_tasks(tasks), name="t.jsonl", level=level) == tasks
    assert parse_tasks(dump_tasks(tasks[3:]), name="t.jsonl", level=level) == tasks[3:]
