"""The table of a paper: marks show the verdicts of `compare`, bold for the best as it is printed."""

import re

import pytest

from repoeval_bench.analysis.comparison import compare
from repoeval_bench.core.errors import UsageError
from repoeval_bench.report.formats import latex, markdown
from repoeval_bench.report.paper import paper_table
from support.runs import edit, write_carried_pair, write_run, write_runs

FILES = [f"f{i // 2}.py" for i in range(40)]


def stored_run(tmp_path, name, value, **changed):
    """A run of 40 queries in 20 files."""
    values = {"ndcg@10": [value + 0.001 * (i % 3) for i in range(40)], "mrr": [0.5] * 40}
    return write_run(tmp_path / name, values, files=FILES, chunker=f"fixed:max_nws={name}", **changed)


def test_letters_name_the_runs_that_a_mean_is_better_than(tmp_path):
    """In LaTeX and Markdown; a column in which all are equal has neither letters nor a single best."""
    runs = [stored_run(tmp_path, "100", 0.2), stored_run(tmp_path, "200", 0.8), stored_run(tmp_path, "300", 0.5)]
    comparisons = compare(runs, measures=["ndcg@10", "mrr"])
    table = paper_table(runs, comparisons, ["ndcg@10", "mrr"])
    text = latex([table])
    assert r"a & fixed:max\_nws=100 & 0.201 & \textbf{0.500} & 1 & 1 & 1 \\" in text
    assert r"b & fixed:max\_nws=200 & \textbf{0.801}\textsuperscript{ac} & \textbf{0.500} & 1 & 1 & 1 \\" in text
    assert r"c & fixed:max\_nws=300 & 0.501\textsuperscript{a} & \textbf{0.500} & 1 & 1 & 1 \\" in text
    assert "| **0.801**<sup>ac</sup> |" in markdown([table])


def test_against_a_baseline_only_its_differences_are_marked(tmp_path):
    """The worse side of a pair has no letter: the better one names it."""
    runs = [stored_run(tmp_path, "100", 0.2), stored_run(tmp_path, "200", 0.8), stored_run(tmp_path, "300", 0.5)]
    marks = re.findall(r"textsuperscript\{(\w+)\}", latex([paper_table(runs, compare(runs, runs[2]), ["ndcg@10"])]))
    assert marks == ["c", "a"]


@pytest.mark.parametrize(("low", "high"), [(-0.5, -0.2), (-0.3, 0.1), (9.0, 10.0), (99.9994, 100.2)])
def test_the_best_is_the_greatest_number_not_the_last_text(tmp_path, low, high):
    """Of negative means, and of means with more digits; the measure is an imported one's of any range."""
    runs = [stored_run(tmp_path, "100", low), stored_run(tmp_path, "200", high)]
    text = latex([paper_table(runs, [], ["ndcg@10"])])
    assert re.findall(r"textbf\{([^}]*)\}", text.replace("$-$", "-")) == [f"{runs[1].metrics.micro['ndcg@10']:.3f}"]


def test_less_redundancy_is_better(tmp_path):
    """Bold and letters go to the lowest mean, and the notes say of which measure."""
    less, more = ([value + 0.001 * (i % 3) for i in range(40)] for value in (0.1, 0.6))
    measures = ["redundancy@10", "ndcg@10"]
    columns = {name: dict.fromkeys(measures, column) for name, column in (("a", more), ("b", less))}
    runs = write_runs(tmp_path, columns, files=FILES)
    table = paper_table(runs, compare(runs, measures=measures), measures)
    text = latex([table])
    assert r"a & a & 0.601 & \textbf{0.601}\textsuperscript{b} & 1 & 1 & 1 \\" in text
    assert r"b & b & \textbf{0.101}\textsuperscript{a} & 0.101 & 1 & 1 & 1 \\" in text
    assert table.notes[0].startswith("bold: the best of a column (lower is better: redundancy@10). A letter")


def test_a_lead_that_one_file_carries_has_no_letter_and_says_so(tmp_path):
    """The notes name the pair, and what carries its lead."""
    runs = write_carried_pair(tmp_path)
    table = paper_table(runs, compare(runs), ["ndcg@10"])
    assert "textsuperscript" not in latex([table])
    assert table.notes[0].endswith("(p < 0.05; by nDCG@10, also without any one file or repository).")
    assert table.notes[1].startswith("no letter for nDCG@10 of c over b: it comes from one file, repo/f29")


def test_more_runs_than_letters_are_refused(tmp_path):
    """26 rows can be named by letters."""
    run = stored_run(tmp_path, "100", 0.2)
    with pytest.raises(UsageError, match="26"):
        paper_table([run] * 27, [], ["ndcg@10"])


COMPLETION = {
    "base": "made",
    "model": "openai:coder,base_url=http://127.0.0.1:8080/v1",
    "context": "retrieved",
    "budget": 2000,
    "fragments": 10,
    "layout": "b956ed30",
    "ending": "hole 1",
    "measures": ["exact_match", "edit_similarity", "identifier_f1"],
    "cut_off": 3,
}


def test_a_completed_run_names_its_model_and_its_context(tmp_path):
    """In the caption, or in a note where runs differ; a server's address is in neither."""
    measures = ["ndcg@10", *COMPLETION["measures"]]
    run = write_run(tmp_path / "made", {name: [0.5, 1.0] for name in measures})
    run = edit(run, "manifest.json", completion=COMPLETION)
    alone = paper_table([run], [], measures)
    title = " ".join(alone.title)
    assert "completed by openai:coder, context retrieved, up to 10 fragments in 2,000 tokens" in title
    assert "127.0.0.1" not in title
    assert alone.notes == ("characters are counted without whitespace",)
    retrieved = write_run(tmp_path / "plain", {name: [0.5, 1.0] for name in measures})
    table = paper_table([retrieved, run], [], ["ndcg@10"])
    completed = "b is completed by openai:coder, context retrieved, up to 10 fragments in 2,000 tokens"
    assert table.notes == (*alone.notes, completed)
