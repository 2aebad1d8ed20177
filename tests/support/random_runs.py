"""Random runs and qrels with what breaks implementations: ties, missing queries, short rankings, nothing relevant."""

import random

from repoeval_bench.core.spans import LineSpan, Place
from repoeval_bench.metrics import ChunkPlace, Context


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


def random_lines(seed):
    """(context, run): chunks, golds and rankings over three files with blank lines, headers and overlapping places.

    A gold has up to four places in any of the files. One of them has none.
    """
    rng = random.Random(seed)
    nws = {f: [rng.choice([0, 0, 5, 20, 40, 90]) for _ in range(60)] for f in "abc"}

    def place(kind, longest, *header):
        start = rng.randrange(55)
        return kind(rng.choice("abc"), LineSpan(start, min(60, start + rng.randint(1, longest))), *header)

    places = {f"c{i}": place(ChunkPlace, 15, rng.choice([0, 0, 13])) for i in range(25)}
    gold = {f"q{q}": tuple(place(Place, 10) for _ in range(rng.randint(1, 4))) for q in range(6)} | {"q6": ()}
    run = {q: [(c, 0.0) for c in rng.sample(sorted(places), rng.randint(0, 25))] for q in gold}
    return Context(places=places, gold=gold, line_nws=nws), run


def plain(place):
    """A place as (file, start, end), with the header's nws where it is a chunk's."""
    ends = place.file, place.lines.start, place.lines.end
    return (*ends, place.header_nws) if isinstance(place, ChunkPlace) else ends
