"""Random runs and qrels with what breaks implementations: ties, missing queries, short rankings, nothing relevant."""

from __future__ import annotations

import random


def tied_run(seed, *, queries=12, pool=40, levels=4, grades=3):
    """(run, qrels) as dicts. Scores are few small whole numbers over 8, exact in float32, so ties abound.

    Query 0 has one relevant chunk, query 1 none, query 2 is not in the run, query 3 has no judged chunk in its
    ranking, query 4 retrieves a single chunk.
    """
    rng = random.Random(seed)
    ids = [f"r/f{i % 7}.py@{i}" for i in range(pool)]
    run, qrels = {}, {}
    for q in range(queries):
        query = f"q{q}"
        depth = 1 if q == 4 else rng.randint(1, pool)
        run[query] = {d: rng.randrange(levels) / 8 - 0.25 for d in rng.sample(ids, depth)}
        qrels[query] = {d: rng.randint(0, grades) for d in rng.sample(ids, rng.randint(2, 15))}
    qrels["q0"] = dict.fromkeys(ids[:5], 0) | {rng.choice(ids): 1}
    qrels["q1"] = {ids[0]: 0, ids[1]: 0}
    del run["q2"]
    qrels["q3"] = {"elsewhere@1": 2, "elsewhere@2": 1}
    return run, qrels


def in_rank_order(run):
    """The same run as pairs, ordered by (score, id), both descending."""
    return {
        query: [(d, s) for s, d in sorted(((s, d) for d, s in scores.items()), reverse=True)]
        for query, scores in run.items()
    }
