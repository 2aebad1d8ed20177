"""`logs questions`: other benchmarks' questions become gold, questions and logs that the tool itself reads."""

import json
from pathlib import Path

import pytest

from repoeval_bench import load_benchmark
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.places import Place
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.core.validation import LINES
from repoeval_bench.plugins.logs.questions.writing import FILE_GOLD, FILE_QUESTIONS, GOLD, QUESTIONS
from support.codebase import write_files
from support.command import bench, one_sentence, succeed
from support.runs import read_rows, write_rows


def places(*files, ends=("start_line", "end_line"), name="path"):
    """Places as other benchmarks have them, of (file, first line, last line)."""
    return [{name: file, ends[0]: first, ends[1]: last} for file, first, last in files]


def regions(*files):
    return places(*files, ends=("start", "end"))


def sample(name):
    """The rows of a small file in another benchmark's format."""
    text = (Path(__file__).with_name("foreign") / name).read_text("utf-8")
    return json.loads(text) if name.endswith(".json") else [json.loads(line) for line in text.splitlines()]


SEMBLE, CONTEXTBENCH, SWE_EXPLORE = map(sample, ("semble.json", "contextbench.jsonl", "swe-explore.jsonl"))
SEVEN = {"instance_id": "tool__one-7", "problem_statement": "Joined spans lose a line."}
TOO_LONG = places(("src/spans.py", 1, 2**64), name="file")
SOURCES = {
    "src/spans.py": "class Span:\n    pass\ndef join(spans):\n    return spans\n",
    "src/use.py": "import spans\n",
}


def write(path, rows):
    return write_rows(path, [json.dumps(rows)] if path.suffix == ".json" else rows)


def write_parquet(path, row):
    parquet = pytest.importorskip("pyarrow.parquet")
    table = {name: [value] for name, value in row.items()}
    parquet.write_table(pytest.importorskip("pyarrow").table(table), path)
    return path


def converted(tmp_path, name, file, *options):
    done = succeed("logs", "questions", name, file, "-o", tmp_path / "out", *options)
    return done.out, tmp_path / "out"


@pytest.mark.parametrize("folder", [False, True])
def test_annotations_of_semble_become_gold_of_lines_and_of_files(tmp_path, folder):
    """Secondary answers have half the gain and are not query for; whole files are apart; no answer is counted."""
    (tmp_path / "in").mkdir()
    file = write(tmp_path / "in" / "tool.json", SEMBLE)
    printed, out = converted(tmp_path, "semble", file.parent if folder else file)
    common = {"query_id": "tool/1", "repository": "tool", "extra": {"category": "architecture"}}
    assert read_rows(out / GOLD) == [
        {**common, "file": "tool/src/spans.py", "start_line": 2, "end_line": 4, "gain": 2.0},
        {**common, "file": "tool/src/use.py", "start_line": 0, "end_line": 1, "gain": 1.0},
    ]
    (whole,) = read_rows(out / FILE_GOLD)
    assert (whole["query_id"], whole["file"], "start_line" in whole) == ("tool/2", "tool/src/spans.py", False)
    place = {"file": "tool/src/spans.py", "start_line": 3, "end_line": 4}
    query = {"id": "tool/1", "query": "how spans are joined", "places": [place], "strict": False}
    assert read_rows(out / QUESTIONS) == [query]
    of_files = {"id": "tool/2", "query": "Span", "places": [{"file": "tool/src/spans.py"}], "strict": False}
    assert read_rows(out / FILE_QUESTIONS) == [of_files]
    assert "1 question with whole files as answers, blind to chunking" in printed
    assert "1 question without an answer" in printed


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_contextbench_has_its_lines_under_any_of_its_names(tmp_path, form):
    """Text in Parquet, lists in JSONL; an issue's repository is named after it, as it has a commit of its own."""
    file = tmp_path / f"gold.{form}"
    write_parquet(file, CONTEXTBENCH[0]) if form == "parquet" else write(file, CONTEXTBENCH)
    printed, out = converted(tmp_path, "contextbench", file)
    gold = [(row["query_id"], row["file"], row["start_line"], row["end_line"]) for row in read_rows(out / GOLD)]
    eight = [("tool__one-8", "tool__one-8/src/spans.py", 0, 2), ("tool__one-8", "tool__one-8/src/use.py", 0, 1)]
    assert gold == [("tool__one-7", "tool__one-7/src/spans.py", 2, 4), *(eight if form == "jsonl" else [])]
    assert [row["id"] for row in read_rows(out / QUESTIONS)] == ["tool__one-7"]
    assert ("1 question without a text" in printed) == (form == "jsonl")


def test_core_regions_of_swe_explore_are_gold(tmp_path):
    """An end of -1 is the whole file."""
    _, out = converted(tmp_path, "swe-explore", write(tmp_path / "bench.jsonl", SWE_EXPLORE))
    assert [row["query_id"] for row in read_rows(out / FILE_GOLD)] == ["tool__one-8"]
    assert {row["query_id"] for row in read_rows(out / GOLD)} == {"tool__one-7"}


