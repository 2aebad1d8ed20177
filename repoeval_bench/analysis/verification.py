"""Whether a run folder is what it claims: what follows from data, request and ranking is computed again and compared.

Of the folder only its ranking, the texts that a model wrote and what it says was asked are taken over. Nothing that it
names is run unless it is part of this package, or was allowed by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from repoeval_bench.analysis.statistics import mean_intervals
from repoeval_bench.core.benchmark import Benchmark
from repoeval_bench.core.errors import ResultError, UsageError
from repoeval_bench.core.extras import require
from repoeval_bench.core.json_reader import JsonFaultError, faults_as, read_rows
from repoeval_bench.core.spec import Spec
from repoeval_bench.runs.completion.complete import score_texts
from repoeval_bench.runs.completion.folder import Spent, save
from repoeval_bench.runs.inspection import CHUNKS, QUERIES, SOURCES, ChunksRow, QueryGoldRow, SourceRow
from repoeval_bench.runs.naming import opened
from repoeval_bench.runs.parts import silent
from repoeval_bench.runs.query_scores import QueryScores
from repoeval_bench.runs.records import MANIFEST, METRICS, PER_QUERY, QRELS, RETRIEVED, RUN, Completed, Record
from repoeval_bench.runs.replay import check_allowed, data_of, replay
from repoeval_bench.runs.row_records import COMPLETIONS, CompletionRow
from repoeval_bench.runs.trec import read_qrels, read_run, run_rows

if TYPE_CHECKING:
    from repoeval_bench.analysis.records import Interval
    from repoeval_bench.runs.view import RunView

INTERVALS = "intervals"
"""Said where differences have a file: a run stores no interval, they are computed from per_query.jsonl."""

NOT_COMPUTED = (
    "the ranking itself with its scores (run.trec), which is where the computation starts",
    "tokens, truncation and pairs that a model counts, and which part of a query it reads",
    "timings.jsonl, versions, the commit and the time",
    "of manifest.json and the run log: source, index, first_stage and k_raw",
)
"""What is taken over from a folder as it is."""

NOT_ASKED_AGAIN = (
    "what a model was asked and wrote, which tasks have tests that can judge, and whether they passed "
    "(completions.jsonl, and completion in manifest.json)"
)
"""What is taken over from a completed run too."""

_TOKENS = {
    *(f"{what}_{fact}" for what in ("queries", "chunks") for fact in ("truncated", "tokens", "tokens_lost")),
    *("pairs", "pairs_truncated", "query_tokens", "truncated", "chunk_tokens"),
}
_TAKEN_OVER = {"created", "code", "versions", "index", "first_stage", "k_raw", "source"}

_TOLERANCE = 1e-9
"""Relative and absolute: another processor may sum in another order. Values below 1e-9 are not told from 0."""

_SCORE_TOLERANCE = 1e-6
"""Scores of the log against those of run.trec, which has nine digits and sets ties one float32 step apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A value of a file that is not what was computed; None where one of the two has no such value."""

    file: str
    value: str
    claimed: Any
    computed: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What was computed again of a run. `compared` is file -> number of values.

    `mean` is the headline mean of the protocol's first measure, or the run's first, as it was computed, `ci` its 95 %
    interval; None where nothing was computed, because the data is other data.
    """

    run_id: str
    data: str
    differences: tuple[Difference, ...]
    compared: Mapping[str, int]
    measure: str | None = None
    mean: float | None = None
    ci: Interval = None
    taken_over: tuple[str, ...] = NOT_COMPUTED

    @property
    def holds(self) -> bool:
        """Whether the folder is what it claims."""
        return not self.differences


