"""Ceilings: scores of a ranker that knows the gold, exact for measures over chunks, else a greedy lower bound."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from heapq import heapify, heappop, heapreplace
from math import fsum
from types import MappingProxyType
from typing import Literal, get_args

import numpy as np

from repoeval_bench.core.spans import Gold
from repoeval_bench.metrics.given import Judgements
from repoeval_bench.metrics.judged_run import ChunkPlace, Context, as_read, look_up, share
from repoeval_bench.metrics.measure import CEILING, SHARE, Measure, parse_measures
from repoeval_bench.metrics.reading import Lines
from repoeval_bench.metrics.scoring import RunScores, score_run

Greed = Literal["lines", "definitions"]
"""The units that a greedy choice of chunks collects."""


def score_ceilings(
    qrels: Judgements,
    measures: Iterable[str | Measure],
    context: Context | None = None,
    *,
    observed: RunScores | None = None,
    excluded: Mapping[str, frozenset[str]] | None = None,
) -> RunScores:
    """Each measure's ceiling for every query; measures without one (diversity, spans) are left out.

    Measures over chunks are scored on all relevant chunks by gain, descending: the best possible. Measures of lines and
    of definitions are scored on a greedy choice among the chunks of the gold's files, raised to `observed`, the scores
    of a run on these qrels. The choice collects gold lines, or definitions, where a part of one counts for its share.
    `excluded` is query_id -> the chunks a query may not see; the caller leaves them out of `qrels`.
    """
    parsed = parse_measures(measures)
    by_chunks = [m for m in parsed if m.definition.ceiling == "relevant"]
    # As pairs: a mapping is ranked in float32, in which two gains could be equal.
    by_gain = {q: sorted(gains.items(), key=lambda entry: entry[::-1], reverse=True) for q, gains in qrels.items()}
    best = score_run(by_gain, qrels, by_chunks)
    values = dict(best.values)
    for greed in get_args(Greed):
        by_greed = [m for m in parsed if m.definition.ceiling == greed]
        if not by_greed:
            continue
        greedy_run = _greedy_run(qrels, context or Context(), excluded or {}, greed)
        for name, ceiling in score_run(greedy_run, qrels, by_greed, context).values.items():
            # The choice is a lower bound of the best possible: raised, no score is above its ceiling. So two runs over
            # the same chunks may have slightly different ceilings.
            seen = observed.values.get(name) if observed else None
            values[name] = ceiling if seen is None else np.maximum(ceiling, seen)
    order = [str(measure) for measure in parsed if str(measure) in values]
    return replace(best, values=MappingProxyType({name: values[name] for name in order}))


def with_ceiling(scores: RunScores, ceilings: RunScores, measure: str) -> RunScores:
    """Add two columns to the scores, `MEASURE_ceiling` and `MEASURE_share`, so that they can be compared too.

    A query's share is its score over its ceiling; 0 where both are 0.
    """
    # The mean of these shares differs from the mean score over the mean ceiling, which tables print.
    if measure not in scores.values or measure not in ceilings.values:
        return scores
    score, ceiling = scores.values[measure], ceilings.values[measure]
    added = {measure + CEILING: ceiling, measure + SHARE: share(score, ceiling)}
    return replace(scores, values=MappingProxyType({**scores.values, **added}))


def ideal_rankings(
    qrels: Judgements, context: Context, excluded: Mapping[str, frozenset[str]] | None = None
) -> dict[str, list[str]]:
    """Return query_id -> its relevant chunks, best first: by gain, and equal gains as in the greedy choice of lines."""
    order = {}
    greedy_run = _greedy_run(qrels, context, excluded or {})
    for query_id, gains in qrels.items():
        positions = {chunk_id: i for i, (chunk_id, _) in enumerate(greedy_run[query_id])}
        order[query_id] = sorted(gains, key=lambda name: (-gains[name], positions.get(name, len(positions))))
    return order


def _greedy_run(
    qrels: Judgements, context: Context, excluded: Mapping[str, frozenset[str]], greed: Greed = "lines"
) -> dict[str, list[tuple[str, float]]]:
    lines = Lines.of(context.line_nws or {})
    by_file: dict[str, dict[str, ChunkPlace]] = defaultdict(dict)
    for chunk_id, location in (context.places or {}).items():
        by_file[location.file][chunk_id] = location

    def near(query_id: str, files: Iterable[str]) -> dict[str, ChunkPlace]:
        return {
            chunk_id: as_read(context, query_id, chunk_id, location)
            for file in dict.fromkeys(files)
            for chunk_id, location in by_file[file].items()
            if chunk_id not in excluded.get(query_id, ())
        }

    run = {}
    for query_id in qrels:
        if greed == "definitions":
            golds = look_up("definitions", context.definitions, query_id, "query")
        else:
            golds = (look_up("gold", context.gold, query_id, "query"),)
        order = by_gold(near(query_id, (location.file for gold in golds for location in gold)), golds, lines)
        run[query_id] = [(chunk_id, 0.0) for chunk_id in order]
    return run


def by_gold(chunks: Mapping[str, ChunkPlace], golds: Sequence[Gold], lines: Lines) -> list[str]:
    """Order chunk ids greedily: next comes the chunk with the most new gold per nws, until none has any.

    Each gold of `golds` is worth 1, each of its lines an equal share. `chunks` is chunk_id -> its place. A chunk costs
    the nws (non-whitespace characters) of its header and lines. Equal chunks come by file, then lines.
    """
    worth: dict[int, float] = defaultdict(float)
    for gold in golds:
        numbers = lines.all_of(gold)
        for number in numbers:
            worth[number] += 1.0 if len(golds) == 1 else 1.0 / len(numbers)
    low, high = min(worth, default=0), max(worth, default=-1)
    contents: dict[str, set[int]] = {}
    for chunk_id, location in chunks.items():
        of_chunk = lines.numbers(location)
        # Most chunks of a file are above or below the gold.
        if of_chunk.start <= high and low < of_chunk.stop and (held := worth.keys() & of_chunk):
            contents[chunk_id] = held
    near = sorted((chunks[chunk_id].file, chunks[chunk_id].lines, chunk_id) for chunk_id in contents)
    collected: set[int] = set()
    order: list[str] = []

    def gain(chunk_id: str) -> float:
        new = contents[chunk_id] - collected
        # fsum is exact in any order, and a set has none.
        return fsum(map(worth.__getitem__, new)) / costs[chunk_id]

    costs = {chunk_id: lines.read(chunks[chunk_id]).cost for _, _, chunk_id in near}
    # A gain only falls as more is collected. So if the best by the old gains keeps its gain, it is the best of all.
    heap = [(-gain(chunk_id), position, chunk_id) for position, (_, _, chunk_id) in enumerate(near)]
    heapify(heap)
    while heap:
        old, position, chunk_id = heap[0]
        if not old:
            break
        if (now := -gain(chunk_id)) != old:
            heapreplace(heap, (now, position, chunk_id))
            continue
        heappop(heap)
        order.append(chunk_id)
        collected |= contents[chunk_id]
    return order
