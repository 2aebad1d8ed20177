"""What a ranker that knows the gold reaches: over chunks the best possible, else by a greedy choice."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from repoeval_bench.metrics.context import Context, as_read, completion_of, look_up
from repoeval_bench.metrics.greedy import by_gold, cover
from repoeval_bench.metrics.judged import share
from repoeval_bench.metrics.measure import parse_measures
from repoeval_bench.metrics.reading import Lines
from repoeval_bench.metrics.scoring import score_run
from repoeval_bench.metrics.sources import Sources
from repoeval_bench.metrics.supplies import grams_held, identifiers_held

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from repoeval_bench.core.places import Gold
    from repoeval_bench.metrics.context import ChunkPlace
    from repoeval_bench.metrics.judged import Judgements
    from repoeval_bench.metrics.measure import Measure
    from repoeval_bench.metrics.scoring import RunScores

Greed = Literal["lines", "definitions", "identifiers", "ngrams"]
"""What a greedy choice of chunks collects."""

_SUPPLIES = {"identifiers": identifiers_held, "ngrams": grams_held}

CEILING, SHARE = "_ceiling", "_share"
"""What ends the name of a column made by `with_ceiling`."""


def score_ceilings(
    qrels: Judgements,
    measures: Iterable[str | Measure],
    context: Context | None = None,
    *,
    observed: RunScores | None = None,
    excluded: Mapping[str, frozenset[str]] | None = None,
) -> RunScores:
    """Each measure's ceiling for every query; measures without one (diversity, spans) are left out.

    Measures over chunks are scored on all relevant chunks by gain, descending: the best possible. Line measures are
    scored on the greedy choice of gold lines (measures of definitions on that of definitions, a part of one for its
    share) among the chunks of the gold's files, proxies of completion on that of the identifiers or n-grams that the
    prompt lacks among all chunks that the query sees. That is a lower bound of the best possible, and raised to
    what was `observed` (scores of a run on these qrels), so that no score is more than its ceiling; hence two runs over
    the same chunks may state slightly different ones. N-grams are counted, not bits, so that of `ngram_bits` may fall
    as the budget grows. `excluded` is query_id -> the chunks a query may not see; qrels
    without them are given by the caller.
    """
    parsed = parse_measures(measures)
    by_chunks = [m for m in parsed if m.definition.ceiling == "relevant"]
    best = score_run(qrels, qrels, by_chunks)
    values = dict(best.values)
    for wanted in get_args(Greed):
        by_greed = [m for m in parsed if m.definition.ceiling == wanted]
        if not by_greed:
            continue
        chosen = _greedy_run(qrels, context or Context(), excluded or {}, wanted)
        for name, ceiling in score_run(chosen, qrels, by_greed, context).values.items():
            seen = observed.values.get(name) if observed else None
            values[name] = ceiling if seen is None else np.maximum(ceiling, seen)
    order = [str(measure) for measure in parsed if str(measure) in values]
    return replace(best, values=MappingProxyType({name: values[name] for name in order}))


def with_ceiling(scores: RunScores, ceilings: RunScores, measure: str) -> RunScores:
    """The scores with two columns more, `MEASURE_ceiling` and `MEASURE_share`, so that they can be compared too.

    A query's share is its score over its ceiling; 0 where the ceiling is 0, as the score is. The mean of
    these is not the mean score over the mean ceiling that is under tables.
    """
    if measure not in scores.values or measure not in ceilings.values:
        return scores
    score, ceiling = scores.values[measure], ceilings.values[measure]
    added = {measure + CEILING: ceiling, measure + SHARE: share(score, ceiling)}
    return replace(scores, values=MappingProxyType({**scores.values, **added}))


def ideal_rankings(
    qrels: Judgements, context: Context, excluded: Mapping[str, frozenset[str]] | None = None
) -> dict[str, list[str]]:
    """query_id -> its relevant chunks in the best order: by gain, of equals as the greedy choice of lines has them."""
    order = {}
    greedy_run = _greedy_run(qrels, context, excluded or {})
    for query_id, gains in qrels.items():
        place = {chunk_id: i for i, (chunk_id, _) in enumerate(greedy_run[query_id])}
        order[query_id] = sorted(gains, key=lambda chunk_id: (-gains[chunk_id], place.get(chunk_id, len(place))))
    return order


def _greedy_run(
    qrels: Judgements, context: Context, excluded: Mapping[str, frozenset[str]], wanted: Greed = "lines"
) -> dict[str, list[tuple[str, float]]]:
    lines = Lines.of(context.line_nws or {})
    sources = Sources.of(context.sources or {})
    by_file: dict[str, dict[str, ChunkPlace]] = defaultdict(dict)
    for chunk_id, place in (context.places or {}).items():
        by_file[place.file][chunk_id] = place

    def near(query_id: str, files: Iterable[str]) -> dict[str, ChunkPlace]:
        hidden = excluded.get(query_id, ())
        held = (by_file[file].items() for file in dict.fromkeys(files))
        return {
            chunk_id: as_read(context, query_id, chunk_id, place)
            for items in held
            for chunk_id, place in items
            if chunk_id not in hidden
        }

    run = {}
    for query_id in qrels:
        if wanted in _SUPPLIES:
            completion = completion_of(context, query_id)
            chunks = near(query_id, completion.seen())
            order = cover(chunks, _SUPPLIES[wanted](chunks, completion, sources), lines)
        else:
            golds = _golds(context, query_id, wanted)
            order = by_gold(near(query_id, (place.file for gold in golds for place in gold)), golds, lines)
        run[query_id] = [(chunk_id, 0.0) for chunk_id in order]
    return run


def _golds(context: Context, query_id: str, wanted: Greed) -> tuple[Gold, ...]:
    if wanted == "definitions":
        return tuple(look_up("definitions", context.definitions, query_id, "query"))
    return (look_up("gold", context.gold, query_id, "query"),)
