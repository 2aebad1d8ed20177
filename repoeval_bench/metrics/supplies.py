"""What chunks hold of that which a query's ground truth needs and its prompt lacks: what ceilings choose from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from repoeval_bench.core.places import Place
    from repoeval_bench.metrics.context import ChunkPlace, Completion
    from repoeval_bench.metrics.judged import IntArray
    from repoeval_bench.metrics.sources import Sources


def identifiers_held(
    chunks: Mapping[str, ChunkPlace], completion: Completion, sources: Sources
) -> dict[str, frozenset[int]]:
    """chunk_id -> the identifiers that it holds, as numbers; chunks without any are left out."""
    tokens = sources.stream(completion.files).tokens
    at = np.flatnonzero(np.isin(tokens, sources.lacking([completion.task])[completion.task.task_id]))
    return _held(chunks, completion, sources, (at, at, tokens[at]))


def grams_held(chunks: Mapping[str, ChunkPlace], completion: Completion, sources: Sources) -> dict[str, frozenset[int]]:
    """chunk_id -> the n-grams of every length that it holds, as numbers; chunks without any are left out."""
    prompt, grams, n_before = sources.to_write(completion.task)
    found = grams.find(sources.stream(completion.files).tokens)
    pieces, base = [], 0
    for before, (text, shown, here, size) in enumerate(
        zip(grams.text, grams.find(prompt), found, grams.sizes, strict=True)
    ):
        new = np.zeros(size + 1, dtype=np.bool_)  # the last is that of none
        new[text[n_before:]] = True
        new[shown] = new[-1] = False
        at = np.flatnonzero(new[here])
        pieces.append((at - before, at, here[at] + base))
        base += size
    first, last, what = (np.concatenate(each) for each in zip(*pieces, strict=True))
    order = np.argsort(last, kind="stable")
    return _held(chunks, completion, sources, (first[order], last[order], what[order]))


def _held(
    chunks: Mapping[str, ChunkPlace],
    completion: Completion,
    sources: Sources,
    found: tuple[IntArray, IntArray, NDArray[np.integer]],
) -> dict[str, frozenset[int]]:
    """chunk_id -> what it holds whole; `found` are first token, last token and what is there, by last token.

    Lines that say nothing new hold nothing.
    """
    stream = sources.stream(completion.files)

    def tokens(place: Place) -> tuple[int, int]:
        return stream.tokens_of(completion.task.file if place.file == completion.file else place.file, place.lines)

    first, last, what = found
    start, end = tokens(completion.known)
    new = (last < start) | (first >= end)
    first, last, what = first[new], last[new], what[new]
    spans = [tokens(place) for place in chunks.values()]
    edges = np.searchsorted(last, np.array(spans, dtype=np.int64).reshape(-1, 2)).tolist()
    return {
        chunk_id: frozenset(what[low:high][first[low:high] >= start].tolist())
        for chunk_id, (start, _), (low, high) in zip(chunks, spans, edges, strict=True)
        if (first[low:high] >= start).any()
    }
