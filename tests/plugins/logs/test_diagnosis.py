"""The playbook: a planted defect for each finding, a healthy run without one, and the queries that scored worst."""

from dataclasses import replace

import numpy as np
import pytest

from plugins.logs.made_logs import row
from repoeval_bench.core.spans import CharSpan, LineSpan
from repoeval_bench.plugins.logs.diagnosis import CHECKS, DiagnosisEvidence, repeats, worst_queries
from repoeval_bench.plugins.logs.judged_log import JudgedLog
from repoeval_bench.runs.inspection import StoredChunk
from repoeval_bench.runs.log import Retrieved
from support.runs import metrics as made_metrics
from support.runs import query_scores

N = 60
COUNTS = {"queries": N, "queries_truncated": 0, "chunks": 100, "chunks_truncated": 0, "files_skipped": 0}


def entry(chunk_id, rank, **more):
    """A result in a file and at lines of its own."""
    file, _, start = chunk_id.partition("@")
    begin = 10 * int(start or 0)
    lines = {"start_line": begin, "end_line": begin + 10}
    return {"rank": rank, "chunk_id": chunk_id, "score": 1 / rank, "file": file, **lines, **more}


def results(*entries):
    """Results as the run log has them."""
    return [Retrieved(**{"chunk_id": f"c{rank}", "rank": rank, **entry}) for rank, entry in enumerate(entries, 1)]


def filler(i):
    return [f"r{i % 4}/other{j}.py@{j}" for j in range(60)]


def ranking(i, gold, ranks):
    """50 results for query i with its gold at these ranks (1 and on), the rest not relevant."""
    ids = filler(i)[:50]
    for chunk_id, rank in zip(gold, ranks, strict=True):
        ids[rank - 1] = chunk_id
    return ids


def golds_of(n, step=100):
    """Query -> n relevant chunks of its file."""
    return {i: [f"r{i // 2 % 4}/f{i // 2}.py@{step * i + j}" for j in range(n)] for i in range(N)}


