"""`logs import` as a person runs it: a log of plain bm25s, this project's own log, and broken ones."""

import json

import pytest
from jsonschema import Draft202012Validator

from plugins.logs.made_logs import log_row, own_gold, schema
from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.core.source import SourceFile
from support.command import bench, json_of, one_sentence, succeed
from support.minirepo import REPOSITORIES
from support.runs import read_rows, read_text, write_rows

QUERIES = {"q1": "put pieces on the shelf", "q2": "round half up to whole cents", "q3": "neighbouring words"}
GOLD = {"q1": ("stock.py", "def put("), "q2": ("pricing.py", "def to_cents("), "q3": ("tokens.py", "def bigrams(")}


FILES = [SourceFile(repo, path, text) for repo, files in REPOSITORIES.items() for path, text in files.items()]


@pytest.fixture
def logs(tmp_path):
    """A log that plain bm25s made, its gold as lines, and the whole corpus."""
    import bm25s

    cut = [chunk for file in FILES for chunk in make_chunker("window:lines=10,step=10").chunk(file)]
    places = [
        {"chunk_id": item.chunk_id, "file": item.file, "start_line": item.lines.start, "end_line": item.lines.end}
        for item in cut
    ]
    engine = bm25s.BM25()
    engine.index(bm25s.tokenize([entry.text for entry in cut], show_progress=False), show_progress=False)
    rows = []
    for query_id, text in QUERIES.items():
        result, scores = engine.retrieve(bm25s.tokenize(text, show_progress=False), k=8, show_progress=False)
        topk = [
            {"rank": rank, "score": float(score), **places[i]}
            for rank, (i, score) in enumerate(zip(result[0].tolist(), scores[0].tolist(), strict=True), start=1)
        ]
        named = {"system": "bm25s", "k_raw": 8, "query": text, "latency_ms": {"retrieve": 2.5}}
        rows.append(log_row(query_id, topk, **named))
    gold = []
    for query_id, (name, signature) in GOLD.items():
        (file,) = (file for file in FILES if file.path.endswith(name))
        line = next(i for i, line in enumerate(file.text.splitlines()) if signature in line)
        gold.append({"query_id": query_id, "file": file.name, "start_line": line, "end_line": line + 3})
    return (
        write_rows(tmp_path / "log.jsonl", rows),
        write_rows(tmp_path / "gold.jsonl", gold),
        write_rows(tmp_path / "corpus.jsonl", places),
    )


def test_a_log_of_another_library_is_imported_and_judged(logs, tmp_path):
    """bm25s finds what the queries name; the imported run is listed and gated like any."""
    log, gold, corpus = logs
    out = ("--out", tmp_path / "results")
    metrics = json_of("logs", "import", log, "--gold", gold, "--corpus", corpus, *out)
    assert metrics["micro"]["hit@5"] == 1.0
    none = ("without_relevant", "not_in_log", "without_gold", "no_answer", "without_cluster")
    assert metrics["counts"] == {"queries": 3, **{f"queries_{what}": 0 for what in none}}
    run = metrics["run_id"]
    stored = read_text(tmp_path / "results" / run / "retrieved.jsonl.gz").splitlines()
    for line in stored:
        Draft202012Validator(json.loads(schema())).validate(json.loads(line))
    assert [json.loads(line)["query"] for line in stored] == list(QUERIES.values())
    assert all(row["measure"] and row["score"] is not None for row in json_of("runs", *out))
    gates = tmp_path / "gates.yaml"
    gates.write_text("latency: [{median_ms: 3}]")
    succeed("gate", run, "--config", gates, *out)
    assert "was imported" in one_sentence(bench("export", "runs", run, "--format", "markdown", *out), 2)


def test_without_a_corpus_the_pool_is_said_to_be_one(logs, tmp_path):
    """Recall over the log's chunks alone is flagged, and at least as high as over the corpus."""
    log, gold, corpus = logs
    write_rows(gold, [{name: row[name] for name in ("query_id", "file")} for row in read_rows(gold)])
    options = ("--gold", gold, "--out", tmp_path / "results")
    pooled = bench("logs", "import", log, *options)
    assert "recall is too high without --corpus" in pooled.out
    whole = json_of("logs", "import", log, *options, "--corpus", corpus)
    again = json_of("logs", "import", log, *options)
    assert again["micro"]["recall@5"] >= whole["micro"]["recall@5"]
    assert again["protocol"].endswith("+pooled")


def test_what_cannot_be_imported(logs, tmp_path):
    """No shared query, a broken row, a missing file: one sentence each."""
    log, gold, _ = logs
    none = write_rows(tmp_path / "none.jsonl", [{"query_id": "zz", "chunk_id": "a"}])
    assert "share no query" in one_sentence(bench("logs", "import", log, "--gold", none), 2)
    assert "did you mean 'ndcg@3'" in one_sentence(bench("logs", "import", log, "--gold", gold, "-m", "ndgc@3"), 2)
    log.write_text(log.read_text() + "{}\n")
    message = one_sentence(bench("logs", "import", log, "--gold", gold, "--out", tmp_path / "results"), 2)
    assert "log.jsonl:4" in message
    assert "  query_id: it is missing" in message.splitlines()
    assert not (tmp_path / "results").exists()


