"""Runs and judgements in the shapes that people have: mappings, TREC files, data frames, and records of ir_measures.

Any other shape is a MetricError.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from numbers import Real
from pathlib import Path, PurePath
from typing import Any

from numpy import float64

from repoeval_bench.core.errors import MetricError
from repoeval_bench.core.numbers import EXACT
from repoeval_bench.core.run import Run

OneRanking = Sequence[tuple[str, float]] | Mapping[str, float]
"""(chunk_id, score) pairs in rank order, or chunk_id -> score, which is ranked by `trec_order`."""

Rankings = Mapping[str, OneRanking]
"""query_id -> ranking."""

Judgements = Mapping[str, Mapping[str, float]]
"""query_id -> chunk_id -> gain: `core.run.Qrels`, read-only."""

_A_RANKING = "a ranking is pairs (chunk_id, score), best first, or a mapping chunk_id -> score"

_GIVE = {
    "run": "query_id -> ranking, the path of a TREC run, or a data frame or records with query_id, doc_id and score",
    "qrels": "query_id -> chunk_id -> gain, the path of qrels, or a data frame or records with query_id, doc_id and "
    "relevance",
}

# The names of the columns of a data frame, or of the attributes of a record; the first that is there is read.
_COLUMNS = {
    "run": (("query_id",), ("doc_id", "chunk_id"), ("score",)),
    "qrels": (("query_id",), ("doc_id", "chunk_id"), ("relevance", "gain")),
}

_FLOATS = {float, float64}

# Values that a message quotes; of others it names the type alone.
_PLAIN = (str, int, float, bool, type(None))


def rankings_of(run: Any) -> Rankings:
    """Read a run in any shape; the entries of a ranking are checked where they are scored."""
    if isinstance(run, Run):
        run = run.rankings
    if isinstance(run, str | PurePath):
        from repoeval_bench.runs.trec import read_run

        return read_run(_path(run)).rankings
    return {query_id: _ranking(query_id, ranking) for query_id, ranking in _by_query("run", run).items()}


def judgements_of(qrels: Any) -> Judgements:
    """Read judgements in any shape. Files, data frames and records may have grades below 0: these are not relevant."""
    if isinstance(qrels, str | PurePath):
        from repoeval_bench.runs.trec import read_qrels

        return read_qrels(_path(qrels))
    by_query = _by_query("qrels", qrels)
    for query_id, gains in by_query.items():
        if not isinstance(gains, Mapping):
            raise MetricError(f"query {query_id!r}: its judgements are {kind_of(gains)}; give chunk_id -> gain")
    return by_query


def check_entries(query_id: str, what: str, ids: Iterable[Any], numbers: Collection[Any]) -> None:
    """Raise a MetricError unless the ids are texts, their scores or gains are numbers, and no score is NaN."""
    # Millions of rankings pass here: joining is the quickest way to learn that all ids are texts.
    try:
        "".join(ids)
    except TypeError:
        wrong = next(chunk_id for chunk_id in ids if not isinstance(chunk_id, str))
        raise MetricError(
            f"query {query_id!r}: ids are text; got {_shown(wrong)}; convert the ids of run and qrels"
        ) from None
    kinds = set(map(type, numbers))
    # A sum is NaN if a term is. It is also NaN for inf - inf, so then the terms are checked.
    if kinds <= _FLOATS and not math.isnan(sum(numbers)):
        return
    if kinds == {int} and min(numbers) > -EXACT and max(numbers) < EXACT:
        return
    for chunk_id, number in zip(ids, numbers, strict=True):
        of_chunk = f"query {query_id!r}: the {what} of {chunk_id!r} is"
        if not isinstance(number, Real):
            raise MetricError(f"{of_chunk} {_shown(number)}; {what}s are numbers")
        try:
            value = float(number)
        except OverflowError:
            raise MetricError(f"{of_chunk} beyond 1e308; give smaller numbers") from None
        if math.isnan(value):
            raise MetricError(f"{of_chunk} NaN; {what}s are numbers")


def _path(text: str | PurePath) -> Path:
    if "\0" in str(text):
        raise MetricError(f"{str(text)!r} is not a path; give the path of a TREC file")
    return Path(text)


def _ranking(query_id: str, ranking: Any) -> Any:
    """Return a mapping as it is, and any other ranking as a sequence of pairs."""
    if isinstance(ranking, Mapping):
        return ranking
    # The view of a mapping's items is ordered, other sets are not.
    unordered = isinstance(ranking, AbstractSet) and not hasattr(ranking, "mapping")
    no_pairs = isinstance(ranking, str | bytes) or not isinstance(ranking, Iterable) or hasattr(ranking, "columns")
    if unordered or no_pairs:
        raise MetricError(f"query {query_id!r}: {_A_RANKING}; got {kind_of(ranking)}")
    pairs = ranking if isinstance(ranking, tuple | list) else list(ranking)
    if not set(map(type, pairs)) <= {tuple, list} or not set(map(len, pairs)) <= {2}:
        for pair in pairs:
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise MetricError(f"query {query_id!r}: {_A_RANKING}; got {kind_of(ranking)} with {_shown(pair)}")
    return pairs


def _by_query(what: str, given: Any) -> dict[str, Any] | Mapping[str, Any]:
    """Return query_id -> what is given for it: a mapping as it is, else the rows of a data frame or of records."""
    if isinstance(given, Mapping):
        for query_id in given:
            if not isinstance(query_id, str):
                raise MetricError(
                    f"query ids are text; the {what} has {_shown(query_id)}; convert those of run and qrels"
                )
        return given
    results: dict[str, dict[str, Any]] = {}
    for query_id, doc_id, number in _rows(what, given):
        if wrong := [given_id for given_id in (query_id, doc_id) if not isinstance(given_id, str)]:
            raise MetricError(f"ids are text; the {what} has {_shown(wrong[0])}; convert the ids of run and qrels")
        of_query = results.setdefault(query_id, {})
        if doc_id in of_query:
            raise MetricError(f"query {query_id!r}: the {what} has {doc_id!r} twice; keep one row")
        of_query[doc_id] = 0.0 if what == "qrels" and isinstance(number, Real) and number < 0 else number
    if not results:
        raise MetricError(f"the {what} has no row; give {_GIVE[what]}")
    return results


def _rows(what: str, given: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Yield (query id, id, score or gain) of each row of a data frame, or of each record."""
    if hasattr(type(given), "columns"):
        if not hasattr(given, "__len__"):  # a lazy frame has no rows yet, and polars warns where its columns are read
            raise MetricError(f"the {what} is {kind_of(given)}; collect it, or give {_GIVE[what]}")
        known = [name for name in given.columns if isinstance(name, str)]
        names = [next((name for name in names if known.count(name) == 1), None) for names in _COLUMNS[what]]
        if None in names:
            raise MetricError(f"the {what} has the columns {', '.join(known)}; give {_GIVE[what]}")
        yield from zip(*(list(given[name]) for name in names), strict=True)
        return
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise MetricError(f"the {what} is {kind_of(given)}; give {_GIVE[what]}")
    for record in given:
        values = [next((getattr(record, n) for n in names if hasattr(record, n)), None) for names in _COLUMNS[what]]
        if None in values[:2] or not any(hasattr(record, name) for name in _COLUMNS[what][2]):
            raise MetricError(f"the {what} is {kind_of(given)} with {_shown(record)}; give {_GIVE[what]}")
        yield values[0], values[1], values[2]


def kind_of(value: Any) -> str:
    """Name the type of a value, with its article."""
    name = type(value).__name__
    return f"an {name}" if name[:1] in "aeiouAEIOU" else f"a {name}"


def _shown(value: Any) -> str:
    return f"{value!r} ({type(value).__name__})" if isinstance(value, _PLAIN) else kind_of(value)
