"""One stored run as the page reads it: its log, its judgements, and what can be scored from both."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from repoeval_bench.analysis.comparison import PARTS, check_all_comparable, run_names
from repoeval_bench.core.errors import ResultError
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.metrics import ChunkPlace, Context, Measure, score_run
from repoeval_bench.report.text import short_names
from repoeval_bench.runs.config import NO_EMBEDDER
from repoeval_bench.runs.store import MANIFEST, RETRIEVED, StoredRun
from repoeval_bench.runs.trec import as_field

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from repoeval_bench.core.run import Qrels
    from repoeval_bench.runs.query_scores import ScoredQueries


@dataclass(frozen=True, slots=True)
class Hit:
    """One retrieved chunk, its id as TREC files spell it.

    `file` is `repo/path`; it and the lines are None where the log does not place the chunk.
    """

    chunk_id: str
    file: str | None
    lines: LineSpan | None
    score: float


@dataclass(frozen=True)
class PageRun:
    """A run with the names it goes by on the page: `name` in full, `short` where there is little room.

    `scored` are its scores in the order of the first run's queries.
    """

    stored: StoredRun
    name: str
    short: str
    scored: ScoredQueries

    @cached_property
    def log(self) -> dict[str, tuple[str | None, list[dict[str, Any]]]]:
        """query_id -> (the query's text if it was logged, the log's entries of what was retrieved, best first)."""
        try:
            found = {
                row["query_id"]: (row.get("query"), sorted(row["topk"], key=itemgetter("rank")))
                for row in self.stored.rows(RETRIEVED)
            }
            for _, entries in found.values():
                for entry in entries:
                    entry["chunk_id"] = as_field(entry["chunk_id"], "chunk id")
        except (KeyError, TypeError, AttributeError) as error:
            raise ResultError(
                f"{self.stored.folder / RETRIEVED} is no run log ({error}); run the evaluation again"
            ) from error
        return found

    def ranked(self, query_id: str) -> list[str]:
        """The ids of what was retrieved, best first, as TREC files spell them."""
        return [entry["chunk_id"] for entry in self.log.get(query_id, (None, []))[1]]

    def top(self, query_id: str, k: int) -> list[Hit]:
        """The first k of what was retrieved."""
        return [_hit(entry) for entry in self.log.get(query_id, (None, []))[1][:k]]

    @cached_property
    def _material(self) -> tuple[dict[str, tuple[tuple[str, float], ...]], Context]:
        """(rankings, the places of what was retrieved where the log has all of them): what measures are made of."""
        entries = [entry for _, found in self.log.values() for entry in found]
        rankings = {
            query_id: tuple((chunk_id, -float(rank)) for rank, chunk_id in enumerate(self.ranked(query_id)))
            for query_id in self.log
        }
        if not all(entry.get("file") for entry in entries):
            return rankings, Context()
        nowhere = LineSpan(0, 0)  # the file is all that is asked for
        return rankings, Context(places={each["chunk_id"]: ChunkPlace(each["file"], nowhere) for each in entries})

    @property
    def ranks_own_chunks(self) -> bool:
        """Whether what was ranked in the end are the chunker's chunks, and not those of a baseline."""
        protocol = (self.stored.manifest.get("config") or {}).get("protocol") or {}
        return bool(protocol.get("documents") != "baseline")

    @cached_property
    def qrels(self) -> Qrels:
        """query_id -> chunk_id -> gain, for every scored query; chunk ids as TREC files spell them."""
        found = self.stored.qrels()
        return {query_id: found.get(as_field(query_id, "query id"), {}) for query_id in self.scored.query_ids}

    def values(self, measure: str) -> NDArray[np.float64] | None:
        """One value per query, float64 in the order of `scored`; None where this run cannot have it.

        A measure that was not asked for at `eval` is scored from the stored ranking and judgements, if those suffice.
        """
        scored = self.scored
        if measure in scored.values:
            return scored.values[measure]
        parsed = Measure.parse(measure)
        rankings, context = self._material
        if (parsed.k or 0) > self.stored.metrics["k"] or not parsed.needs <= {"ranking"} | context.has():
            return None
        return score_run(rankings, self.qrels, [measure], context).values[str(parsed)]


def page_runs(stored: Sequence[StoredRun]) -> list[PageRun]:
    """The runs with their names.

    A UsageError with every difference where two do not answer one question: protocol, data, queries, depth.
    """
    check_all_comparable((stored[0], run) for run in stored[1:])
    names = run_names(stored)
    ids = stored[0].scored.query_ids
    return [
        PageRun(run, name, short, _in_order(run.scored, ids))
        for run, name, short in zip(stored, names, short_names(names), strict=True)
    ]


def kind_of(runs: Sequence[PageRun]) -> str:
    """What the runs differ in, in one word: `chunker`, `embedder`, `retriever`, or `run` for anything else.

    A retriever that asks no embedder is no other embedder.
    """
    if len(runs) == 1:
        return PARTS[0]
    differing = [part for part in PARTS if len({str(run.stored.metrics[part]) for run in runs} - {NO_EMBEDDER}) > 1]
    return differing[0] if len(differing) == 1 else "run"


def bm25_beside(run: StoredRun) -> StoredRun | None:
    """The BM25 run in the same results folder over the same chunks and queries; None if there is none."""
    ours = run.metrics
    for folder in [run.folder, *(path.parent for path in sorted(run.folder.parent.glob(f"*/{MANIFEST}")))]:
        try:
            other = StoredRun.open(folder)
            theirs = other.metrics
        except ResultError:  # a broken neighbour is no part of this report
            continue
        same = all(theirs[key] == ours[key] for key in ("protocol", "chunker"))
        same &= theirs["dataset"]["fingerprint"] == ours["dataset"]["fingerprint"]
        if same and str(theirs["retriever"]).startswith("bm25"):
            return other
    return None


def _in_order(scored: ScoredQueries, query_ids: tuple[str, ...]) -> ScoredQueries:
    if scored.query_ids == query_ids:
        return scored
    place = {query_id: i for i, query_id in enumerate(scored.query_ids)}
    return scored.take([place[query_id] for query_id in query_ids])


def _hit(entry: Mapping[str, Any]) -> Hit:
    start, end = entry.get("start_line"), entry.get("end_line")
    lines = None if start is None or end is None else LineSpan(start, end)
    return Hit(entry["chunk_id"], entry.get("file"), lines, entry["score"])
