"""The table of a paper: marks show the verdicts of `compare`, bold for the best as it is printed."""

import re

from repoeval_bench.analysis.comparison import compare
from repoeval_bench.report.comparison import paper_table
from repoeval_bench.report.formats import latex, markdown
from support.runs import write_carried_pair, write_run, write_runs

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
    assert table.notes[0].endswith("(p at most 0.04; by nDCG@10, also without any one file or repository).")
    assert table.notes[1].startswith("no letter for nDCG@10 of c over b: without one file, repo/f29")
