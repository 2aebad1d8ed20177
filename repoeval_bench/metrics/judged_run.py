"""A run against its judgements: ranks of relevant chunks as flat arrays, and what measures read beside ranks."""

# Only relevant chunks move measures of ranks, so their ranks are stored and not the whole ranking. Memory and time then
# depend on the relevant chunks, not on the depth of the ranking.

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from repoeval_bench.core.errors import MetricError
from repoeval_bench.core.run import in_float32, trec_order
from repoeval_bench.core.source import Chunk
from repoeval_bench.core.spans import Gold, LineSpan, Place, join, without
from repoeval_bench.metrics.given import OneRanking, Rankings, check_entries, judgements_of, rankings_of

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_T = TypeVar("_T")

# Up to this many chunks are looked up one by one; for more, the whole ranking is numbered.
_FEW = 8


@dataclass(frozen=True, slots=True)
class ChunkPlace(Place):
    """A chunk's file and lines, and the non-whitespace characters of the header that is embedded with it."""

    header_nws: int = 0

    def __hash__(self) -> int:
        # Called for hundreds of thousands of places: one call instead of two, and headers hardly distinguish them.
        return hash((self.file, self.lines.start, self.lines.end))

    @classmethod
    def of(cls, chunk: Chunk, file: str | None = None) -> Self:
        """The place of a chunk; the file is `repo/path` unless another name is given."""
        return cls(file or chunk.file, chunk.lines, chunk.added_nws)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenCompletion:
    """The text that was written for a task, and the true one; `names` and `true_names` are the identifiers of both."""

    text: str
    truth: str
    names: frozenset[str]
    true_names: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Context:
    """Inputs by the names that `MeasureDefinition.needs` has; give only what the measures ask for.

    `places`: chunk_id -> its place. `gold`: query_id -> Gold. `line_nws`: file -> non-whitespace characters of each
    line. `definitions`: query_id -> the gold lines of each definition that it needs. `texts`: chunk_id -> text.
    `vectors`: chunk_id -> vector of any norm. `subtopics`: query_id -> chunk_id -> the sub-topics that it covers.
    `written`: query_id -> what a model wrote. `brought`: chunk_id -> the lines that are read if it is a hit; None if
    every hit is read as it is. `hidden`: query_id -> lines that are never read for it.
    """

    places: Mapping[str, ChunkPlace] | None = None
    gold: Mapping[str, Gold] | None = None
    line_nws: Mapping[str, Sequence[int]] | None = None
    definitions: Mapping[str, Sequence[Gold]] | None = None
    texts: Mapping[str, str] | None = None
    vectors: Mapping[str, NDArray[np.floating]] | None = None
    subtopics: Mapping[str, Mapping[str, Collection[Hashable]]] | None = None
    written: Mapping[str, WrittenCompletion] | None = None
    brought: Mapping[str, LineSpan] | None = None
    hidden: Mapping[str, Place] | None = None

    def has(self) -> frozenset[str]:
        """Return the names of the inputs that are given."""
        return frozenset(field.name for field in fields(self) if getattr(self, field.name) is not None)


def as_read(context: Context, query_id: str, chunk_id: str, location: ChunkPlace) -> ChunkPlace:
    """Return the place that is read for a hit: its lines and the lines it brings, but no hidden ones."""
    if context.brought is None:
        return location
    own, wide = location.lines, look_up("brought", context.brought, chunk_id, "chunk")
    start, end = wide.start, wide.end
    hidden = (context.hidden or {}).get(query_id)
    if hidden is not None and hidden.file == location.file:
        if hidden.lines.end <= own.start:
            start = max(start, hidden.lines.end)
        if hidden.lines.start >= own.end:
            end = min(end, hidden.lines.start)
    return ChunkPlace(location.file, LineSpan(start, end), location.header_nws)