def evidence(tops=None, golds=None, values=None, rows=None, **metrics):
    """A run of 60 queries in 30 files of 4 repositories; healthy but for what is given."""
    golds = golds or golds_of(1, step=1)
    tops = tops or {i: ranking(i, golds[i], range(1, len(golds[i]) + 1)) for i in range(N)}
    values = values if values is not None else np.full(N, 0.8) + np.tile([0.05, -0.05], N // 2)
    names = [f"q{i:02d}" for i in range(N)]
    scored = query_scores(
        {
            "query_id": names[i],
            "repo": f"r{i // 2 % 4}",
            "path": f"f{i // 2}.py",
            "n_relevant": len(golds[i]),
            "measures": {"ndcg@10": float(values[i])},
        }
        for i in range(N)
    )
    log = []
    for i, name in enumerate(names):
        ids = [entry(chunk_id, rank) for rank, chunk_id in enumerate(tops[i], 1)]
        log.append(row(name, **{"query": f"text {i}\n", "ids": ids, "k_raw": 50, **(rows or {}).get(i, {})}))
    usual = {"k": 50, "chunker": "ast", "protocol": "context", "counts": COUNTS, "micro": {"line_rprec": 0.9}}
    usual |= {"chunk_tokens": {"mean": 100.0, "median": 100, "p95": 100, "max": 100}}
    usual |= {"ceilings": {"micro": {"line_rprec": 0.95}}}
    qrels = {name: dict.fromkeys(golds[i], 1.0) for i, name in enumerate(names)}
    return DiagnosisEvidence(
        scores=scored,
        log=JudgedLog.of(scored, log, qrels),
        metrics=made_metrics({}, ["r"] * N, **{**usual, **metrics}),
    )


def ranked_at(*ranks):
    """A run whose queries have a relevant chunk at each of these ranks."""
    golds = golds_of(len(ranks))
    return evidence({i: ranking(i, golds[i], ranks) for i in range(N)}, golds)


def check_all(run):
    return [answer(run) for answer in CHECKS]


def findings(run):
    return {check.name: check for check in check_all(run) if check.status == "finding"}


def only(run, name):
    """The single finding of a run with one planted defect."""
    problems = findings(run)
    assert set(problems) == {name}, problems
    return problems[name]


def test_a_healthy_run_has_no_finding():
    """Every check is made or says why it cannot be; nothing is found."""
    checks = check_all(evidence())
    assert [check.name for check in checks if check.status == "finding"] == []
    assert [check.name for check in checks if check.status == "unknown"] == []
    assert len(checks) == 7
    assert all(check.says for check in checks)


LOW = {"ceilings": {"micro": {"line_rprec": 0.7}}}
UNANSWERED = {0: [], 1: [], 2: []}


@pytest.mark.parametrize(
    ("defect", "name", "numbers", "word"),
    [
        # One relevant chunk at rank 1, two at 20 and 30: low recall@5 with high recall@50.
        ((1, 20, 30), "depth", {"recall@5": 1 / 3, "recall@50": 1.0}, "rerank"),
        # Relevant at rank 4 everywhere: recall@5 is whole, the reciprocal rank a quarter.
        ((4,), "ranking", {"mrr of queries with a hit": 0.25}, "rank 4"),
        ({"counts": COUNTS | {"chunks_truncated": 30}}, "truncation", {"share of chunks": 0.3}, ""),
        (LOW | {"micro": {"line_rprec": 0.6}}, "chunker", {"ceiling of lines R-prec": 0.7}, ""),
        ({"counts": COUNTS | {"files_skipped": 2}}, "lost", {"files skipped": 2}, ""),
        # Three of 60 queries can never be answered.
        ({"golds": golds_of(1, step=1) | UNANSWERED}, "lost", {"queries without a relevant chunk": 3}, ""),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_planted_defect_is_the_only_finding(defect, name, numbers, word):
    check = only(evidence(**defect) if isinstance(defect, dict) else ranked_at(*defect), name)
    assert {number: check.numbers[number] for number in numbers} == pytest.approx(numbers)
    assert word in check.says
    if name == "depth":
        assert check.limits == {"recall-low": 0.6, "recall-high": 0.8}


def test_few_relevant_chunks_below_five_results_are_not_a_fault_of_the_ranking():
    """Ten relevant chunks cannot be among five results: recall is compared with its ceiling."""
    result = ranked_at(*range(1, 11))
    assert result.mean("recall@5") == 0.5
    assert findings(result) == {}


@pytest.mark.parametrize(
    ("seen", "word", "files"), [(True, "not the right chunk", 1.0), (False, "not even the right file", 0.0)]
)
def test_what_is_not_retrieved_is_told_apart_by_its_file(seen, word, files):
    """Half of the gold is missing: another chunk of its file is retrieved, or none."""
    golds, tops = golds_of(1), {}
    for i in range(N):
        tops[i] = ranking(i, golds[i], [1]) if i % 2 else [f"r{i // 2 % 4}/f{i // 2}.py@9", *filler(i)[1:50]]
        if not seen and i % 2 == 0:
            tops[i][0] = "r9/none.py@1"
    check = only(evidence(tops, golds), "missing")
    assert word in check.says
    assert check.numbers["recall@50"] == 0.5
    assert check.numbers["file recall@50"] == (1.0 if seen else 0.5 + files)
    assert check.numbers["queries whose target file is known"] == N


@pytest.mark.parametrize("how", ["overlap", "copies"])
def test_places_taken_by_near_duplicates(how):
    """Relevant first, then nine results that show the same lines, or copies elsewhere with the very same score."""
    rows = {}
    for i in range(N):
        gold = entry(f"r{i // 2 % 4}/f{i // 2}.py@{i}", 1)
        again = [
            {**gold, "rank": r, "chunk_id": f"copy{r}"}
            if how == "overlap"
            else {**entry(f"r{i % 4}/c{r}.py@0", r), "score": 0.5}
            for r in range(2, 11)
        ]
        rows[i] = {"ids": [gold, *again]}
    check = only(evidence(rows=rows), "near-duplicates")
    assert check.numbers["recall@10"] == 1.0
    assert check.numbers["precision@10"] == pytest.approx(0.1)
    assert check.numbers["repeats@10"] == pytest.approx(0.9 if how == "overlap" else 0.8)


def test_repeats_counts_shown_lines_and_equal_scores():
    """Half of the second is in the first; zeros are not copies; other files are other lines."""
    assert repeats([]) == 0.0
    first = {"score": 3.0, "file": "a", "start_line": 0, "end_line": 10}
    assert repeats(results(first, {"score": 2.0, "file": "a", "start_line": 5, "end_line": 15})) == 0.25
    assert repeats(results(first, {"score": 2.0, "file": "b", "start_line": 5, "end_line": 15})) == 0.0
    assert repeats(results({"score": 2.0}, {"score": 2.0})) == 0.5
    assert repeats(results({"score": 0.0}, {"score": 0.0})) == 0.0


def test_a_shallow_or_imported_run_says_what_it_does_not_know():
    """Ten results stored: nothing on lower ranks; no counts of an imported run's model or lines."""
    tops = {i: ranking(i, gold, [1])[:10] for i, gold in golds_of(1, step=1).items()}
    shallow = evidence(tops, k=10, imported=True, counts={"queries": N}, chunk_tokens=None, ceilings={})
    checks = check_all(shallow)
    depth = next(check for check in checks if check.name == "depth")
    assert "import a log of 50 results a query" in depth.says
    unknown = {check.name for check in checks if check.status == "unknown"}
    assert unknown == {"depth", "missing", "truncation", "chunker"}
    assert not [check for check in checks if check.status == "finding"]


def test_a_model_that_does_not_report_its_tokens_leaves_open_what_it_cut():
    """Not known is neither fine nor a finding."""
    counts = COUNTS | {"queries_truncated": None, "chunks_truncated": None}
    checks = {c.name: c for c in check_all(evidence(counts=counts, chunk_tokens=None, embedder="openai:m"))}
    assert checks["truncation"].status == "unknown"
    assert checks["truncation"].says == "openai:m does not report its tokens, so it is not known what it truncated"


def test_the_worst_queries_with_gold_and_ranking():
    """Lowest value first, of equals the one whose gold is found later; relevant results are marked."""
    values = np.full(N, 0.8)
    values[[5, 7, 9]] = 0.1, 0.1, 0.0
    golds = golds_of(1, step=1)
    tops = {i: ranking(i, golds[i], [1]) for i in range(N)}
    tops[5] = ranking(5, golds[5], [12])
    tops[9] = filler(9)[:50]
    result = evidence(tops, golds, values)
    nine, five, seven = worst_queries(result, "ndcg@10", 3)
    assert (nine.query_id, five.query_id, seven.query_id) == ("q09", "q05", "q07")
    assert (nine.value, nine.first_hit, nine.relevant, nine.query) == (0.0, None, 1, "text 9\n")
    (target,) = nine.gold  # no query retrieved it
    assert (target.chunk_id, target.file, target.start_line) == ("r0/f4.py@9", None, None)
    stored = StoredChunk(chunk_id="r0/f4.py@9", file="r0/f4.py", chars=CharSpan(0, 9), lines=LineSpan(3, 5), nws=9)
    result = replace(result, chunks={stored.chunk_id: stored})
    ((target,), *_) = (query.gold for query in worst_queries(result, "ndcg@10", 1))
    assert (target.file, target.start_line, target.end_line) == ("r0/f4.py", 3, 5)
    assert (len(nine.top), [item.relevant for item in nine.top]) == (10, [False] * 10)
    assert five.first_hit == 12
    assert [item.relevant for item in seven.top] == [True] + [False] * 9
