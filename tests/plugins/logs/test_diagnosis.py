"""The playbook: a planted defect for each finding, a healthy run without one, and the queries that scored worst."""

from dataclasses import replace

import numpy as np
import pytest

from plugins.logs.made_logs import row
from repoeval_bench.plugins.logs.diagnosis.checks import check_all
from repoeval_bench.plugins.logs.diagnosis.evidence import DiagnosisEvidence, repeats
from repoeval_bench.plugins.logs.diagnosis.gaps import find_gaps
from repoeval_bench.plugins.logs.diagnosis.report import worst_queries
from repoeval_bench.plugins.logs.judged_log import JudgedLog
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


def evidence(tops=None, golds=None, values=None, rows=None, latency=None, facts=None, **metrics):
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
            "facts": (facts or {}).get(i, {}),
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
        measure="ndcg@10",
        metrics=made_metrics({}, ["r"] * N, **{**usual, **metrics}),
        latency=latency or {},
    )


def ranked_at(*ranks):
    """A run whose queries have a relevant chunk at each of these ranks."""
    golds = golds_of(len(ranks))
    return evidence({i: ranking(i, golds[i], ranks) for i in range(N)}, golds)


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
    assert {check.name for check in checks if check.status == "unknown"} == {"freshness", "latency"}
    assert len(checks) == 11
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
        # A low ceiling is the chunker's fault, a low share of it the retriever's.
        (LOW | {"micro": {"line_rprec": 0.6}}, "chunker", {"ceiling of lines R-prec": 0.7}, ""),
        ({"micro": {"line_rprec": 0.38}}, "retriever", {"share of the ceiling": 0.4}, ""),
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


@pytest.mark.parametrize(("seen", "word", "files"), [(True, "chunking", 1.0), (False, "indexing", 0.0)])
def test_what_is_not_retrieved_is_told_apart_by_its_file(seen, word, files):
    """Half of the gold is missing: another chunk of its file found or not tells chunking from indexing."""
    golds, tops = golds_of(1), {}
    for i in range(N):
        tops[i] = ranking(i, golds[i], [1]) if i % 2 else [f"r{i // 2 % 4}/f{i // 2}.py@9", *filler(i)[1:50]]
        if not seen and i % 2 == 0:
            tops[i][0] = "r9/none.py@1"
    check = only(evidence(tops, golds), "missing")
    assert word in check.says
    assert check.numbers["recall@50"] == 0.5
    assert check.numbers["file recall@50"] == (1.0 if seen else 0.5 + files)
    assert check.numbers["queries whose gold file is known"] == N


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


def test_a_segment_that_is_behind_is_found_and_noise_is_not():
    """One repository 0.3 lower is a finding with its interval; single queries that differ are none."""
    noise = np.random.default_rng(1).normal(0, 0.05, N)
    behind = np.arange(N) // 2 % 4 == 2
    values = 0.8 + noise - np.where(behind, 0.3, 0.0)
    facts = {i: {"is_method": i % 3 == 0} for i in range(N)}
    check = only(evidence(values=values, facts=facts), "segments")
    (gap,) = check.gaps
    assert (gap.by, gap.name, gap.n_queries, gap.n_clusters) == ("repo", "r2", 14, 7)
    assert gap.difference == pytest.approx(values[behind].mean() - values[~behind].mean())
    assert gap.ci[0] < gap.difference < gap.ci[1] < -0.2
    assert gap.p <= gap.p_adjusted < 0.001
    assert check.numbers["segments tested"] == 5
    assert findings(evidence(values=0.8 + noise, facts=facts)) == {}


def test_a_gap_of_two_segments_names_the_lower_one_once():
    """Of yes and no each is the other's rest."""
    facts = {i: {"has_docstring": i % 3 > 0} for i in range(N)}
    values = np.where(np.arange(N) % 3 > 0, 0.4, 0.9)
    gaps, _ = find_gaps(evidence(values=values, facts=facts).scores, "ndcg@10")
    (gap,) = [gap for gap in gaps if gap.by == "has_docstring"]
    assert (gap.name, gap.mean, gap.rest, gap.p) == ("yes", pytest.approx(0.4), pytest.approx(0.9), pytest.approx(0))


def test_queries_of_few_files_are_not_tested():
    """A segment whose queries are of four files says too little, and is counted."""
    facts = {i: {"kind": "rare" if i < 8 else "often"} for i in range(N)}
    values = np.where(np.arange(N) < 8, 0.0, 1.0)
    check = next(c for c in check_all(evidence(values=values, facts=facts)) if c.name == "segments")
    assert check.numbers["segments with too few clusters to test"] == 1
    assert not [gap for gap in check.gaps if gap.by == "kind"]


