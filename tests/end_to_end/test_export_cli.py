"""`export`: the tables that the terminal shows, for papers and programs; numbers are those of metrics.json."""

import csv
import io
import json
import re
import shutil

import pytest

from support.cases import cases
from support.command import bench, json_of, one_sentence, pdflatex, succeed

CASES = cases(__file__)

AST, FIXED = "ast:max_nws=400", "fixed:max_nws=400"


@pytest.fixture
def results(two_runs):
    return two_runs.out


@pytest.fixture
def runs(two_runs):
    """Folder names: fixed, ast."""
    return [two_runs.fixed.name, two_runs.ast.name]


def metrics(results, run):
    return json.loads((results / run / "metrics.json").read_text())


def cells_of(form, text):
    """The rows of every table of a Markdown or LaTeX text, as lists of bare texts."""
    if form == "markdown":
        lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    else:
        lines = [line.removesuffix(r" \\").split(" & ") for line in text.splitlines() if line.endswith(r" \\")]
    bare = re.compile(r"\*\*|\\textbf\{|\}$|\\(?=[_<~$])|\\textless\{\}|\$")
    return [[bare.sub("", cell) for cell in cells] for cells in lines]


@pytest.mark.parametrize("form", ["markdown", "latex"])
def test_the_tables_are_those_of_compare(results, runs, form, tmp_path):
    """Every number that compare prints is in the export, and every headline mean is metrics.json's; pdflatex takes it."""
    printed = bench("compare", *runs, "--details", "--out", results).out
    done = succeed("export", "runs", *runs, "--format", form, "--out", results)
    numbers = re.compile(r"[-+]\d\.\d{4}")
    plain = re.sub(r"\$-\$", "-", done.out)
    assert sorted(numbers.findall(plain)) == sorted(numbers.findall(printed))
    assert "verdict" not in succeed("export", "runs", runs[0], "--format", form, "--out", results).out
    if form == "markdown":  # what is written where nothing is named
        assert bench("export", "runs", *runs, "--out", results).out == done.out
    rows = cells_of(form, done.out)
    means = [row[1].split()[0] for row in rows if row[0] == "lines found"][: len(runs)]
    assert means == [f"{metrics(results, run)['micro']['line_recall_auc']:.3f}" for run in runs]
    assert "does not mean equal" in done.out
    if form == "latex" and shutil.which("pdflatex"):
        pdflatex(tmp_path, done.out)


def test_several_runs_as_csv(results, runs, tmp_path):
    """The differences go beside the scores, and to standard output only where the format has room for both."""
    succeed("export", "runs", *runs, "--format", "csv", "-o", tmp_path / "scores.csv", "--out", results)
    compared = json_of("compare", *runs, "--out", results)["comparisons"]
    rows = list(csv.DictReader(io.StringIO((tmp_path / "scores.differences.csv").read_text())))
    assert [float(row["difference"]) for row in rows] == [item["difference"] for item in compared]
    assert [[float(row["ci.low"]), float(row["ci.high"])] for row in rows] == [
        difference["ci"] for difference in compared
    ]
    assert [float(row["macro.difference"]) for row in rows] == [element["macro"]["difference"] for element in compared]
    chunkers = {row["chunker"] for row in csv.DictReader(io.StringIO((tmp_path / "scores.csv").read_text()))}
    assert chunkers == {metrics(results, run)["chunker"] for run in runs}
    assert "differences not printed" in bench("export", "runs", *runs, "--format", "csv", "--out", results).err


def test_plots(results, runs, tmp_path):
    """--plots writes SVG and PNG of every figure; it needs no --format."""
    done = bench("export", "runs", *runs, "--plots", tmp_path / "plots", "--out", results)
    assert (done.code, done.out) == (0, ""), done.err
    written = {path.name for path in (tmp_path / "plots").iterdir()}
    assert {"line-recall-over-budget.svg", "recall-over-k.png", "ndcg-over-k.svg"} <= written
    assert done.err.count("wrote") == len(written) == 6
    curve = (tmp_path / "plots" / "recall-over-k.svg").read_text()
    for run, name in zip(runs, ("fixed", "ast"), strict=True):
        result = re.search(rf"\b{name}: [^;]*?([\d.]+) at 5, ([\d.]+) at 10", curve)
        stored = metrics(results, run)["micro"]
        assert result.groups() == tuple(f"{stored[measure]:.3f}" for measure in ("recall@5", "recall@10"))


def test_a_table_for_a_paper_has_chosen_measures(results, runs):
    """Rows with short names and a letter each; the best of each column is bold. Other forms have every measure."""
    export = ("export", "runs", *runs, "--out", results, "-m", "ndcg@10", "-m", "lines@500", "--format")
    text = bench(*export, "latex").out
    _, *rows = [line.split(" & ") for line in text.splitlines() if " & " in line]
    assert [row[:2] for row in rows] == [["a", "fixed"], ["b", "ast"]]
    for column, measure in enumerate(("ndcg@10", "line_recall@500"), start=2):
        best = max(metrics(results, run)["micro"][measure] for run in runs)
        assert rf"\textbf{{{best:.3f}}}" in {row[column].partition("}")[0] + "}" for row in rows}
    for form in ("csv", "trec"):
        assert "--measure" in one_sentence(bench(*export, form), 2)


def test_a_label_names_a_run_in_every_table_and_page(results, runs, tmp_path):
    """By run or by chunker; the other run keeps its name, and the folders keep theirs."""
    named = ("--name", f"Ours (v2)={AST}", "--out", results)
    texts = [succeed("export", "runs", *runs, *named, "--format", form).out for form in ("markdown", "latex", "csv")]
    texts.append(succeed("export", "runs", *runs, *named, "--format", "latex", "-m", "ndcg@10").out)
    texts.append(succeed("compare", *runs, *named).out)
    texts.append(succeed("compare", *runs, *named, "--details").out)
    texts.append(succeed("compare", *runs, "--baseline", runs[1], *named).out)
    texts.append(succeed("export", "runs", runs[1], *named).out)
    for text in texts:
        assert "Ours (v2)" in text
        assert not re.search(r"^\W*ast\b(?!.*Ours)", text, re.MULTILINE), text
    assert {row["run"] for row in csv.DictReader(io.StringIO(texts[2]))} == {"Ours (v2)", ""}
    succeed("export", "runs", *runs, *named, "-o", tmp_path / "a.csv")
    differences = list(csv.DictReader((tmp_path / "a.differences.csv").open()))
    assert {row["treatment"] for row in differences} == {"Ours (v2)"}
    succeed("report", *runs, *named, "-o", tmp_path / "page.html")
    assert "Ours (v2)" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(("names", "part"), CASES["labels"])
def test_a_label_that_names_no_run_is_refused(results, runs, names, part):
    words = [word for name in names for word in ("--name", name)]
    for command in (("compare",), ("export", "runs"), ("report",)):
        assert part in one_sentence(bench(*command, *runs, *words, "--out", results), 2)
