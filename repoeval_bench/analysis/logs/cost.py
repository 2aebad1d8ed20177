"""What a query takes in time, and what the index took."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from repoeval_bench.analysis.logs.figures import Figure, Section, quantile_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from repoeval_bench.runs.records import IndexCost


def latency(
    times: Mapping[str, Mapping[str, float]],
    clusters: Mapping[str, Hashable],
    *,
    search_only: bool = False,
    reranked: bool = False,
) -> Section:
    """Median and p90 of each step, and of all steps together, with 95 % intervals.

    `times` is query_id -> step -> milliseconds; `clusters` query_id -> what it is resampled with, itself if not there;
    `search_only` says that `retrieve` leaves out what embedding the query took, `reranked` that every query had a
    step `rerank`, whether its time is known or not.
    """
    title = "latency, milliseconds"
    steps = list(dict.fromkeys(step for of_query in times.values() for step in of_query))
    if not steps:
        return Section("latency", title, missing="no row has latency_ms, milliseconds of retrieve and rerank")
    columns = {step: {q: of_query[step] for q, of_query in times.items() if step in of_query} for step in steps}
    if len(steps) > 1:
        columns["together"] = {
            q: sum(of_query.values()) for q, of_query in times.items() if len(of_query) == len(steps)
        }
    figures: list[Figure] = []
    for step, column in columns.items():
        if not column:
            continue
        of = [clusters.get(q, q) for q in column]
        for name, q in (("median", 0.5), ("p90", 0.9)):
            figures.append(quantile_of(f"{step}, {name}", list(column.values()), of, q))
    unset = any(figure.ci is not None and None in figure.ci for figure in figures)
    notes = ["where an end is open, so few queries set none"] if unset else []
    if search_only and "retrieve" in steps:
        notes.append("retrieve is the search alone: what embedding the query takes is not in it")
    untimed = sum("rerank" not in of_query for of_query in times.values()) if reranked else 0
    if untimed:
        notes.append(
            f"what reranking takes is not known of {untimed} of {len(times)} queries: their scores were in the cache"
        )
    return Section("latency", title, tuple(figures), notes=tuple(notes))


def cost(
    index: IndexCost | None, encoded: tuple[int, float] | None, query_tokens: Sequence[int], version: str
) -> Section:
    """Vectors, tokens embedded, size of the index, vectors per second; tokens of a query where they are logged.

    `index` is what the log or the run says of the index `version`, None where it says nothing; `encoded` how many
    vectors were made in how many seconds.
    """
    figures: list[Figure] = []
    notes: list[str] = []
    if index is not None:
        known = (("vectors", index.vectors), ("tokens embedded", index.tokens), ("index bytes", index.bytes))
        figures += [Figure(name, "number", float(n), None, 1, "index") for name, n in known if n is not None]
        if index.vectors and index.bytes:
            figures.append(Figure("bytes per vector", "number", index.bytes / index.vectors, None, 1, "index"))
    if encoded is not None and encoded[0] and encoded[1]:
        figures.append(Figure("vectors per second", "number", encoded[0] / encoded[1], None, encoded[0], "vectors"))
    elif index is not None:
        notes.append("vectors per second are not known: none was made in this run, or no seconds are logged")
    if query_tokens:
        median, p90 = np.quantile(query_tokens, (0.5, 0.9)).tolist()
        figures.append(Figure("tokens of a query, median", "number", median, None, len(query_tokens)))
        figures.append(Figure("tokens of a query, p90", "number", p90, None, len(query_tokens)))
    title = f"cost of index {version}"
    if not figures:
        return Section("cost", title, missing="no row has index (vectors, tokens, bytes, seconds) or query_tokens")
    return Section("cost", title, tuple(figures), notes=tuple(notes))