def test_a_query_without_an_answer_is_kept_and_not_scored(logs, tmp_path):
    """It moves no mean and stays in the log; gold for it is a contradiction."""
    log, gold, corpus = logs
    words = ("logs", "import", log, "--gold", gold, "--corpus", corpus, "--out", tmp_path / "results")
    before = json_of(*words)
    write_rows(log, [*read_rows(log), read_rows(log)[0] | {"query_id": "none", "no_answer": True}])
    after = json_of(*words)
    assert after["micro"] == before["micro"]
    assert (after["counts"]["queries_no_answer"], after["counts"]["queries_without_gold"]) == (1, 0)
    kept = read_text(tmp_path / "results" / after["run_id"] / "retrieved.jsonl.gz")
    assert kept.count('"no_answer": true') == 1
    write_rows(gold, [*read_rows(gold), read_rows(gold)[0] | {"query_id": "none"}])
    assert "the log calls query 'none' no_answer" in one_sentence(bench(*words), 2)


MEASURES = (
    *("line_rprec", "line_recall_auc", *(f"line_recall@{b}" for b in (250, 500, 1000, 1500, 3000, 6000, 12000))),
    *("ndcg@5", "ndcg@10", "recall@5", "recall@10", "precision@5", "precision@10", "hit@5", "hit@10", "mrr"),
)


@pytest.mark.parametrize(
    "options", [("-c", "ast:max_nws=400,header=path"), ("-c", "ast:max_nws=400", "--protocol", "body")]
)
def test_this_projects_own_log_has_the_same_measures(evaluate, tmp_path, options):
    """Every query's are what `eval` stored, bit for bit."""
    assert evaluate("--retriever", "bm25", *options).code == 0
    (folder,) = (tmp_path / "results").iterdir()
    gold = write_rows(tmp_path / "gold.jsonl", own_gold(folder))
    words = ("--gold", gold, "--files", folder / "sources.jsonl.gz", "--out", tmp_path / "in")
    imported = json_of("logs", "import", folder / "retrieved.jsonl.gz", *words)
    assert imported["headline_measure"] == "line_recall_auc"
    assert imported["counts"]["queries_not_read"] == 0

    def per_query(run):
        rows = read_rows(run / "per_query.jsonl.gz")
        return {row["query_id"]: {name: row["measures"][name] for name in MEASURES} for row in rows}

    assert per_query(tmp_path / "in" / imported["run_id"]) == per_query(folder)


@pytest.fixture
def by_hand(tmp_path):
    """Two files of four lines of 10, 0, 20 and 30 nws; gold is line 2 of the first, and lines 0 to 2 of the second."""
    sources = tmp_path / "src"
    (sources / "r").mkdir(parents=True)
    for name in ("a.py", "b.py"):
        (sources / "r" / name).write_text("x" * 10 + "\n\n" + "y" * 20 + "\n" + "z" * 30 + "\n")

    def log(*rankings):
        ranked = [[{"rank": n, "score": -n, **chunk} for n, chunk in enumerate(ranking, 1)] for ranking in rankings]
        return write_rows(tmp_path / "log.jsonl", [log_row(f"q{i}", topk) for i, topk in enumerate(ranked)])

    gold = [("q0", "r/a.py", 2, 3), ("q1", "r/b.py", 0, 3)]
    rows = [dict(zip(("query_id", "file", "start_line", "end_line"), row, strict=True)) for row in gold]
    return sources, log, write_rows(tmp_path / "gold.jsonl", rows)


def chunk(file, start, end, **more):
    return {"chunk_id": f"{file}:{start}", "file": f"r/{file}", "start_line": start, "end_line": end, **more}


def test_a_query_is_read_up_to_a_chunk_without_lines(by_hand, tmp_path):
    """The chunk's cost is not known: what follows it is not read, and such queries are counted."""
    sources, log, gold = by_hand
    blind = {"chunk_id": "somewhere"}
    path = log([blind, chunk("a.py", 2, 3)], [chunk("b.py", 0, 3), blind], [chunk("b.py", 0, 3)])
    options = ("--gold", gold, "--out", tmp_path / "out", "--files", sources)
    metrics = json_of("logs", "import", path, *options, "-m", "line_rprec", "-m", "hit@5")
    assert metrics["counts"]["queries_not_read"] == 2
    assert (metrics["micro"]["line_rprec"], metrics["micro"]["hit@5"]) == (0.5, 1.0)
    assert "2 queries with a chunk of which file or lines are not known" in bench("logs", "import", path, *options).out


def test_a_name_that_no_file_can_have_is_a_file_that_is_missing(by_hand, tmp_path):
    """A chunk of it ends the reading, which is counted; gold of it is refused."""
    sources, log, gold = by_hand
    path = log([chunk("a\0.py", 2, 3)], [chunk("b.py", 0, 3)])
    words = ("logs", "import", path, "--gold", gold, "--out", tmp_path / "out", "--files", sources)
    assert json_of(*words)["counts"]["queries_not_read"] == 1
    write_rows(gold, [{"query_id": "q0", "file": "r/a\0.py", "start_line": 2, "end_line": 3}])
    assert "1 of the gold's 1 files are not in" in one_sentence(bench(*words), 2)


def test_without_sizes_of_lines_there_are_no_line_measures(by_hand, tmp_path):
    """The command says for how many queries and why; asked for, it is refused; wrong sources are refused."""
    sources, log, gold = by_hand
    path = log([chunk("a.py", 2, 3)], [chunk("b.py", 0, 3)])
    words = ("logs", "import", path, "--gold", gold, "--out", tmp_path / "out")
    assert "no line measures for 2 queries: the sizes of lines are not known" in bench(*words).out
    assert "--files" in one_sentence(bench(*words, "-m", "line_rprec"), 2)
    message = one_sentence(bench(*words, "--files", sources / "r"), 2)
    assert "2 of the gold's 2 files are not in" in message
    (sources / "r" / "b.py").write_text("short\n")
    assert "pass the file's 1 lines" in one_sentence(bench(*words, "--files", sources), 1)
    write_rows(gold, [{"query_id": "q0", "file": "r/a.py"}])
    assert "the gold names files, not lines" in bench(*words, "--files", sources).out