@pytest.mark.slow
def test_gaps_under_no_difference_are_rare():
    """Files share a deviation, segments mean nothing: a finding in at most 5 % of runs, and two Monte-Carlo errors."""
    source = np.random.default_rng(5)
    trials, wrong = 400, 0
    base = evidence().scores
    for _ in range(trials):
        values = 0.5 + np.repeat(source.normal(0, 0.2, N // 2), 2) + source.normal(0, 0.1, N)
        a, b = zip(*((bool(source.integers(2)), float(source.uniform())) for _ in range(N)), strict=True)
        scores = replace(base, values={"ndcg@10": values}, facts={**base.facts, "a": a, "b": b})
        gaps, _ = find_gaps(scores, "ndcg@10")
        wrong += any(gap.p_adjusted < 0.05 for gap in gaps)
    assert wrong / trials <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / trials)


def test_results_newer_than_the_query():
    """Two of ten dated results were written after the query's as_of."""
    dated = [entry(f"r0/f0.py@{r - 1}", r, doc_version=f"2024-0{6 if r > 8 else 4}-01") for r in range(1, 11)]
    check = only(evidence(rows={0: {"as_of": "2024-05-01", "ids": dated}}), "freshness")
    numbers = {"share of the top 10 newer than as_of": 0.2, "results with both dates": 10}
    assert check.numbers == pytest.approx(numbers)


def test_latency_is_split_into_its_steps():
    """A reranker of 900 ms beside a retriever of 10 ms is named."""
    latency = {f"q{i:02d}": {"retrieve": 10.0, "rerank": 900.0} for i in range(N)}
    check = only(evidence(latency=latency), "latency")
    times = {"retrieve": 10, "rerank": 900, "together": 910}
    assert check.numbers == {f"{step}, {of}, ms": time for step, time in times.items() for of in ("median", "p90")}
    assert "rerank takes 99% of the time" in check.says
    assert findings(evidence(latency={"q00": {"retrieve": 10.0}})) == {}


def test_a_reranker_whose_scores_were_at_hand_is_not_called_quick():
    """Of queries whose pairs were in the cache nothing is known; the others decide."""
    latency = {f"q{i:02d}": {"retrieve": 10.0} for i in range(N)}

    def said(**metrics):
        checks = check_all(evidence(latency=latency, **metrics))
        return next(check for check in checks if check.name == "latency")

    assert (said().status, said(retriever="rerank:some/model").status) == ("fine", "unknown")
    assert "in the cache" in said(retriever="rerank:some/model").says
    latency["q00"] = {"retrieve": 10.0, "rerank": 900.0}
    assert said(retriever="rerank:some/model").numbers["together, p90, ms"] == 910
    assert said().numbers["retrieve, median, ms"] == 10


def test_a_shallow_or_imported_run_says_what_it_does_not_know():
    """Ten results stored: nothing on lower ranks; no counts of an imported run's model or lines."""
    tops = {i: ranking(i, gold, [1])[:10] for i, gold in golds_of(1, step=1).items()}
    shallow = evidence(tops, k=10, imported=True, counts={"queries": N}, chunk_tokens=None, ceilings={})
    checks = check_all(shallow)
    depth = next(check for check in checks if check.name == "depth")
    assert "import a log of 50 results a query" in depth.says
    unknown = {check.name for check in checks if check.status == "unknown"}
    assert unknown == {"depth", "missing", "freshness", "latency", "truncation", "chunker"}
    assert not [check for check in checks if check.status == "finding"]


def test_a_model_that_does_not_report_its_tokens_leaves_open_what_it_cut():
    """Not known is neither fine nor a finding."""
    counts = COUNTS | {"queries_truncated": None, "chunks_truncated": None}
    checks = {c.name: c for c in check_all(evidence(counts=counts, chunk_tokens=None, embedder="openai:m"))}
    assert checks["truncation"].status == "unknown"
    assert checks["truncation"].says == "openai:m does not report its tokens, so it is not known what it cut"


def test_the_worst_queries_with_gold_and_both_rankings():
    """Lowest value first, of equals the one whose gold is found later; relevant results are marked on both sides."""
    values = np.full(N, 0.8)
    values[[5, 7, 9]] = 0.1, 0.1, 0.0
    golds = golds_of(1, step=1)
    tops = {i: ranking(i, golds[i], [1]) for i in range(N)}
    tops[5] = ranking(5, golds[5], [12])
    tops[9] = filler(9)[:50]
    result = evidence(tops, golds, values)
    rows = {"q09": results(entry("r0/f4.py@9", 1), entry("r1/x.py@1", 2))}
    nine, five, seven = worst_queries(result, 3, (rows, result.log.qrels))
    assert (nine.query_id, five.query_id, seven.query_id) == ("q09", "q05", "q07")
    assert (nine.value, nine.first_hit, nine.relevant, nine.query) == (0.0, None, 1, "text 9\n")
    assert [(place.chunk_id, place.start_line) for place in nine.gold] == [("r0/f4.py@9", 90)]
    assert [element.relevant for element in nine.bm25] == [True, False]
    assert (len(nine.top), [item.relevant for item in nine.top]) == (10, [False] * 10)
    assert (five.first_hit, five.bm25) == (12, ())
    assert worst_queries(result, 1, None)[0].bm25 is None
