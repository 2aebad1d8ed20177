"""`logs import` on TREC files: runs, qrels, and a corpus that says where chunks lie."""

import random
import re

import ir_measures
import pytest
from ir_measures import AP, RR, Bpref, Judged, P, R, Rprec, nDCG

from plugins.logs.made_logs import own_gold
from repoeval_bench import find_run, load_benchmark, plan_run
from repoeval_bench.core.errors import MetricError, ResultError, UsageError
from repoeval_bench.plugins.logs.import_gold import judge_log
from repoeval_bench.plugins.logs.import_log import import_run
from repoeval_bench.runs.inspection import SOURCES
from repoeval_bench.runs.records import QRELS, RETRIEVED
from repoeval_bench.runs.runner import evaluate
from support.cases import cases
from support.command import bench, one_sentence, succeed
from support.runs import read_text, write_rows, write_text

CASES = cases(__file__)

AST = "ast:max_nws=400,header=path"
WHEN = "2026-01-01T00:00:00+00:00"
TREC = "run.trec.gz"


@pytest.fixture(scope="module")
def stored_runs(mirror, tmp_path_factory):
    """A run of ours, its gold as lines, and its chunks with their places."""
    folder = tmp_path_factory.mktemp("made")
    benchmark = load_benchmark(mirror, home=folder / "home")
    run = evaluate(benchmark, AST, retriever="bm25", out=folder)
    names = ("chunk_id", "file", "start_line", "end_line", "header_nws")
    corpus = [
        dict(zip(names, (chunk.chunk_id, chunk.file, chunk.lines.start, chunk.lines.end, chunk.added_nws), strict=True))
        for chunk in plan_run(benchmark, AST).corpus
    ]
    for name, rows in {"gold.jsonl": own_gold(run.folder), "corpus.jsonl": corpus}.items():
        write_rows(folder / name, rows)
    write_text(folder / TREC, run.trec_run())
    return folder, run


def imported(log, gold, out, **options):
    return import_run(log, gold, out, created=WHEN, **options)


def test_a_trec_run_with_qrels_has_the_measures_of_the_run(stored_runs, tmp_path):
    """Ranking and judgements alone: every measure of chunks that the run itself has, query by query."""
    folder, run = stored_runs
    again = imported(folder / TREC, run.folder / QRELS, tmp_path, measures=["ndcg@10", "recall@5", "mrr"])
    assert again.metrics.retriever == run.metrics.chunker  # its tag
    assert again.metrics.chunker == again.metrics.embedder.removeprefix("index ") == "not stated"
    names = ("query_id", "ndcg@10", "recall@5", "mrr")
    ours, theirs = ([[row[name] for name in names] for row in one.per_query()] for one in (run, again))
    assert ours == theirs


def test_a_trec_run_with_a_corpus_has_the_runs_line_measures(stored_runs, tmp_path):
    """Places come from the corpus, sizes of lines from the sources: the same lines are read at the same cost."""
    folder, run = stored_runs
    names = ["line_recall_auc", "line_recall@500", "ndcg@10"]
    more = {"corpus": folder / "corpus.jsonl", "files": run.folder / SOURCES, "measures": names, "depth": 100}
    again = imported(folder / TREC, folder / "gold.jsonl", tmp_path, **more)
    assert (again.metrics.retriever, again.metrics.k) == (run.metrics.chunker, 100)
    assert again.counts.queries_not_read == 0
    for name in names:
        assert again.metrics.micro[name] == pytest.approx(run.metrics.micro[name], abs=1e-12)
    first = next(again.log_rows()).topk[0]
    assert first.file
    assert first.header_nws


def test_every_input_may_be_packed(stored_runs, tmp_path):
    """Log, gold and corpus as `.gz` give the same run, by the same id."""
    folder, run = stored_runs
    write_rows(tmp_path / "log.jsonl", [row.model_dump(exclude_none=True) for row in run.log_rows()])
    inputs = [tmp_path / "log.jsonl", *(folder / name for name in ("gold.jsonl", "corpus.jsonl"))]
    packed = [tmp_path / f"{path.stem}.jsonl.gz" for path in inputs]
    for plain, path in zip(inputs, packed, strict=True):
        write_text(path, read_text(plain))
    runs = [
        imported(log, gold, tmp_path / name, corpus=corpus, measures=["mrr"])
        for name, (log, gold, corpus) in {"plain": inputs, "packed": packed}.items()
    ]
    assert runs[0].run_id == runs[1].run_id
    assert runs[0].per_query() == runs[1].per_query()