def verify(
    run: RunView | str | Path,
    source: str = "auto",
    *,
    questions: str | None = None,
    allowed: Collection[str] = (),
    home: Path | None = None,
    notify: Callable[[str], None] = silent,
) -> Verification:
    """Compute qrels, measures, means and intervals of a run again, from its stored ranking and the data of a source.

    `run` is a run, its id or its folder; `questions` the file of your own that it asked. `allowed` are specs of code
    from outside that may run, as the folder names them. A UsageError where it names others, was imported, or the source
    has data of another name; a file that is missing or broken is a ResultError.
    """
    run = opened(run)
    config = check_allowed(run, allowed)
    chosen = data_of(run, source, questions=questions, home=home, notify=notify)
    if chosen.fingerprint != config.fingerprint:
        name = run.manifest.dataset.name
        if chosen.name != name:
            raise UsageError(f"{run.run_id} is of {name}, and --source gives {chosen.name}; name the run's own data")
        other = _difference(MANIFEST, "dataset.fingerprint", config.fingerprint, chosen.fingerprint)
        return Verification(run_id=run.run_id, data=chosen.label, differences=(other,), compared={MANIFEST: 1})
    with TemporaryDirectory() as folder:
        made, unseen = replay(run, chosen, Path(folder), home=home, notify=notify)
        found = [
            _difference(RUN, f"{query_id} {chunk_id}", "ranked", "no chunk that this query sees")
            for query_id, ids in unseen.items()
            for chunk_id in ids
        ]
        if settings := run.manifest.completion:
            made, other_tasks = _completed_again(run, settings, made, chosen, into=Path(folder))
            found += other_tasks
        compared: dict[str, int] = {}
        for (file, claimed), (_, computed) in zip(_contents(run), _contents(made), strict=True):
            compared[file] = len(computed)
            found += _differences(file, claimed, computed)
        measure, metrics, scores = made.metrics.headline_measure or "", made.metrics, made.scores
        if measure not in scores.values:
            measure = next(iter(scores.values))
        (mean,), (ci,) = mean_intervals(scores.table([measure]), scores.clusters, scores.repos, metrics.headline)
    return Verification(
        run_id=run.run_id,
        data=chosen.label,
        differences=tuple(found),
        compared=compared,
        measure=measure,
        mean=mean,
        ci=ci,
        taken_over=(*NOT_COMPUTED, NOT_ASKED_AGAIN) if run.manifest.completion else NOT_COMPUTED,
    )


def _completed_again(
    run: RunView, settings: Completed, made: RunView, benchmark: Benchmark, *, into: Path
) -> tuple[RunView, list[Difference]]:
    """(`made`, which only retrieves, completed with a run's stored texts; a difference for each task without one)."""
    require("complete", "rapidfuzz")
    rows: dict[str, CompletionRow] = {}
    with faults_as(ResultError, run.folder / COMPLETIONS, "complete the run again"):
        for number, row in read_rows(run.folder / COMPLETIONS, CompletionRow):
            if row.query_id in rows:
                raise JsonFaultError(f"{row.query_id!r} appears twice", line=number)
            rows[row.query_id] = row
    tasks = [task.task_id for task in benchmark.tasks]
    found = [_difference(COMPLETIONS, query_id, "completed", None) for query_id in sorted(rows.keys() - set(tasks))]
    found += [_difference(COMPLETIONS, query_id, None, "a task") for query_id in tasks if query_id not in rows]
    kept = [rows[query_id] for query_id in tasks if query_id in rows]
    if not kept:
        raise ResultError(f"{run.folder / COMPLETIONS} has no row of a task; complete the run again")
    scores = score_texts(kept, benchmark)
    again = settings.model_copy(update={"base": made.run_id, "measures": tuple(scores.values)})
    name = Spec.parse(settings.model).target or ""
    nothing = Spent(0.0, 0, {})
    return save(made, again, scores, kept, nothing, name=name, out=into, created=run.manifest.created), found


def _contents(run: RunView) -> Iterator[tuple[str, dict[str, Any]]]:
    """(file, value's name -> value) of every file that can be computed again, and the intervals."""
    yield MANIFEST, _flat({**run.manifest.as_json(), "completion": {}})
    yield METRICS, _flat(run.metrics.as_json())
    yield PER_QUERY, _keyed((row.query_id, row.as_json()) for row in run.query_rows())
    yield QRELS, _judged(run)
    yield RUN, _ranked(run)
    yield RETRIEVED, _keyed((row.query_id, row.as_json()) for row in run.log_rows())
    models: tuple[tuple[str, type[Record], Callable[[Any], str]], ...] = (
        (SOURCES, SourceRow, lambda row: f"{row.repo}/{row.path}"),
        (CHUNKS, ChunksRow, lambda row: f"{row.file}{f' of {row.query_id}' if row.query_id else ''}"),
        (QUERIES, QueryGoldRow, lambda row: row.query_id),
    )
    for name, model, key in models:
        with faults_as(ResultError, run.folder / name, "run the evaluation again"):
            rows = [row for _, row in read_rows(run.folder / name, model)]
        # What the model reads of a query is a matter of its tokens.
        yield name, _keyed((key(row), {k: v for k, v in row.as_json().items() if k != "read"}) for row in rows)
    yield INTERVALS, _intervals(run)