def test_questions_are_asked_of_the_code_that_they_are_about(tmp_path):
    """What is written for --queries is read by it, line for line."""
    _, out = converted(tmp_path, "semble", write(tmp_path / "tool.json", SEMBLE))
    write_files(tmp_path / "tool", SOURCES)
    (task,) = load_benchmark(tmp_path / "tool", questions=out / QUESTIONS).tasks
    assert (task.prompt, task.places) == ("how spans are joined", (Place("tool/src/spans.py", LineSpan(2, 4)),))


@pytest.fixture
def scattered(tmp_path):
    """Annotations of two repositories in three files: one answer in no code, one beyond its file, one scattered."""
    rows = [
        {"query": "joins", "relevant": [*places(("src/spans.py", 3, 4)), *places(("docs/spans.md", 1, 2))]},
        {"query": "too far", "relevant": places(("src/spans.py", 3, 400))},
        {"query": "whole", "relevant": ["src/use.py"]},
    ]
    (tmp_path / "in").mkdir()
    write(tmp_path / "in" / "tool.json", rows[:1])
    write(tmp_path / "in" / "more.json", [row | {"repo": "tool"} for row in rows[1:]])
    write(tmp_path / "in" / "other.json", [{"query": "other", "relevant": places(("a.py", 1, 1))}])
    write_files(tmp_path / "tool", SOURCES)
    return tmp_path / "in"


def test_answers_that_the_source_lacks_are_counted(tmp_path, scattered, notices):
    """Files of one repository have one sequence of ids; what a checkout has is query, the rest is said."""
    _, out = converted(tmp_path, "semble", scattered)
    benchmark = load_benchmark(tmp_path / "tool", questions=out / QUESTIONS)
    assert [(task.task_id, len(task.places)) for task in benchmark.tasks] == [("tool/3", 1)]
    assert benchmark.whole_tasks == 3
    assert "the source lacks 3 answers" in " ".join(notices)
    assert "2 questions without another one left out" in " ".join(notices)
    (task,) = load_benchmark(tmp_path / "tool", questions=out / FILE_QUESTIONS).tasks
    assert task.places == (Place("tool/src/use.py", LineSpan(0, 1)),)
    assert "blind to chunking: 1 of 1" in " ".join(notices)


def test_a_strict_conversion_refuses_them(tmp_path, scattered):
    _, out = converted(tmp_path, "semble", scattered, "--strict")
    with pytest.raises(UsageError, match="3 mistakes in"):
        load_benchmark(tmp_path / "tool", questions=out / QUESTIONS)


def test_a_source_with_none_of_the_answers_is_refused(tmp_path, scattered):
    _, out = converted(tmp_path, "semble", scattered)
    write_files(tmp_path / "third", {"b.py": "x = 1\n"})
    with pytest.raises(UsageError, match="the source has none of its answers"):
        load_benchmark(tmp_path / "third", questions=out / QUESTIONS)


@pytest.mark.parametrize(
    ("name", "file", "content", "said"),
    [
        ("semble", "tool.json", {"query": "x"}, "tool.json"),
        ("semble", "tool.json", [{"query": "x", "relevant": places(("a", 3, 2))}], "3 to 2"),
        ("semble", "tool.json", [{"query": "x"}], "no question has an answer"),
        ("contextbench", "gold.jsonl", [{"gold_ctx": []}], "gold.jsonl:1"),
        ("contextbench", "gold.jsonl", [{"instance_id": "a", "gold_context": "{"}], "gold_context"),
        ("contextbench", "gold.jsonl", [CONTEXTBENCH[0], CONTEXTBENCH[0]], "twice"),
        ("contextbench", "gold.parquet", SEVEN | {"instance_id": 7, "gold_context": "[]"}, "gold.parquet: row 1"),
        ("swe-explore", "bench.jsonl", [{"instance_id": "a"}], "ground_truth"),
        *(
            ("semble", "tool.json", [{"query": "x", "relevant": places(("a", 1, last))}], f"1 to {last} are not")
            for last in (LINES + 1, 2**53)
        ),
        ("contextbench", "gold.jsonl", [SEVEN | {"gold_context": json.dumps(TOO_LONG)}], f"1 to {2**64} are not"),
    ],
)
def test_what_is_no_such_format_is_refused(tmp_path, name, file, content, said):
    """One sentence names the file, the row or the question."""
    writing = write_parquet if file.endswith("parquet") else write
    done = bench("logs", "questions", name, writing(tmp_path / file, content), "-o", tmp_path / "out")
    assert said in one_sentence(done, 2 if said == "ground_truth" else 1)


def test_nothing_of_an_earlier_conversion_stays(tmp_path):
    """A file that the new one does not have is removed."""
    _, out = converted(tmp_path, "semble", write(tmp_path / "tool.json", SEMBLE))
    assert (out / FILE_GOLD).exists()
    converted(tmp_path, "contextbench", write(tmp_path / "gold.jsonl", CONTEXTBENCH))
    assert (out / GOLD).exists()
    assert not (out / FILE_GOLD).exists()
