"""Measures for rankings of which not every chunk was judged, as logs of other systems have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

COVERAGE = {
    "judged@5": "Share of the first 5 that was judged, relevant or not.",
    "judged@10": "Share of the first 10 that was judged, relevant or not.",
}
"""name -> meaning of the measures that say how much was judged, and so not how well a run ranks."""

UNREGISTERED = COVERAGE | {
    "bpref": "Binary preference: how seldom a judged non-relevant chunk is ranked above a relevant one (trec_eval's).",
}
"""name -> meaning. Only imported runs have them: they need judgements of chunks that are not relevant."""


def judged_at(ranking: Sequence[str], judgements: Mapping[str, float], k: int) -> float:
    """Share of the top k that has a judgement of any grade; over what was retrieved if that is fewer, 0 without any."""
    top = ranking[:k]
    return sum(chunk_id in judgements for chunk_id in top) / len(top) if top else 0.0


def bpref(ranking: Sequence[str], judgements: Mapping[str, float]) -> float:
    """Binary preference (Buckley & Voorhees 2004), as trec_eval computes it; unjudged chunks are skipped.

    (1 / R) sum over retrieved relevant of 1 - min(n, R, N) / min(R, N); n are the judged non-relevant ranked higher, R
    and N the judged relevant and non-relevant. 0 without a relevant chunk. A grade below 0 is that of a chunk which was
    in the pool and which nobody judged, so only grade 0 is non-relevant.
    """
    relevant = sum(gain > 0 for gain in judgements.values())
    if not relevant:
        return 0.0
    bound = min(relevant, sum(gain == 0 for gain in judgements.values()))
    above, total = 0, 0.0
    for chunk_id in ranking:
        gain = judgements.get(chunk_id)
        if gain is None or gain < 0:
            continue
        if gain > 0:
            total += 1 - min(above, bound) / bound if above else 1.0
        else:
            above += 1
    return total / relevant