def test_two_rankings_are_compared_like_any_runs(stored_runs, tmp_path):
    folder, run = stored_runs
    lines = [line.rpartition(" ")[0] for line in read_text(folder / TREC).splitlines()]
    write_text(tmp_path / "one.trec.gz", "".join(f"{line} one\n" for line in lines))
    (tmp_path / "two.trec").write_text("".join(f"{line} two\n" for i, line in enumerate(lines) if i % 3))
    for name, ending in (("one", "trec.gz"), ("two", "trec")):
        succeed("logs", "import", tmp_path / f"{name}.{ending}", "--gold", run.folder / QRELS, "--depth", 9,
                     "-m", "ndcg@10", "--out", tmp_path / "out", home=tmp_path)  # fmt: skip
    succeed("compare", "one", "two", "--out", tmp_path / "out", home=tmp_path)
    assert find_run("_two-", tmp_path / "out").metrics.retriever == "two"


@pytest.mark.parametrize("name", ["a.run", "b.res", "input.bm25", "run", "run.txt.gz"])
@pytest.mark.parametrize("gold", ["a.qrels", "b.qrel", "qrels"])
def test_any_other_name_is_read_by_its_first_character(tmp_path, name, gold):
    """TREC's files have many names; rows of JSON begin with a brace."""
    write_text(tmp_path / name, "q Q0 b 1 3 t\nq Q0 a 2 2 t\n")
    write_text(tmp_path / gold, "q 0 a 1\n")
    of_trec = imported(tmp_path / name, tmp_path / gold, tmp_path / "trec", measures=["mrr"])
    write_text(tmp_path / gold, '\n {"query_id": "q", "chunk_id": "a"}\n')
    of_json = imported(tmp_path / name, tmp_path / gold, tmp_path / "json", measures=["mrr"])
    assert of_trec.metrics.micro["mrr"] == of_json.metrics.micro["mrr"] == 0.5


GRADES = {"q one": {"c a": 2, "b": 0}, "p": {"a": 1}}


@pytest.mark.parametrize(("name", "line"), CASES["forms"])
def test_qrels_of_beir_are_gold(tmp_path, name, line):
    """Both forms that BEIR's and MTEB's loaders read; ids may hold blanks."""
    header = "query-id\tcorpus-id\tscore\n" if ".tsv" in name.lower() else ""
    rows = [line.format(query, chunk, gain) for query, gains in GRADES.items() for chunk, gain in gains.items()]
    write_text(tmp_path / name, header + "".join(rows))
    assert judge_log({}, tmp_path / name, {}).gains == GRADES


@pytest.mark.parametrize(("text", "part"), CASES["broken lines"])
def test_a_broken_line_of_beir_is_named(tmp_path, text, part):
    (tmp_path / "gold.tsv").write_text(text)
    with pytest.raises(MetricError, match=re.escape(part)):
        judge_log({}, tmp_path / "gold.tsv", {})


def test_a_judged_chunk_that_is_not_relevant_stays_judged(tmp_path):
    """Gain 0 and grades below it are judgements: judged@5 counts them, as gold rows with gain 0 count."""
    (tmp_path / "run.trec").write_text("q Q0 a 1 3 t\nq Q0 b 2 2 t\nq Q0 c 3 1 t\nq Q0 d 4 0.5 t\n")
    (tmp_path / "gold.qrels").write_text("q 0 a 1\nq 0 b 0\nq 0 c -2\n")
    run = imported(tmp_path / "run.trec", tmp_path / "gold.qrels", tmp_path / "out", measures=["precision@4"])
    assert run.metrics.micro["judged@5"] == pytest.approx(3 / 4)
    assert run.metrics.micro["precision@4"] == 0.25


def graded_run(queries=150, pool=15):
    """(run, qrels) of grades from -3 to 2, a relevant one in each query; scores have ties."""
    rng, ids = random.Random(0), [f"c{i:02}" for i in range(pool)]
    run, qrels = {}, {}
    for name in map("q{}".format, range(queries)):
        run[name] = {chunk: rng.randint(0, 12) / 8 for chunk in rng.sample(ids, rng.randint(1, pool))}
        grades = {chunk: rng.choice([-3, -2, -1, 0, 0, 1, 2]) for chunk in rng.sample(ids, rng.randint(1, pool))}
        qrels[name] = grades | {rng.choice(ids): 1}
    return run, qrels