def look_up(name: str, table: Mapping[str, _T] | None, key: str, owner: str) -> _T:
    """Return the entry of `key`, or raise a MetricError that names the input and the `owner`, a chunk or a query."""
    try:
        return (table or {})[key]
    except KeyError:
        raise MetricError(f"{name} has no entry for {owner} {key!r}; the context must cover the whole run") from None


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """Relevant chunks of all queries, ordered by (query, rank); three arrays of one length.

    `query` is the query's position, `rank` counts from 1, `gain` is above 0.
    """

    query: IntArray
    rank: IntArray
    gain: FloatArray

    @classmethod
    def ordered(cls, query: IntArray, rank: IntArray, gain: FloatArray) -> Self:
        """Order entries that come in any order."""
        order = np.lexsort((rank, query))  # the last key is the first to sort by
        return cls(query[order], rank[order], gain[order])

    @classmethod
    def ideal(cls, query: IntArray, gain: FloatArray) -> Self:
        """Put relevant chunks into the best order: by gain, descending, ranks counted from 1."""
        order = np.lexsort((-gain, query))
        query = query[order]
        return cls(query, _ordinal(query), gain[order])

    def where(self, keep: NDArray[np.bool_]) -> Self:
        """Select entries by `keep` (bool, one per entry); ranks stay as they are."""
        return type(self)(self.query[keep], self.rank[keep], self.gain[keep])

    def upto(self, k: int | None) -> Self:
        """Select entries at rank k or better; all if k is None."""
        return self if k is None else self.where(self.rank <= k)

    def at_least(self, rel: float | None) -> Self:
        """Select entries whose gain reaches `rel`; all if it is None, as every gain here is above 0."""
        return self if rel is None else self.where(self.gain >= rel)

    def ordinal(self) -> IntArray:
        """Return 1 for a query's first entry, 2 for its second, and so on; int64 (n_entries,)."""
        return _ordinal(self.query)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class JudgedRun:
    """A run's rankings against qrels, one position per query of the qrels.

    `hits` are the relevant chunks that were retrieved, at their ranks; `relevant` are all relevant chunks, in the best
    order. `depth` (int64, (n_queries,)) is how many chunks were retrieved. `unjudged` counts the queries of the run
    that the qrels lack: they are not scored. `missing` counts the queries of the qrels that the run lacks: they score
    0. `rankings` and `context` are for measures that look at more than ranks.
    """

    query_ids: tuple[str, ...]
    depth: IntArray
    hits: Entries
    relevant: Entries
    unjudged: int
    missing: int
    rankings: Rankings | None = None
    context: Context = field(default_factory=Context)
    # Values that several measures share (such as the lines that were read), computed once; never part of a result.
    _memo: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    @property
    def n_queries(self) -> int:
        """Number of queries of the qrels."""
        return len(self.query_ids)

    def total(self, entries: Entries, weights: NDArray[np.floating] | None = None) -> FloatArray:
        """Sum of `weights` (one per entry; None counts entries) for each query: float64 (n_queries,)."""
        return np.bincount(entries.query, weights, minlength=self.n_queries).astype(np.float64, copy=False)

    def n_relevant(self, rel: float | None = None) -> FloatArray:
        """Number of chunks whose gain reaches `rel`, per query: float64 (n_queries,)."""
        return self.total(self.relevant.at_least(rel))

    def ranking(self, query_id: str) -> tuple[str, ...]:
        """The chunk ids retrieved for a query, best first; empty where the run lacks it."""
        return () if self.rankings is None else ranked_ids(self.rankings.get(query_id, ()))

    def places(self, query_id: str, k: int | None = None) -> list[ChunkPlace]:
        """Places of the chunks retrieved for a query, best first, the first k of them."""
        return [look_up("places", self.context.places, i, "chunk") for i in self.ranking(query_id)[:k]]

    def read(self, query_id: str) -> Iterable[ChunkPlace]:
        """Return what is read, in order: the chunks' places, or with `brought` all lines that they bring, each once."""
        places = self.places(query_id)
        if self.context.brought is None:
            return places
        hits = zip(self.ranking(query_id), places, strict=True)
        return each_line_once(as_read(self.context, query_id, *hit) for hit in hits)

    def gold(self, query_id: str) -> Gold:
        """The gold of a query."""
        return look_up("gold", self.context.gold, query_id, "query")

    def per_query(self, value: Callable[[str], float]) -> FloatArray:
        """Return a value of every query, by its id: float64 (n_queries,)."""
        return np.fromiter(map(value, self.query_ids), dtype=np.float64, count=self.n_queries)

    def once(self, key: Hashable, build: Callable[[], _T]) -> _T:
        """Return `build()`, computed once for a `key` and shared by all measures."""
        if key not in self._memo:
            self._memo[key] = build()
        result: _T = self._memo[key]
        return result


