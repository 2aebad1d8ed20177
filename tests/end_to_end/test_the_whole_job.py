"""One walk through the jobs of the project, from a file of runs to published numbers, on a small benchmark and offline."""

import csv
import io
import json
from itertools import product
from types import SimpleNamespace

import pytest

from repoeval_bench.plugins.lab.reproduction import UNPUBLISHED
from repoeval_bench.report.text import heading
from repoeval_bench.runs.trec import read_run
from repoeval_bench.runs.view import RunView
from support import minirepo
from support.command import json_of, succeed
from support.minirepo import REPOSITORIES
from support.runs import read_rows, read_text, write_rows

FILE = """\
chunkers: [ast:max_nws=400, fixed:max_nws=400]
protocol: [context, body]
retrievers: [bm25, random]
measures: [ndcg@10, recall@5, line_rprec, line_recall_auc]
"""
CHUNKERS = ("-c", "ast:max_nws=400", "-c", "fixed:max_nws=400")
DIVERSITY = ("novelty@5", "redundancy@5", "alpha_ndcg@5", "novelty_ndcg@5")
LINES = ("line_iou@500", "line_precision@500", "best_iou@5", "mean_iou@5", "err@10", "recall_auc@50")


@pytest.fixture(scope="module")
def walk(mirror, tmp_path_factory):
    """What `run` has made of the file, and `ask`, which calls a command on the same data."""
    here = tmp_path_factory.mktemp("walk")
    (here / "bench.yaml").write_text(FILE)

    def ask(*words, out="results", on_data=True, by=json_of):
        source = ("--source", mirror) if on_data else ()
        return by(*words, *source, "--out", here / out, home=here / "home")

    rows = ask("run", here / "bench.yaml")
    folders = {(row["protocol"], row["retriever"]): [run["run_id"] for run in row["runs"]] for row in rows}
    return SimpleNamespace(here=here, results=here / "results", rows=rows, folders=folders, ask=ask)


@pytest.fixture(scope="module")
def ast_run(walk):
    """The run of `ast` by BM25 under `context`."""
    return RunView(walk.results / walk.folders["context", "bm25"][0])


def test_a_file_gives_the_runs_and_differences_that_the_commands_give(walk):
    """Every combination, compared within itself; what the file names first is what `report` shows."""
    assert list(walk.folders) == list(product(("context", "body"), ("bm25", "random")))
    remembered = json.loads((walk.results / "compared.json").read_text())["runs"]
    assert remembered == walk.folders["context", "bm25"]
    words = (*CHUNKERS, "--protocol", "body", "--retriever", "bm25")
    words += tuple(word for name in ("ndcg@10", "recall@5", "line_rprec", "line_recall_auc") for word in ("-m", name))
    assert walk.ask("eval", *words, out="again") == walk.rows[2]["runs"]
    compared = walk.ask("compare", *words)
    assert compared == {key: walk.rows[2][key] for key in ("comparisons", "choice", "left_out")}
    assert len(list(walk.results.glob("*/manifest.json"))) == 8
    assert all(row["ci"][0] <= row["difference"] <= row["ci"][1] for row in compared["comparisons"])


def test_one_run_is_exported_in_every_format(walk, ast_run, tmp_path):
    """TREC is the ranking and judgements, CSV every mean in full precision."""
    for form in ("csv", "trec"):
        words = ("export", "runs", ast_run.run_id, "--format", form, "-o", tmp_path / f"a.{form}")
        walk.ask(*words, on_data=False, by=succeed)
    stored = json.loads((ast_run.folder / "metrics.json").read_text())
    assert read_run(tmp_path / "a.trec").rankings == ast_run.rankings()
    assert (tmp_path / "a.trec.qrels").read_text() == read_text(ast_run.folder / "qrels.trec.gz")
    records = {row["mean_over"]: row for row in csv.DictReader(io.StringIO((tmp_path / "a.csv").read_text()))}
    expected = {**stored["per_repo"], "micro": stored["micro"], "macro": stored["macro"]}
    for label, means in expected.items():
        assert all(float(records[label][heading(name)]) == value for name, value in means.items()), label


def test_sweeps_of_sizes_and_of_k(walk):
    """A row for a chunker and size, in the order named; recall grows with k, and the knee is one of the cutoffs."""
    rows = walk.ask(
        "sweep", "-c", "ast:max_nws=400", "-c", "fixed", "--retriever", "bm25", "--sizes", "200,400", out="sizes"
    )
    sizes = ["ast:max_nws=200", "ast:max_nws=400", "fixed:max_nws=200", "fixed:max_nws=400"]
    assert [row["chunker"].partition(",")[0] for row in rows] == sizes
    assert rows[2]["mean_nws"] < rows[3]["mean_nws"]
    (row,) = walk.ask("sweep", *CHUNKERS[:2], "--retriever", "bm25", out="k")
    recalls = [row[f"recall@{k}"] for k in (1, 3, 5, 10, 20, 50)]
    assert recalls == sorted(recalls)
    assert row["knee"] in (1, 3, 5, 10, 20, 50)
    assert 0 < row["recall_auc@50"] <= 1