def test_grades_below_0_score_as_they_do_in_trec_eval(tmp_path):
    """They were in the pool and not judged, so bpref skips them; judged@k counts them, as ir_measures does.

    The stored judgements keep them: trec_eval gives the same scores of the folder's own files.
    """
    run, qrels = graded_run()
    lines = [f"{q} Q0 {chunk} 1 {score} t\n" for q, scores in run.items() for chunk, score in scores.items()]
    (tmp_path / "a.run").write_text("".join(lines))
    grades = [f"{q} 0 {chunk} {grade}\n" for q, of_query in qrels.items() for chunk, grade in of_query.items()]
    (tmp_path / "a.qrels").write_text("".join(grades))
    measures = {"ndcg@10": nDCG @ 10, "mrr": RR, "ap": AP, "precision@5": P @ 5, "recall@5": R @ 5, "rprec": Rprec}
    measures |= {"bpref": Bpref}
    result = imported(tmp_path / "a.run", tmp_path / "a.qrels", tmp_path / "out", measures=[*measures][:-1])
    ours = {row["query_id"]: row for row in result.per_query()}
    stored = list(ir_measures.read_trec_qrels(read_text(result.folder / QRELS)))
    for judged in (qrels, stored):
        for metric in ir_measures.iter_calc([*measures.values()], judged, run):
            (name,) = (name for name, measure in measures.items() if measure == metric.measure)
            assert ours[metric.query_id][name] == pytest.approx(metric.value, abs=1e-12), (name, metric.query_id)
    # The reference breaks ties by the smaller id, so it gets scores without ties.
    ranked = {q: {c: -i for i, (c, _) in enumerate(r)} for q, r in result.rankings().items()}
    for metric in ir_measures.iter_calc([Judged @ 5, Judged @ 10], qrels, ranked):
        assert ours[metric.query_id][str(metric.measure).lower()] == pytest.approx(metric.value, abs=1e-12)


def test_scores_are_ranked_as_trec_eval_ranks_them(tmp_path):
    """Ties go to the larger id, whatever their order in the file."""
    (tmp_path / "run.trec").write_text("q Q0 a 1 1 t\nq Q0 b 2 1 t\nq Q0 c 3 2 t\n")
    (tmp_path / "gold.qrels").write_text("q 0 b 1\n")
    run = imported(tmp_path / "run.trec", tmp_path / "gold.qrels", tmp_path / "out", measures=["mrr"])
    assert [entry.chunk_id for entry in next(run.log_rows()).topk] == ["c", "b", "a"]
    assert run.metrics.micro["mrr"] == 0.5


def test_what_does_not_fit_is_one_sentence(stored_runs, tmp_path):
    folder, run = stored_runs
    with pytest.raises(UsageError, match="is a log, which says its depth itself; leave --depth out"):
        imported(run.folder / RETRIEVED, folder / "gold.jsonl", tmp_path, depth=9)
    with pytest.raises(ResultError, match=r"ranks \d+ chunks for a query, beyond --depth 2"):
        imported(folder / TREC, run.folder / QRELS, tmp_path, depth=2)
    with pytest.raises(UsageError, match="has no files, so gold of lines needs the chunks' places; give --corpus"):
        imported(folder / TREC, folder / "gold.jsonl", tmp_path)
    (tmp_path / "few.jsonl").write_text((folder / "corpus.jsonl").read_text().splitlines()[0] + "\n")
    with pytest.raises(ResultError, match=r"run\.trec\.gz ranks '.*', which is not in the corpus"):
        imported(folder / TREC, folder / "gold.jsonl", tmp_path, corpus=tmp_path / "few.jsonl")


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [("a.trec.gz", b"\x1f\x8bbroken", "cannot be unpacked"), ("a.trec", b"q Q0 a 1\n", "4 fields, not 6")],
)
def test_a_broken_file_is_one_sentence(tmp_path, name, content, part):
    (tmp_path / name).write_bytes(content)
    (tmp_path / "gold.qrels").write_text("q 0 a 1\n")
    words = (tmp_path / name, "--gold", tmp_path / "gold.qrels", "--out", tmp_path / "x")
    assert part in one_sentence(bench("logs", "import", *words, home=tmp_path), 1)
    assert not (tmp_path / "x").exists()