def each_line_once(places: Iterable[ChunkPlace]) -> Iterator[ChunkPlace]:
    """Yield each place without lines of earlier ones; a place with no line left is dropped with its header."""
    read: dict[str, Gold] = {}
    for location in places:
        left: Gold = (location,)
        before = read.get(location.file, ())
        for part in before:
            left = without(left, part)
        for index, part in enumerate(join(left)):
            yield ChunkPlace(part.file, part.lines, 0 if index else location.header_nws)
        read[location.file] = join((*before, location))


def share(part: NDArray[np.number], whole: NDArray[np.number]) -> FloatArray:
    """Divide, and give 0 where the whole is 0: float64 (n,)."""
    shares: FloatArray = np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)
    return shares


def discounted(run: JudgedRun, entries: Entries, gains: FloatArray) -> FloatArray:
    """DCG: gains (one per entry), each over log2(rank + 1), summed for each query: float64 (n_queries,)."""
    return run.total(entries, gains / np.log2(entries.rank + 1.0))


def exponential_gain(run: JudgedRun, entries: Entries) -> FloatArray:
    """Return (2^g - 1) / 2^g_max of each entry, g_max the largest gain in its query's qrels: float64 (n_entries,)."""
    largest = np.zeros(run.n_queries)
    np.maximum.at(largest, run.relevant.query, run.relevant.gain)
    top = largest[entries.query]
    return 2.0 ** (entries.gain - top) - 2.0**-top


def judge(run: Any, qrels: Any, context: Context | None = None) -> JudgedRun:
    """Find the ranks of the relevant chunks in a run.

    Both may have any shape that `given` reads. Pairs are taken in their order (position is rank); a mapping
    chunk_id -> score is ranked by `trec_order`. Every query of the qrels is kept. Duplicate ids in a ranking, NaN
    scores, negative or infinite gains, qrels without a query, and a run of other queries are a MetricError.
    """
    rankings, qrels = rankings_of(run), judgements_of(qrels)
    if not qrels:
        raise MetricError("the qrels hold no query; nothing can be scored")
    if rankings and rankings.keys().isdisjoint(qrels):
        raise MetricError(
            f"run and qrels share no query: the run has {next(iter(rankings))!r}, the qrels have "
            f"{next(iter(qrels))!r}; name queries alike in both"
        )
    depth: list[int] = []
    hit_query: list[int] = []
    hit_rank: list[int] = []
    hit_gain: list[float] = []
    query: list[int] = []
    gain: list[float] = []
    for i, (query_id, gains) in enumerate(qrels.items()):
        relevant = _relevant(query_id, gains)
        query.extend([i] * len(relevant))
        gain.extend(relevant.values())
        ranking = rankings.get(query_id, ())
        ranks = _ranks(query_id, ranking, relevant) if ranking else {}
        depth.append(len(ranking))
        hit_query.extend([i] * len(ranks))
        hit_rank.extend(ranks.values())
        hit_gain.extend([relevant[chunk_id] for chunk_id in ranks])
    return JudgedRun(
        query_ids=tuple(qrels),
        depth=_ints(depth),
        hits=Entries.ordered(_ints(hit_query), _ints(hit_rank), np.array(hit_gain, dtype=np.float64)),
        relevant=Entries.ideal(_ints(query), np.array(gain, dtype=np.float64)),
        unjudged=len(rankings.keys() - qrels.keys()),
        missing=len(qrels.keys() - rankings.keys()),
        rankings=rankings,
        context=context or Context(),
    )


