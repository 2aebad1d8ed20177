"""Runs and judgements in the shapes that people have: mappings, TREC files, and data frames."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from numbers import Real
from pathlib import Path, PurePath
from typing import Any

from numpy import float64

from repoeval_bench.core.errors import MetricError
from repoeval_bench.core.numbers import EXACT
from repoeval_bench.core.run import Run

Rankings = Mapping[str, Sequence[tuple[str, float]] | Mapping[str, float]]
"""query_id -> (chunk_id, score) pairs in rank order, or chunk_id -> score, which is ranked by `trec_order`."""

Judgements = Mapping[str, Mapping[str, float]]
"""query_id -> chunk_id -> gain: `core.run.Qrels`, read-only."""

_FLOATS = {float, float64}


def rankings_of(run: Any) -> Rankings:
    """Read a run in any of these shapes; the entries of a ranking are checked where they are scored."""
    if isinstance(run, Run):
        return run.rankings
    if isinstance(run, str | PurePath):
        from repoeval_bench.runs.trec import read_run

        return read_run(Path(run)).rankings
    if hasattr(run, "columns"):
        return _of_frame(run, "run", ("score",))
    _check_query_ids(run, "run")
    return {
        query_id: ranking if isinstance(ranking, Mapping | Sequence) else tuple(ranking)
        for query_id, ranking in run.items()
    }


def judgements_of(qrels: Any) -> Judgements:
    """Read judgements in any of these shapes. Files and data frames may have grades below 0: these are not relevant."""
    if isinstance(qrels, str | PurePath):
        from repoeval_bench.runs.trec import read_qrels

        return read_qrels(Path(qrels))
    if hasattr(qrels, "columns"):
        rows = _of_frame(qrels, "qrels", ("relevance", "gain"))
        return {
            query_id: {chunk_id: max(gain, 0) for chunk_id, gain in gains.items()} for query_id, gains in rows.items()
        }
    _check_query_ids(qrels, "qrels")
    judgements: Judgements = qrels
    return judgements


def check_entries(query_id: str, what: str, ids: Iterable[Any], numbers: Collection[Any]) -> None:
    """Raise a MetricError unless the ids are texts, their scores or gains are numbers, and no score is NaN."""
    # Millions of rankings pass here: joining is the quickest way to learn that all ids are texts.
    try:
        "".join(ids)
    except TypeError:
        wrong = next(chunk_id for chunk_id in ids if not isinstance(chunk_id, str))
        raise MetricError(
            f"query {query_id!r}: ids are text; got {wrong!r}; convert the ids of run and qrels"
        ) from None
    kinds = set(map(type, numbers))
    # A sum is NaN if a term is. It is also NaN for inf - inf, so then the terms are checked.
    if kinds <= _FLOATS and not math.isnan(sum(numbers)):
        return
    if kinds == {int} and min(numbers) > -EXACT and max(numbers) < EXACT:
        return
    for chunk_id, number in zip(ids, numbers, strict=True):
        if not isinstance(number, Real) or math.isnan(number):
            raise MetricError(f"query {query_id!r}: the {what} of {chunk_id!r} is {number!r}; {what}s are numbers")


def _check_query_ids(given: Mapping[Any, Any], what: str) -> None:
    for query_id in given:
        if not isinstance(query_id, str):
            raise MetricError(f"query ids are text; the {what} has {query_id!r}; convert those of run and qrels")


def _of_frame(frame: Any, what: str, numbers: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return query_id -> id -> number of the rows of a data frame of pandas or polars."""
    known = list(frame.columns)
    names = [
        next((name for name in some if name in known), None)
        for some in (("query_id",), ("doc_id", "chunk_id"), numbers)
    ]
    if None in names:
        raise MetricError(
            f"the {what} has the columns {', '.join(map(str, known))}; give query_id, doc_id and {numbers[0]}"
        )
    results: dict[str, dict[str, Any]] = {}
    for query_id, doc_id, number in zip(*(frame[name].to_list() for name in names), strict=True):
        of_query = results.setdefault(query_id, {})
        if doc_id in of_query:
            raise MetricError(f"query {query_id!r}: the {what} has {doc_id!r} twice; keep one row")
        of_query[doc_id] = number
    _check_query_ids(results, what)
    return results
