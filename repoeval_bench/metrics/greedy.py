"""Greedy choices of chunks: what a ceiling reads. Each is a lower bound of the best possible."""

from __future__ import annotations

from collections import defaultdict
from heapq import heapify, heappop, heapreplace
from math import fsum
from typing import TYPE_CHECKING

from repoeval_bench.core.places import join

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from repoeval_bench.core.places import Gold
    from repoeval_bench.metrics.context import ChunkPlace
    from repoeval_bench.metrics.reading import Lines


def by_gold(chunks: Mapping[str, ChunkPlace], wanted: Sequence[Gold], lines: Lines) -> list[str]:
    """The chunk ids in the order of most gold that is new per nws, as long as there is any.

    Each gold of `wanted` is worth 1, each of its lines an equal share. `chunks` is chunk_id -> its place.
    """
    worth: dict[Hashable, float] = defaultdict(float)
    for gold in wanted:
        numbers = lines.all_of(gold)
        for number in numbers:
            worth[number] += 1.0 if len(wanted) == 1 else 1.0 / len(numbers)
    every = join(place for gold in wanted for place in gold)
    held = {chunk_id: shared for chunk_id, place in chunks.items() if (shared := lines.shared(place, every))}
    return cover(chunks, held, lines, worth)


def cover(
    chunks: Mapping[str, ChunkPlace],
    held: Mapping[str, AbstractSet[Hashable]],
    lines: Lines,
    worth: Mapping[Hashable, float] | None = None,
) -> list[str]:
    """The chunk ids in the order of most worth that is new per nws, as long as there is any.

    `held` is chunk_id -> what it holds, each worth 1 unless `worth` says otherwise. A chunk costs its header and all
    its non-blank lines. Of equals the earlier by file and lines comes first.
    """
    near = sorted((chunks[chunk_id].file, chunks[chunk_id].lines, chunk_id) for chunk_id in held)
    collected: set[Hashable] = set()
    order: list[str] = []

    def gain(chunk_id: str) -> float:
        new = held[chunk_id] - collected
        # fsum is exact in any order, and a set has none.
        return (len(new) if worth is None else fsum(map(worth.__getitem__, new))) / costs[chunk_id]

    costs = {chunk_id: lines.read(chunks[chunk_id]).cost for _, _, chunk_id in near}
    # A gain only falls as more is collected, so the best by an old gain whose new one is the same is the best of all.
    heap = [(-gain(chunk_id), at, chunk_id) for at, (_, _, chunk_id) in enumerate(near)]
    heapify(heap)
    while heap:
        old, at, chunk_id = heap[0]
        if not old:
            break
        if (now := -gain(chunk_id)) != old:
            heapreplace(heap, (now, at, chunk_id))
            continue
        heappop(heap)
        order.append(chunk_id)
        collected |= held[chunk_id]
    return order