def ranked_ids(ranking: OneRanking) -> tuple[str, ...]:
    """Chunk ids, best first: pairs in their order, a mapping by `trec_order`."""
    if isinstance(ranking, Mapping):
        return tuple(trec_order(ranking))
    return tuple([chunk_id for chunk_id, _ in ranking])  # a list is built faster than a generator is run


def _relevant(query_id: str, gains: Mapping[str, float]) -> dict[str, float]:
    check_entries(query_id, "gain", gains, gains.values())
    for chunk_id, gain in gains.items():
        if not 0 <= gain < math.inf:
            raise MetricError(
                f"query {query_id!r}: the gain of {chunk_id!r} is {gain}; gains are finite, and 0 if not relevant"
            )
    return {chunk_id: gain for chunk_id, gain in gains.items() if gain}


def _ranks(query_id: str, ranking: OneRanking, relevant: Mapping[str, float]) -> dict[str, int]:
    """Ranks, from 1, of the relevant chunks that were retrieved."""
    # Millions of rankings pass here, and few chunks of each are relevant: only these are ranked.
    if isinstance(ranking, Mapping):
        check_entries(query_id, "score", ranking, ranking.values())
        retrieved = [chunk_id for chunk_id in relevant if chunk_id in ranking]
        if len(retrieved) <= _FEW:
            return _trec_ranks(ranking, retrieved)
        ids = ranked_ids(ranking)
    else:
        ids, known = _checked_ids(query_id, ranking)
        retrieved = [chunk_id for chunk_id in relevant if chunk_id in known]
        if len(retrieved) <= _FEW:
            return {chunk_id: ids.index(chunk_id) + 1 for chunk_id in retrieved}
    ranks = dict(zip(ids, range(1, len(ids) + 1), strict=True))
    return {chunk_id: ranks[chunk_id] for chunk_id in retrieved}


def _trec_ranks(scores: Mapping[str, float], chunk_ids: Sequence[str]) -> dict[str, int]:
    """Return the ranks, from 1, that these chunks have in `trec_order`."""
    rounded = np.frombuffer(in_float32(scores.values()), np.float32)
    own = np.frombuffer(in_float32([scores[chunk_id] for chunk_id in chunk_ids]), np.float32)
    ascending = np.sort(rounded)
    not_above, below = ascending.searchsorted(own, "right").tolist(), ascending.searchsorted(own).tolist()
    ranks = {}
    for i, chunk_id in enumerate(chunk_ids):
        ranks[chunk_id] = len(scores) - not_above[i] + 1
        if not_above[i] - below[i] > 1:  # ids matter where scores are equal alone
            equal = (rounded == own[i]).tolist()
            ranks[chunk_id] += sum(other > chunk_id for other, is_equal in zip(scores, equal, strict=True) if is_equal)
    return ranks


def _checked_ids(query_id: str, ranking: Sequence[tuple[str, float]]) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the ids in order and as a set."""
    ids, scores = zip(*ranking, strict=True)
    check_entries(query_id, "score", ids, scores)
    known = frozenset(ids)
    if len(known) != len(ids):
        repeated = next(chunk_id for i, chunk_id in enumerate(ids) if chunk_id in ids[:i])
        raise MetricError(f"query {query_id!r}: {repeated!r} is ranked twice; keep one, or recall could pass 1")
    return ids, known


def _ints(values: list[int]) -> IntArray:
    return np.array(values, dtype=np.int64)


def _ordinal(query: IntArray) -> IntArray:
    n = len(query)
    starts = np.flatnonzero(np.diff(query, prepend=-1))
    return np.arange(1, n + 1, dtype=np.int64) - np.repeat(starts, np.diff(starts, append=n))
