"""A run folder is read back as it was written; what is damaged, unknown or of another version is one sentence."""

import json

import pytest

from repoeval_bench.core.errors import ResultError
from repoeval_bench.runs.provenance import versions
from repoeval_bench.runs.records import CodeState, Means
from repoeval_bench.runs.view import RunView, current_run
from support.runs import edit, read_rows, read_text, write_rows, write_run, write_text


@pytest.fixture
def run(tmp_path):
    return write_run(
        tmp_path / "run",
        {"mrr": [1.0, 0.5, 0.0], "hit@5": [1.0, 1.0, 0.0]},
        files=["a.py", "a.py", "b.py"],
        repos=["r", "r", "s"],
        facts=[{"lines": 3, "method": True}, {"lines": 4, "method": False}, {"lines": 5}],
        latency=[1.5, 2.5],
        topk={"q000000": ["c", "d"]},
    )


def change_line(path, number, **changed):
    """Change fields of one row of a JSONL file; NaN and Infinity are written as Python writes them."""
    lines = read_text(path).splitlines()
    lines[number - 1] = json.dumps(json.loads(lines[number - 1]) | changed)
    write_text(path, "".join(line + "\n" for line in lines))


def test_what_was_written_is_read_back(run):
    """Means, columns with their facts, the ranking and its judgements, and the times."""
    view = RunView.open(run.folder)
    assert view.metrics.micro == {"mrr": 0.5, "hit@5": pytest.approx(2 / 3)}
    assert view.metrics.per_repo["s"] == {"mrr": 0.0, "hit@5": 0.0}
    assert view.metrics.as_json() == json.loads((run.folder / "metrics.json").read_text())
    assert view.counts.as_json() == {"queries": 3}
    assert view.scores.values["mrr"].tolist() == [1.0, 0.5, 0.0]
    assert view.scores.clusters == ("r/a.py", "r/a.py", "s/b.py")
    assert view.scores.facts["lines"] == [3, 4, 5]
    assert view.scores.facts["method"] == [True, False, None]
    assert view.ranked_ids()["q000000"] == ("c", "d")
    assert [chunk_id for chunk_id, _ in view.rankings()["q000000"]] == ["c", "d"]
    assert view.qrels()["q000001"] == {"c": 1.0}
    assert [row.latency_ms for row in view.timings if row.query_id] == [{"retrieve": 1.5}, {"retrieve": 2.5}]
    assert [row.seconds for row in view.timings if row.step == "judge"] == [1.0]
    assert view.inspection is None


@pytest.mark.parametrize(
    ("name", "changed", "says"),
    [
        ("manifest.json", {"schema": 5}, "by an earlier version (schema 5, this one reads 7); make"),
        ("manifest.json", {"schema": 9}, "by a later version (schema 9, this one reads 7); update repoeval-bench"),
        ("manifest.json", {"note": "mine"}, "manifest.json is broken (note: this field does not exist"),
        ("manifest.json", {"qrels_gain_factor": 0}, "is broken (qrels_gain_factor: a number of 1 or more"),
        ("metrics.json", {"micro": {"mrr": float("nan")}}, "metrics.json is broken (micro.mrr: a finite number"),
    ],
)
def test_a_file_that_holds_something_else_is_refused(run, name, changed, says):
    """One sentence with the file, the field and the way out."""
    view = edit(run, name, **changed)
    with pytest.raises(ResultError) as error:
        _ = view.manifest, view.metrics, view.scores
    assert says in str(error.value)
    assert str(error.value).endswith(("; make the run again", "; update repoeval-bench"))
    assert "\n" not in str(error.value)


def test_a_folder_that_cannot_be_looked_into_is_one_sentence(tmp_path):
    """Its name is too long for the system."""
    with pytest.raises(ResultError, match="make the run again"):
        RunView.open(tmp_path / ("a" * 300))


@pytest.mark.parametrize(
    ("name", "changed", "says"),
    [
        ("per_query.jsonl.gz", {"metrics": {}}, "per_query.jsonl.gz:2 is broken (metrics: this field does not exist"),
        ("per_query.jsonl.gz", {"measures": {"mrr": float("inf")}}, "gz:2 is broken (measures.mrr: a finite"),
        ("per_query.jsonl.gz", {"query_id": "q000000"}, "query 'q000000' is scored twice"),
        ("retrieved.jsonl.gz", {"topk": None}, "retrieved.jsonl.gz:2 is broken (topk: "),
    ],
)
def test_a_row_that_holds_something_else_is_named_with_its_line(run, name, changed, says):
    """File, line, field and the way out."""
    change_line(run.folder / name, 2, **changed)
    with pytest.raises(ResultError) as error:
        _ = run.scores, run.ranked_ids(), run.timings
    assert says in str(error.value)


