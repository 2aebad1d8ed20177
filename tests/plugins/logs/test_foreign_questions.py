"""`logs questions`: other benchmarks' questions become gold, questions and logs that the tool itself reads."""

import json
import os
from pathlib import Path

import pytest

from repoeval_bench import load_benchmark
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.spans import LineSpan, Place
from repoeval_bench.core.validation import LINES
from repoeval_bench.plugins.logs.questions import FILE_GOLD, GOLD, QUESTIONS
from support.codebase import write_files
from support.command import bench, json_of, one_sentence, succeed
from support.runs import read_rows, write_rows


def places(*files, name="path"):
    """Places as other benchmarks have them, of (file, first line, last line)."""
    return [{name: file, "start_line": first, "end_line": last} for file, first, last in files]


def sample(name):
    """The rows of a small file in another benchmark's format."""
    text = (Path(__file__).with_name("foreign") / name).read_text("utf-8")
    return json.loads(text) if name.endswith(".json") else [json.loads(line) for line in text.splitlines()]


SEMBLE, CONTEXTBENCH, SWE_EXPLORE = map(sample, ("semble.json", "contextbench.jsonl", "swe-explore.jsonl"))
ARB = sample("agent-retrieval-bench.jsonl")
SEVEN = {"instance_id": "tool__one-7", "problem_statement": "Joined spans lose a line.", "source": "Verified"}
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
    """One file has all questions, with secondary answers too; gold of whole files is apart; no answer is counted."""
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
    lines = [
        {"file": "src/spans.py", "start_line": 3, "end_line": 4},
        {"file": "src/use.py", "start_line": 1, "end_line": 1},
    ]
    common = {"repository": "tool", "strict": False}
    assert read_rows(out / QUESTIONS) == [
        {
            **common,
            "id": "tool/1",
            "query": "how spans are joined",
            "places": lines,
            "facts": {"category": "architecture"},
        },
        {
            **common,
            "id": "tool/2",
            "query": "Span",
            "places": [{"file": "src/spans.py"}],
            "facts": {"category": "symbol"},
        },
    ]
    assert "2 questions for --queries" in printed
    assert "1 question with whole files as gold for `logs import`, which says nothing about chunking" in printed
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
    options = [(row["id"], row["facts"]) for row in read_rows(out / QUESTIONS)]
    assert options == [("tool__one-7", {"category": "Verified"})]
    assert ("1 question without a text" in printed) == (form == "jsonl")


def test_agent_retrieval_bench_has_files_by_task_and_questions_without_an_answer(tmp_path):
    """Gold is where upstream looks for it; the query is the JSON of its fields; a repository is one commit's."""
    printed, out = converted(tmp_path, "agent-retrieval-bench", write(tmp_path / "samples.jsonl", ARB))
    rows = read_rows(out / QUESTIONS)
    files = [[place["file"] for place in row.get("places", ())] for row in rows]
    assert files == [["src/use.py"], ["src/spans.py"], ["src/spans.py"], ["src/spans.py", "src/use.py"], []]
    assert rows[0]["query"] == '{"changed_file": "src/spans.py", "pr_title": "Join spans"}'
    assert {row["repository"] for row in rows} == {"own__tool-0123456789ab"}
    assert [row["id"] for row in rows if row.get("no_answer")] == ["n1"]
    assert [row["query_id"] for row in read_rows(out / FILE_GOLD)] == ["t1", "t2", "t3", "t4", "t4"]
    assert "1 question known to have no answer" in printed


def test_questions_without_an_answer_are_ranked_and_not_scored(tmp_path):
    """A run of them counts them, and `logs pipeline` tells their first scores from those of the others."""
    _, out = converted(tmp_path, "agent-retrieval-bench", write(tmp_path / "samples.jsonl", ARB))
    write_files(tmp_path / "repos" / "own__tool-0123456789ab", SOURCES)
    options = ("--source", tmp_path / "repos", "--queries", out / QUESTIONS, "--retriever", "bm25")
    run = json_of("eval", "-c", "fixed", *options, "--out", tmp_path / "runs", "--json")
    assert (run["counts"]["queries"], run["counts"]["queries_no_answer"]) == (4, 1)
    (section,) = json_of("logs", "pipeline", "fixed", "--section", "no-answer", "--out", tmp_path / "runs", "--json")[
        "sections"
    ]
    assert [(figure["of"], figure["n"]) for figure in section["figures"]] == [
        ("no_answer queries", 1),
        ("queries", 4),
        ("pairs", 4),
    ]
    assert "over 4 queries" in succeed("segments", "fixed", "--by", "category", "--out", tmp_path / "runs").out


