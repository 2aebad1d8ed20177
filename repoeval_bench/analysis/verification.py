"""Compare the values of a stored run with a recomputation: which differ, and which were only copied."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from repoeval_bench.analysis.statistics import mean_intervals
from repoeval_bench.core.spec import short_hash
from repoeval_bench.retrieval.ranking import differing_ranks
from repoeval_bench.runs.inspection import CHUNKS, QUERIES, SOURCES, ChunksRow, QueryGoldRow, SourceRow
from repoeval_bench.runs.query_scores import QueryScores
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

_TOKENS = {
    *(f"{what}_{fact}" for what in ("queries", "chunks") for fact in ("truncated", "tokens", "tokens_lost")),
    *("query_tokens", "truncated", "chunk_tokens", "read", "index"),
}
_PAIRS = {"pairs", "pairs_truncated"}
_AS_STORED = {"created", "code", "versions", "source"}

_TOLERANCE = 1e-9
"""Relative and absolute: another processor may sum in another order. Values below 1e-9 count as 0."""


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
    taken_over |= _PAIRS if remade.manifest.config and remade.manifest.config.retriever_identity else set()
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


def _contents(run: RunView, taken_over: Collection[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (file, value's name -> value) of every file that can be computed again, and the intervals."""
    yield MANIFEST, _flat(run.manifest.as_json(), taken_over)
    yield METRICS, _flat(run.metrics.as_json(), taken_over)
    yield PER_QUERY, _keyed(((row.query_id, row.as_json()) for row in run.query_rows()), taken_over)
    yield QRELS, _lines(run.text(QRELS))
    yield RETRIEVED, _keyed(((row.query_id, row.as_json()) for row in run.log_rows()), taken_over)
    models: tuple[tuple[str, type[Record], Callable[[Any], str]], ...] = (
        (SOURCES, SourceRow, lambda row: f"{row.repo}/{row.path}"),
        (CHUNKS, ChunksRow, lambda row: f"{row.file}{f' of {row.query_id}' if row.query_id else ''}"),
        (QUERIES, QueryGoldRow, lambda row: row.query_id),
    )
    for name, model, key in models:
        yield name, _keyed(((key(row), row.as_json()) for row in run.rows(name, model)), taken_over)
    yield INTERVALS, _intervals(run)


def _lines(text: str) -> dict[str, Any]:
    """`query chunk` -> the whole line of a TREC file, fields that no reader uses included.

    The hash of the whole text is added, so that a change of order or blanks is noticed too.
    """
    values = _keyed((" ".join(line.split()[:3:2]), {"line": line}) for line in text.splitlines())
    values["text as a whole"] = short_hash(text)
    return values


def _intervals(run: RunView) -> dict[str, Any]:
    """Measure -> ends of the 95 % interval of each mean."""
    scores = QueryScores.from_rows(run.query_rows())
    measures = list(scores.values)
    values: dict[str, Any] = {}
    for over in ("micro", "macro"):
        _, ends = mean_intervals(scores.table(measures), scores.clusters, scores.repos, over)
        values |= _flat(
            {f"{over} {measure}": ends_of_measure for measure, ends_of_measure in zip(measures, ends, strict=True)}, ()
        )
    return values


def _keyed(rows: Iterable[tuple[str, Mapping[str, Any]]], taken_over: Collection[str] = ()) -> dict[str, Any]:
    """The values of all rows under their keys, and their order; a second row of a key is kept too."""
    values: dict[str, Any] = {}
    seen: dict[str, None] = {}
    for key, row in rows:
        name = key
        while name in seen:
            name += " (again)"
        seen[name] = None
        values |= _flat(row, taken_over, f"{name}: ")
    values["order of rows"] = short_hash("\n".join(seen))
    return values


def _flat(value: Mapping[str, Any], taken_over: Collection[str], prefix: str = "") -> dict[str, Any]:
    """Plain values by their path, without those that are taken over from the folder."""
    values: dict[str, Any] = {}
    for key, item in value.items():
        if key in taken_over or f"{prefix}{key}" == "index.seconds":
            continue
        if isinstance(item, list | tuple):
            item = {str(index): part for index, part in enumerate(item)}  # noqa: PLW2901 - a list is a record of places
        if isinstance(item, dict):
            values |= _flat(item, taken_over, f"{prefix}{key}.")
        else:
            values[prefix + key] = item
    return values


def _differences(file: str, claimed: Mapping[str, Any], computed: Mapping[str, Any]) -> Iterator[Difference]:
    for value in dict.fromkeys((*claimed, *computed)):
        ours, theirs = computed.get(value), claimed.get(value)
        if value in claimed and value in computed and _same(theirs, ours):
            continue
        yield _difference(file, value, theirs, ours)


def _difference(file: str, value: str, claimed: Any, computed: Any) -> Difference:
    return Difference(file=file, value=value, claimed=claimed, computed=computed)


def _same(claimed: Any, computed: Any) -> bool:
    if isinstance(claimed, float | int) and isinstance(computed, float | int):
        if isinstance(claimed, bool) or isinstance(computed, bool) or claimed == computed == 0:
            return repr(claimed) == repr(computed)  # true is not 1, and -0.0 is printed with its sign
        return math.isclose(claimed, computed, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
    return bool(claimed == computed)