@pytest.mark.parametrize("line", ["q000009 0 c 1\n", ""])
def test_judgements_of_other_queries_are_refused(run, line):
    """An id that has changed, or a query that is gone, is one sentence with the query."""
    path = run.folder / "qrels.trec.gz"
    write_text(path, read_text(path).replace("q000001 0 c 1\n", line))
    says = r"qrels.trec.gz and per_query.jsonl.gz name different queries, such as 'q000001'"
    with pytest.raises(ResultError, match=says):
        RunView(run.folder).qrels()


@pytest.mark.parametrize("read", [RunView.ranked_ids, RunView.rankings, RunView.trec_run])
def test_a_log_of_other_queries_is_refused(run, read):
    """One that lacks a query, has one more, or is empty; one with a query twice, with its line."""
    path = run.folder / "retrieved.jsonl.gz"
    rows = read_rows(path)
    other = rows[1] | {"query_id": "q000009"}
    for changed, query in ((rows[:2], "q000002"), ([*rows, other], "q000009"), ([], "q000000")):
        write_rows(path, changed)
        says = rf"retrieved.jsonl.gz and per_query.jsonl.gz name different queries, such as '{query}'; .* is deleted"
        with pytest.raises(ResultError, match=says):
            read(RunView(run.folder))
    write_rows(path, [*rows, rows[1]])
    with pytest.raises(ResultError, match=r"retrieved.jsonl.gz:4 is broken \(query 'q000001' appears twice\)"):
        read(RunView(run.folder))


def test_a_log_from_elsewhere_may_lack_queries(tmp_path):
    """What it does not rank is found nowhere."""
    run = write_run(tmp_path / "theirs", {"mrr": [1.0, 0.0]}, imported=True)
    path = run.folder / "retrieved.jsonl.gz"
    write_rows(path, read_rows(path)[:1])
    assert run.ranked_ids() == {"q000000": ("c",)}


@pytest.mark.parametrize("name", ["manifest.json", "metrics.json", "per_query.jsonl.gz", "retrieved.jsonl.gz"])
def test_a_missing_or_torn_file_is_named(run, name):
    """Half a file is broken, no file cannot be read."""
    path = run.folder / name
    write_text(path, read_text(path)[:-20])
    with pytest.raises(ResultError, match=rf"{name}.* is broken \(not valid JSON"):
        _ = run.manifest, run.metrics, run.scores, run.ranked_ids()
    path.unlink()
    with pytest.raises(ResultError, match=rf"{name} cannot be read"):
        _ = RunView(run.folder).manifest, RunView(run.folder).metrics, RunView(run.folder).scores, run.ranked_ids()


def test_means_over_queries_and_over_repositories():
    """Three queries of two repositories; of no query every mean is 0."""
    means = Means.of({"mrr": [1.0, 0.0, 0.25]}, ["r", "r", "s"])
    assert (means.over("micro"), means.over("macro")) == ({"mrr": pytest.approx(1.25 / 3)}, {"mrr": 0.375})
    assert means.per_repo == {"r": {"mrr": 0.5}, "s": {"mrr": 0.25}}
    assert Means.of({"mrr": []}, []).micro == {"mrr": 0.0}


def test_a_damaged_run_is_not_taken_for_one_that_need_not_be_made(run, monkeypatch):
    """A broken file says "make the run again", and the next evaluation then makes it."""
    state = CodeState(commit="a" * 40, dirty=False)
    monkeypatch.setattr("repoeval_bench.runs.view.code_state", lambda: state)
    edit(run, "manifest.json", code=state.as_json(), versions=versions())
    assert current_run(run.folder) is not None
    write_text(run.folder / "per_query.jsonl.gz", "{")
    assert current_run(run.folder) is None


def test_a_broken_file_that_no_evaluation_looks_at_names_the_folder_to_delete(run):
    write_text(run.folder / "retrieved.jsonl.gz", "{")
    with pytest.raises(ResultError, match=f"make the run again once {run.folder} is deleted"):
        list(run.log_rows())