def _judged(run: RunView) -> dict[str, Any]:
    """`query chunk` -> gain; `query` -> whether it is there; every line's second field."""
    qrels = read_qrels(run.folder / QRELS, run.manifest.qrels_gain_factor)
    gains = {f"{query} {chunk}": gain for query, each in qrels.items() for chunk, gain in each.items()}
    found: dict[str, Any] = gains | dict.fromkeys(qrels, "judged")
    # No reader looks at it, and all the same it is not what was written.
    second = {field for line in run.text(QRELS).splitlines() for field in line.split()[1:2]}
    found["second field"] = ", ".join(sorted(second))
    return found


def _ranked(run: RunView) -> dict[str, Any]:
    """`query rank` -> chunk, with the rank that its line gives if that is another; the tags of all lines."""
    path = run.folder / RUN
    written = {(row.query_id, row.chunk_id): row for row in run_rows(path)}
    found: dict[str, Any] = {"tag": ", ".join(dict.fromkeys(row.tag for row in written.values()))}
    for query_id, ranking in read_run(path).rankings.items():
        for rank, (chunk_id, _) in enumerate(ranking, start=1):
            said = written[query_id, chunk_id].rank
            found[f"{query_id} rank {rank}"] = chunk_id if said == str(rank) else f"rank {said}: {chunk_id}"
    return found


def _intervals(run: RunView) -> dict[str, Any]:
    """Measure -> ends of the 95 % interval of each mean."""
    scores = QueryScores.from_rows(run.query_rows())
    measures = list(scores.values)
    found: dict[str, Any] = {}
    for over in ("micro", "macro"):
        _, ends = mean_intervals(scores.table(measures), scores.clusters, scores.repos, over)
        found |= _flat({f"{over} {measure}": each for measure, each in zip(measures, ends, strict=True)})
    return found


def _keyed(rows: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, Any]:
    """The values of all rows, each under its row's key; a second row of a key is told apart."""
    found: dict[str, Any] = {}
    seen: set[str] = set()
    for key, row in rows:
        name = key
        while name in seen:
            name += " (again)"
        seen.add(name)
        found |= _flat(row, f"{name}: ")
    return found


def _flat(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Plain values by their path, without those that are taken over from the folder."""
    found: dict[str, Any] = {}
    for key, each in value.items():
        if key in _TOKENS or key in _TAKEN_OVER:
            continue
        if isinstance(each, list | tuple):
            each = {str(place): item for place, item in enumerate(each)}  # noqa: PLW2901 - a list is a record of places
        if isinstance(each, dict):
            found |= _flat(each, f"{prefix}{key}.")
        else:
            found[prefix + key] = each
    return found


def _differences(file: str, claimed: Mapping[str, Any], computed: Mapping[str, Any]) -> Iterator[Difference]:
    for value in dict.fromkeys((*claimed, *computed)):
        ours, theirs = computed.get(value), claimed.get(value)
        if value in claimed and value in computed and _same(value, theirs, ours):
            continue
        yield _difference(file, value, theirs, ours)


def _difference(file: str, value: str, claimed: Any, computed: Any) -> Difference:
    return Difference(file=file, value=value, claimed=claimed, computed=computed)


def _same(value: str, claimed: Any, computed: Any) -> bool:
    if isinstance(claimed, float | int) and isinstance(computed, float | int):
        tolerance = _SCORE_TOLERANCE if value.endswith(".score") else _TOLERANCE
        return math.isclose(claimed, computed, rel_tol=tolerance, abs_tol=tolerance)
    return bool(claimed == computed)
