"""Compare the values of a stored run with a recomputation: which differ, and which were only copied."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from repoeval_bench.analysis.statistics import mean_intervals
from repoeval_bench.core.spec import short_hash
from repoeval_bench.retrieval.ranking import differing_ranks
from repoeval_bench.runs.inspection import CHUNKS, QUERIES, SOURCES, ChunksRow, QueryGoldRow, SourceRow
from repoeval_bench.runs.query_scores import SAME, QueryScores
from repoeval_bench.runs.records import MANIFEST, METRICS, PER_QUERY, QRELS, RETRIEVED, Record

if TYPE_CHECKING:
    from repoeval_bench.analysis.records import Interval
    from repoeval_bench.core.run import Ranking
    from repoeval_bench.runs.view import Replay, RunView

INTERVALS = "intervals"
"""Stands where a difference has its file: intervals are not stored but computed from per_query.jsonl.gz."""

ALWAYS_AS_STORED = ("timings.jsonl", "versions, commit and time", "where the data was fetched", "seconds of the index")
"""Values that running again cannot check."""

_TEXTS_OF_A_MODEL = (
    "what a model was asked and wrote, which tasks have tests that can judge, and whether they passed "
    "(completions.jsonl, and completion in manifest.json)"
)
_TOKENS_OF_A_MODEL = "tokens, truncation and what the model reads of a query"
_PAIRS_OF_A_MODEL = "how many pairs a model read, and how many were truncated"

_Path = tuple[str | int, ...]
"""A file, or the key of a row, and the names that lead to a value; the places of a list are numbers."""

_TOKENS: set[_Path] = {
    *(
        (file, "counts", f"{what}_{fact}")
        for file in (MANIFEST, METRICS)
        for what in ("queries", "chunks")
        for fact in ("truncated", "tokens", "tokens_lost")
    ),
    *((MANIFEST, "index"), (METRICS, "chunk_tokens"), (RETRIEVED, "query_tokens"), (QUERIES, "read")),
    *((PER_QUERY, "facts", "query_tokens"), (PER_QUERY, "facts", "truncated")),
}
_PAIRS: set[_Path] = {(file, "counts", name) for file in (MANIFEST, METRICS) for name in ("pairs", "pairs_truncated")}
_AS_STORED: set[_Path] = {
    *((MANIFEST, "created"), (MANIFEST, "code"), (MANIFEST, "versions"), (MANIFEST, "index", "seconds")),
    *((MANIFEST, "dataset", "source"), (METRICS, "dataset", "source")),
}

TOLERANCE = SAME / 4
"""Another processor may sum in another order. Two runs that hold are then the same to each test, which adds up to four
such errors."""

_OF_ENDS = 1e-9
"""Tolerance for the ends of intervals, which divide such errors by small weights and are not stored."""

_OF_LARGE = 1e-15
"""Relative tolerance, for numbers so large that their last bits exceed the absolute one."""


class RankingStatus(StrEnum):
    """The origin of a ranking: computed from the request, or as stored with the run."""

    RECOMPUTED = "recomputed"
    AS_STORED = "as stored"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A value of a file that is not what was computed; None where one of the two has no such value."""

    file: str
    value: str
    claimed: Any
    computed: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """The values of a run that were computed again. `compared` is file -> number of values.

    `mean` is the computed headline mean of the protocol's first measure, or the run's first, `ci` its 95 % interval.
    Both are None if the data differ, because nothing was computed then. `ranking` says whether the ranking was computed
    too, `reason` why not. Two scores count as the same within `tolerance`, and `moved` is the largest difference at one
    rank. `as_stored` names the values that were copied from the folder.
    """

    run_id: str
    data: str
    differences: tuple[Difference, ...]
    compared: Mapping[str, int]
    measure: str | None = None
    mean: float | None = None
    ci: Interval = None
    ranking: RankingStatus | None = None
    reason: str = ""
    tolerance: float = 0.0
    moved: float = 0.0
    as_stored: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Return whether the folder is what it claims."""
        return not self.differences


def other_data(run: RunView, data: str, fingerprint: str) -> Verification:
    """Return the verification of a run whose data is not here: only its fingerprint is compared."""
    config = run.manifest.config
    claimed = None if config is None else config.fingerprint
    other = _difference(MANIFEST, "dataset.fingerprint", claimed, fingerprint)
    return Verification(run_id=run.run_id, data=data, differences=(other,), compared={MANIFEST: 1})


def compare_replay(run: RunView, again: Replay, data: str) -> Verification:
    """Compare a stored run with its recomputation, value by value."""
    differences = list(_ranking_differences(again))
    remade = again.run
    taken_over = _AS_STORED | (set() if again.counts_tokens else _TOKENS)
    # Which pairs a model reads follows from a first stage that may differ in its last places.
    reads_pairs = bool(remade.manifest.config and remade.manifest.config.retriever_identity)
    taken_over |= _PAIRS if reads_pairs else set()
    compared = dict[str, int]()
    for (file, claimed), (_, computed) in zip(_contents(run, taken_over), _contents(remade, taken_over), strict=True):
        compared[file] = len(computed)
        differences += _differences(file, claimed, computed)
    measure, metrics, scores = remade.metrics.headline_measure or "", remade.metrics, remade.scores
    if measure not in scores.values:
        measure = next(iter(scores.values))
    (mean,), (ci,) = mean_intervals(scores.table([measure]), scores.clusters, scores.repos, metrics.headline)
    return Verification(
        run_id=run.run_id,
        data=data,
        differences=tuple(differences),
        compared=compared,
        measure=measure,
        mean=mean,
        ci=ci,
        ranking=RankingStatus.AS_STORED if again.computed is None else RankingStatus.RECOMPUTED,
        reason=again.reason,
        tolerance=again.tolerance,
        moved=_moved(again),
        as_stored=(
            *(["the ranking with its scores"] if again.computed is None else []),
            *([] if again.counts_tokens else [_TOKENS_OF_A_MODEL]),
            *([_PAIRS_OF_A_MODEL] if reads_pairs else []),
            *([_TEXTS_OF_A_MODEL] if run.manifest.completion else []),
            *ALWAYS_AS_STORED,
        ),
    )


def _ranking_differences(again: Replay) -> Iterator[Difference]:
    """Yield the stored chunks that their query may not see, and the ranks that differ from the computed ranking."""
    for query_id, ids in again.unseen.items():
        for chunk_id in ids:
            yield _difference(RETRIEVED, f"{query_id} {chunk_id}", "ranked", "no chunk that this query sees")
    if again.computed is None:
        return
    for query_id, stored in again.stored.items():
        computed = again.computed[query_id]
        # Queries that a completed run leaves out are in no file of it.
        for index in differing_ranks(stored, computed, again.tolerance) if stored else ():
            claimed, ours = (_ranked_at(ranking, index) for ranking in (stored, computed))
            yield _difference(RETRIEVED, f"{query_id} rank {index + 1} by the request", claimed, ours)


def _moved(again: Replay) -> float:
    """Return the largest difference of two scores at the same rank of a stored and a computed ranking."""
    pairs = ((stored, (again.computed or {}).get(query_id, ())) for query_id, stored in again.stored.items())
    return max((abs(ours - theirs) for both in pairs for (_, ours), (_, theirs) in zip(*both, strict=False)), default=0)


def _ranked_at(ranking: Ranking, index: int) -> str | None:
    return f"{ranking[index][0]} {ranking[index][1]}" if index < len(ranking) else None


def _contents(run: RunView, taken_over: Collection[_Path]) -> Iterator[tuple[str, dict[_Path, Any]]]:
    """Yield (file, path -> value) of every file that can be computed again, and the intervals."""
    for name, record in ((MANIFEST, run.manifest), (METRICS, run.metrics)):
        yield name, _flat(_without(record.as_json(), _names(name, taken_over)), (name,))
    yield PER_QUERY, _keyed(PER_QUERY, ((row.query_id, row.as_json()) for row in run.query_rows()), taken_over)
    yield QRELS, _lines(run.text(QRELS))
    yield RETRIEVED, _keyed(RETRIEVED, ((row.query_id, row.as_json()) for row in run.log_rows()), taken_over)
    models: tuple[tuple[str, type[Record], Callable[[Any], str]], ...] = (
        (SOURCES, SourceRow, lambda row: f"{row.repo}/{row.path}"),
        (CHUNKS, ChunksRow, lambda row: f"{row.file}{f' of {row.query_id}' if row.query_id else ''}"),
        (QUERIES, QueryGoldRow, lambda row: row.query_id),
    )
    for name, model, key in models:
        yield name, _keyed(name, ((key(row), row.as_json()) for row in run.rows(name, model)), taken_over)
    yield INTERVALS, _intervals(run)


def _lines(text: str) -> dict[_Path, Any]:
    """`query chunk` -> the whole line of a TREC file, fields that no reader uses included.

    The hash of the whole text is added, so that a change of order or blanks is noticed too.
    """
    values = _keyed(QRELS, ((" ".join(line.split()[:3:2]), {"line": line}) for line in text.splitlines()))
    values[QRELS, "text as a whole"] = short_hash(text)
    return values


def _intervals(run: RunView) -> dict[_Path, Any]:
    """Measure -> ends of the 95 % interval of each mean."""
    scores = QueryScores.from_rows(run.query_rows())
    measures = list(scores.values)
    values: dict[_Path, Any] = {}
    for over in ("micro", "macro"):
        _, ends = mean_intervals(scores.table(measures), scores.clusters, scores.repos, over)
        named = {f"{over} {measure}": ends_of_measure for measure, ends_of_measure in zip(measures, ends, strict=True)}
        values |= _flat(named, (INTERVALS,))
    return values


def _keyed(
    file: str, rows: Iterable[tuple[str, dict[str, Any]]], taken_over: Collection[_Path] = ()
) -> dict[_Path, Any]:
    """The values of all rows under their keys, and their order; a second row of a key is kept too."""
    values: dict[_Path, Any] = {}
    seen: dict[str, None] = {}
    left_out = _names(file, taken_over)
    for key, row in rows:
        name = key
        while name in seen:
            name += " (again)"
        seen[name] = None
        values |= _flat(_without(row, left_out), (f"{name}: ",))
    values[file, "order of rows"] = short_hash("\n".join(seen))
    return values


def _names(file: str, paths: Iterable[_Path]) -> list[_Path]:
    """The paths in one file, without its name."""
    return [tuple(names) for name, *names in paths if name == file]


def _without(content: dict[str, Any], paths: Iterable[_Path]) -> dict[str, Any]:
    """Take the values at these paths out of a record, and return it."""
    for *names, last in paths:
        inner: Any = content
        for name in names:
            inner = inner.get(name) or {}
        inner.pop(last, None)
    return content


def _flat(value: Mapping[str, Any] | Sequence[Any], path: _Path) -> dict[_Path, Any]:
    """Plain values by their path, and what is empty."""
    values: dict[_Path, Any] = {}
    for key, part in value.items() if isinstance(value, Mapping) else enumerate(value):
        if isinstance(part, dict | list | tuple) and part:
            values |= _flat(part, (*path, key))
        else:
            values[*path, key] = part
    return values


def _differences(file: str, claimed: Mapping[_Path, Any], computed: Mapping[_Path, Any]) -> Iterator[Difference]:
    tolerance = _OF_ENDS if file == INTERVALS else TOLERANCE
    for path in dict.fromkeys((*claimed, *computed)):
        ours, theirs = computed.get(path), claimed.get(path)
        if path in claimed and path in computed and _same(theirs, ours, tolerance):
            continue
        first, *names = path
        of_row = "" if first == file else str(first)
        yield _difference(file, of_row + ".".join(map(str, names)), theirs, ours)


def _difference(file: str, value: str, claimed: Any, computed: Any) -> Difference:
    return Difference(file=file, value=value, claimed=claimed, computed=computed)


def _same(claimed: Any, computed: Any, tolerance: float) -> bool:
    if isinstance(claimed, float | int) and isinstance(computed, float | int):
        if isinstance(claimed, bool) or isinstance(computed, bool) or claimed == computed == 0:
            return repr(claimed) == repr(computed)  # true is not 1, and -0.0 is printed with its sign
        return math.isclose(claimed, computed, rel_tol=_OF_LARGE, abs_tol=tolerance)
    return bool(claimed == computed)
