"""Clusters and repositories of imported queries: properties of the gold, whatever a log lacks and whoever comes first."""

import numpy as np
import pytest

from plugins.logs.made_logs import log_row
from repoeval_bench.analysis.comparison import compare
from repoeval_bench.core.errors import ResultError, UsageError
from repoeval_bench.plugins.logs.import_log import import_run
from support.runs import write_rows

N = 200


def ranked(query, rank, system, **named):
    """A ranking of ten chunks, the relevant one at `rank`."""
    ids = [f"{query}-other{i}" for i in range(9)]
    ids.insert(rank - 1, f"{query}-gold")
    topk = [{"rank": i, "chunk_id": c, "score": -float(i)} for i, c in enumerate(ids, start=1)]
    return log_row(query, topk, system=system, **named)


def conversation(i):
    return f"c{i // 5}"


def ranks(seed, shift):
    """Ranks that resemble each other within a conversation."""
    rng = np.random.default_rng(seed)
    shared = rng.integers(1, 8, N // 5).repeat(5)
    return np.clip(shared + rng.integers(-1, 2, N) + shift, 1, 10).tolist()


@pytest.fixture
def two(tmp_path):
    """Two systems; the second one's log lacks query q7. Only the logs name the conversations."""

    def imported(system, shift, *, without=(), gold_names=False, named=conversation, repository=None):
        gold = [
            {"query_id": f"q{i}", "chunk_id": f"q{i}-gold"}
            | ({"conversation": conversation(i)} if gold_names else {})
            | ({"repository": repository(i)} if repository else {})
            for i in range(N)
        ]
        log = [
            ranked(f"q{i}", rank, system, **({"conversation": named(i)} if named else {}))
            for i, rank in enumerate(ranks(1 if shift else 2, shift))
            if i not in without
        ]
        return import_run(
            write_rows(tmp_path / f"{system}.jsonl", log),
            write_rows(tmp_path / "gold.jsonl", gold),
            tmp_path / "results",
            measures=("mrr", "ndcg@10"),
            created="2026-01-01",
        )

    return imported


def mirrored(a, b):
    """`compare A B` beside `compare B A`, measure by measure: what must agree, as pairs."""
    for one, other in zip(compare([a, b]), compare([b, a]), strict=True):
        assert one.measure == other.measure
        yield (
            (one.p_adjusted, one.clustered_by, one.n_clusters),
            (other.p_adjusted, other.clustered_by, other.n_clusters),
        )
        yield one.ci, (-other.ci[1], -other.ci[0])
        yield one.verdict, other.verdict.reversed()


@pytest.mark.parametrize("gold_names", [False, True])
def test_a_log_that_lacks_a_query_keeps_its_clusters_and_the_order_of_arguments_says_nothing(two, gold_names):
    """The query scores 0 in its own cluster; p, mirrored interval and verdict are the same from both sides."""
    whole, lacking = two("whole", 0, gold_names=gold_names), two("lacking", 2, without={7}, gold_names=gold_names)
    assert lacking.counts.queries_not_in_log == 1
    assert lacking.scores.by_query("mrr")["q7"] == 0
    (first, *_) = compare([whole, lacking])
    assert (first.clustered_by, first.n_clusters) == ("conversation", N // 5)
    for ours, theirs in mirrored(whole, lacking):
        assert ours == theirs


def test_a_run_that_knows_no_clusters_takes_the_others(two):
    """What one log says of the benchmark's queries holds for both runs."""
    for ours, theirs in mirrored(two("named", 0), two("silent", 2, named=None)):
        assert ours == theirs


def test_runs_that_disagree_about_a_cluster_are_refused_in_one_sentence(two):
    a, b = two("a", 0), two("b", 2, named=lambda i: "c9" if i == 7 else conversation(i))
    with pytest.raises(UsageError, match=r"another cluster of 1 query \(such as q7: c1 against c9\)") as caught:
        compare([a, b])
    assert "\n" not in str(caught.value)


def test_gold_and_log_that_contradict_each_other_are_refused(two):
    with pytest.raises(ResultError, match="conversation of query 'q0' is 'x' after 'c0'"):
        two("a", 0, gold_names=True, named=lambda i: "x" if not i else conversation(i))


def test_a_named_repository_gives_macro_means(two):
    """Eight repositories of 25 queries: the macro mean is theirs."""
    runs = [two(name, shift, repository=lambda i: f"r{i // 25}") for name, shift in (("a", 0), ("b", 2))]
    metrics, values = runs[0].metrics, np.array(list(runs[0].scores.by_query("mrr").values()))
    assert list(metrics.per_repo) == [f"r{i}" for i in range(8)]
    assert metrics.per_repo["r3"]["mrr"] == pytest.approx(values[75:100].mean())
    assert metrics.macro["mrr"] == pytest.approx(np.mean(values.reshape(8, 25).mean(axis=1)))
    assert len(set(runs[0].scores.repos)) == 8


def test_a_repository_of_some_queries_alone_is_refused(two):
    with pytest.raises(ResultError, match=r"199 of 200 queries name no repository \(such as q1\)"):
        two("a", 0, repository=lambda i: None if i else "r")


def test_gold_in_several_files_clusters_by_the_union_of_files(tmp_path):
    """Rows in any order give the same clusters: a and b are linked by q1, c is by itself."""
    rows = [("q0", "r/b.py"), ("q1", "r/a.py"), ("q1", "r/b.py"), ("q2", "r/a.py"), ("q3", "r/c.py")]
    log = [log_row(f"q{i}", [{"rank": 1, "chunk_id": "c", "score": 1.0, "file": "r/a.py"}]) for i in range(4)]
    results = []
    for order in (rows, rows[::-1]):
        gold = write_rows(tmp_path / "gold.jsonl", [{"query_id": query, "file": file} for query, file in order])
        run = import_run(write_rows(tmp_path / "log.jsonl", log), gold, tmp_path / "out", created="2026-01-01")
        results.append(dict(zip(run.scores.query_ids, run.scores.clusters, strict=True)))
    linked = "r/a.py (+1 file)"
    assert results[0] == results[1] == {"q0": linked, "q1": linked, "q2": linked, "q3": "r/c.py"}