def test_core_regions_of_swe_explore_are_gold(tmp_path):
    """An end of -1 is the whole file, a start of 0 its first line, and a region that ends before it starts nothing."""
    _, out = converted(tmp_path, "swe-explore", write(tmp_path / "bench.jsonl", SWE_EXPLORE))
    assert [row["query_id"] for row in read_rows(out / FILE_GOLD)] == ["tool__one-8"]
    (row,) = read_rows(out / GOLD)
    assert (row["query_id"], row["start_line"], row["end_line"]) == ("tool__one-7", 0, 4)


def test_questions_are_asked_of_the_code_that_they_are_about(tmp_path):
    """What is written for --queries is read by it, line for line."""
    _, out = converted(tmp_path, "semble", write(tmp_path / "tool.json", SEMBLE))
    write_files(tmp_path / "tool", SOURCES)
    task, _ = load_benchmark(tmp_path / "tool", questions=out / QUESTIONS).tasks
    places = (Place("tool/src/spans.py", LineSpan(2, 4)), Place("tool/src/use.py", LineSpan(0, 1)))
    assert (task.prompt, task.places, dict(task.facts)) == (
        "how spans are joined",
        places,
        {"category": "architecture"},
    )


def test_questions_of_several_repositories_are_compared_in_one_command(tmp_path):
    """A folder of folders is the same as naming each; whole files decide by their first chunk; categories segment."""
    rows = [{"query": "joins spans", "relevant": ["src/spans.py"], "secondary": ["src/use.py"], "category": "semantic"}]
    rows.append({"query": "Span", "relevant": places(("src/spans.py", 1, 2)), "category": "symbol"})
    (tmp_path / "in").mkdir()
    for name in ("one", "two"):
        write(tmp_path / "in" / f"{name}.json", rows)
        write_files(tmp_path / "repos" / name, SOURCES)
    write_files(tmp_path / "repos" / "unasked", SOURCES)
    _, out = converted(tmp_path, "semble", tmp_path / "in")
    options = ("--queries", out / QUESTIONS, "--retriever", "bm25", "--out", tmp_path / "runs")
    chunkers = ("-c", "fixed:max_nws=20", "-c", "fixed:max_nws=400")
    named = [word for name in ("one", "two") for word in ("--source", tmp_path / "repos" / name)]
    first, second = (
        succeed("compare", *chunkers, *source, *options).out for source in (("--source", tmp_path / "repos"), named)
    )
    assert first == second
    assert "target nDCG@10" in first
    assert "relevant, wherever a chunker splits" in " ".join(first.split())
    assert "4 queries in 2 repositories" in " ".join(first.split())
    segmented = succeed("segments", "fixed:max_nws=400", "--by", "category", "--out", tmp_path / "runs").out
    assert "semantic" in segmented
    assert "symbol" in segmented
    lines = succeed("compare", *chunkers, *named, *options, "--set", "gold=places").out
    assert "target nDCG" not in lines


def test_two_folders_of_one_name_are_refused(tmp_path):
    for parent in "ab":
        write_files(tmp_path / parent / "tool", SOURCES)
    folders = os.pathsep.join(str(tmp_path / parent / "tool") for parent in "ab")
    with pytest.raises(UsageError, match="two folders of the source are named tool"):
        load_benchmark(folders)


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
    whole, joins = benchmark.tasks
    assert joins.places == (Place("tool/src/spans.py", LineSpan(2, 4)),)
    assert whole.places == (Place("tool/src/use.py", LineSpan(0, 1)),)
    assert benchmark.whole_tasks == 4
    assert "the source lacks 3 answers; left out with no other: 2 queries" in " ".join(notices)
    assert "1 of 2 queries have only whole files as targets" in " ".join(notices)


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
        ("agent-retrieval-bench", "samples.jsonl", [{"id": "a", "repo": "o/n", "base_commit": "1"}], "gold"),
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
    assert said in one_sentence(done, 2 if said in {"ground_truth", "gold"} else 1)


def test_nothing_of_an_earlier_conversion_stays(tmp_path):
    """A file that the new one does not have is removed."""
    _, out = converted(tmp_path, "semble", write(tmp_path / "tool.json", SEMBLE))
    assert (out / FILE_GOLD).exists()
    converted(tmp_path, "contextbench", write(tmp_path / "gold.jsonl", CONTEXTBENCH))
    assert (out / GOLD).exists()
    assert not (out / FILE_GOLD).exists()