def test_diversity_and_tiers_of_relevance_are_scored(walk):
    """Measures of diversity and of lines under judgements of two tiers."""
    measures = [word for name in (*DIVERSITY, *LINES) for word in ("-m", name)]
    words = (*CHUNKERS[:2], "--retriever", "bm25", "--embedder", "hash", "--set", "relevance=graded:levels", *measures)
    run = walk.ask("eval", *words, out="tiers")
    assert list(run["micro"]) == [*DIVERSITY, *LINES]
    assert all(0 <= value <= 1.5 for value in run["micro"].values())
    gains = RunView(walk.here / "tiers" / run["run_id"]).qrels().values()
    assert {gain for of_query in gains for gain in of_query.values()} == {1, 2}


def test_segments_hold_the_means_of_their_queries(walk, ast_run):
    content = walk.ask("segments", ast_run.run_id, "--by", "repo", "-m", "recall@5", on_data=False)
    means = {part["name"]: part["mean"] for part in content["segments"]}
    assert means == pytest.approx({repo: ast_run.metrics.per_repo[repo]["recall@5"] for repo in REPOSITORIES})


def test_a_run_log_is_judged_as_the_run_itself_was(walk, ast_run, tmp_path):
    """Another system's log with gold by chunk: the same ranking has the same scores."""
    log = ast_run.folder / "retrieved.jsonl.gz"
    gold = [
        {"query_id": query, "chunk_id": chunk, "gain": gain}
        for query, gains in ast_run.qrels().items()
        for chunk, gain in gains.items()
    ]
    words = ("logs", "import", log, "--gold", write_rows(tmp_path / "gold.jsonl", gold))
    imported = walk.ask(*words, out="imported", on_data=False)
    for measure in ("ndcg@10", "recall@5"):
        assert imported["micro"][measure] == pytest.approx(ast_run.metrics.micro[measure])
    assert "latency, milliseconds" in walk.ask("logs", "pipeline", ast_run.run_id, on_data=False, by=succeed).out


def test_pooled_chunks_that_are_judged_bound_the_scores(walk, ast_run, tmp_path):
    """The top of two runs is written once for a judge; the score lies between the bounds."""
    pool, judged = tmp_path / "pool.jsonl", tmp_path / "judged.jsonl"
    walk.ask("logs", "pool", *walk.folders["context", "bm25"], "-o", pool, on_data=False, by=succeed)
    rows = read_rows(pool)
    assert len({(row["query_id"], row["chunk_id"]) for row in rows}) == len(rows) > 100
    write_rows(judged, [row | {"grade": 1} for row in rows])
    words = ("logs", "bounds", ast_run.run_id, "--judgements", judged, "-m", "ndcg@10")
    (bounds,) = walk.ask(*words, on_data=False)["bounds"]
    assert bounds["gold"]["value"] == pytest.approx(ast_run.metrics.micro["ndcg@10"])
    assert bounds["lower"]["value"] < bounds["both"]["value"] < bounds["upper"]["value"]


@pytest.mark.slow
def test_published_numbers_are_measured_again(tmp_path):
    """Every table of the page is there; numbers of other data are not judged; a model that cannot be had has its reason.

    One small repository is enough: the settings are many.
    """
    (small,) = REPOSITORIES.keys() - {"acme_inventory"}
    task_rows = [row for row in minirepo.rows() if row["metadata"]["fpath_tuple"][0] == small]
    files = {name: content for name, content in minirepo.tree_files().items() if name.startswith(small)}
    mirror = minirepo.build_mirror(tmp_path / "mirror", task_rows=task_rows, files=files)
    words = ("lab", "reproduce", "--embedder", "st:no/such-model", "--source", mirror, "--out", tmp_path / "out")
    done = succeed(*words, home=tmp_path / "home", HF_HUB_OFFLINE="1")
    assert done.out == (tmp_path / "out" / "reproduction.md").read_text()
    rows = json.loads((tmp_path / "out" / "reproduction.json").read_text())
    assert {row["table"] for row in rows} == {"expected", "causes", "coderag"}
    judged = [(row["status"], row["reason"]) for row in rows if row["published"] is not None]
    assert len(judged) == 2 * 2 * 4 + 1
    ((status, reason),) = set(judged)
    assert (status, f"not judged: {reason}." in done.out) == ("not_judged", True)
    (skipped,) = [row for row in rows if row["measured"] is None]
    assert (skipped["status"], "no/such-model" in skipped["reason"]) == ("skipped", True)
    (unpublished,) = [row for row in rows if row["system"] == UNPUBLISHED]
    assert (unpublished["published"], unpublished["status"]) == (None, "not_published")
    for row in rows:
        if row["measured"] is not None:
            assert row["low"] is None  # of fewer than six files
            assert row["command"].startswith("repoeval-bench eval")
