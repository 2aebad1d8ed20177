"""The evidence of a diagnosis: a run's log, judgements, scores and times, and numbers read off them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np

from repoeval_bench.plugins.logs.judged_log import JudgedLog
from repoeval_bench.plugins.logs.pipeline.stages import is_newer
from repoeval_bench.protocols.uses import distance
from repoeval_bench.runs.log import LogRow, Retrieved, first_rank, moment

if TYPE_CHECKING:
    from repoeval_bench.analysis.sign_flips import FloatArray
    from repoeval_bench.runs.inspection import Inspection
    from repoeval_bench.runs.query_scores import QueryScores
    from repoeval_bench.runs.records import Metrics
    from repoeval_bench.runs.view import RunView

_CHUNK_ID = re.compile(r"(.+)@\d+-\d+\Z", re.DOTALL)
"""A chunk's id as this project makes it: file@start-end, in characters."""

TOP = 10
DEEP = 50
"""Results that a reranker usually reads."""
LEAST_DEEP = 20
"""A ranking that is stored less deep than this says nothing about lower ranks."""


@dataclass(frozen=True, kw_only=True)
class DiagnosisEvidence:
    """The content of a run's folder."""

    scores: QueryScores
    log: JudgedLog
    """It may lack a row for a query of the gold."""
    metrics: Metrics
    measure: str
    """The measure that segments and queries are compared by."""
    latency: Mapping[str, Mapping[str, float]]
    """query_id -> step -> milliseconds."""
    needed: tuple[Needed, ...] = ()
    """Definitions that queries need; none if the protocol does not ask for definitions."""

    @classmethod
    def read(cls, run: RunView, scores: QueryScores, measure: str) -> Self:
        """Read the evidence of a run; `scores` are the run's, perhaps with further facts."""
        log = JudgedLog.of(scores, run.log_rows(), run.qrels())
        return cls(
            scores=scores,
            log=log,
            metrics=run.metrics,
            measure=measure,
            latency=run.timings.queries,
            needed=needed(run.inspection, {query_id: row.ranked for query_id, row in log.rows.items()}),
        )

    @property
    def reranked(self) -> bool:
        """Return whether this project ranked the first stage's best again."""
        return not self.metrics.imported and self.metrics.retriever.startswith("rerank:")

    @cached_property
    def deep(self) -> int:
        """The depth that counts as "retrieved at all": 50, or what was ranked."""
        return min(DEEP, self.metrics.k)

    @cached_property
    def values(self) -> Mapping[str, FloatArray]:
        """Score the stored ranking: recall@5, @10 and @deep, hit@deep, precision@10 and mrr, one value per query."""
        names = ["recall@5", "recall@10", f"recall@{self.deep}", f"hit@{self.deep}", "precision@10", "mrr"]
        return self.log.scores(self.log.ranked, names)

    def mean(self, name: str) -> float:
        """The mean over queries."""
        return float(self.values[name].mean())

    @property
    def line_ceiling(self) -> float | None:
        """The ceiling of line_rprec, mean over queries; None where it is not stored."""
        return None if self.metrics.ceilings is None else self.metrics.ceilings.micro.get("line_rprec")

    def recall_ceiling(self, k: int) -> float:
        """The mean of min(k, R) / R: what recall@k can reach; 0 for a query without a relevant chunk."""
        sizes = [len(gains) for gains in self.log.qrels.values()]
        return float(np.mean([min(k, size) / size if size else 0.0 for size in sizes]))

    def recall_share(self, k: int) -> float:
        """Mean recall@k over its ceiling; 1 where nothing can be found."""
        ceiling = self.recall_ceiling(k)
        return self.mean(f"recall@{k}") / ceiling if ceiling else 1.0

    @cached_property
    def places(self) -> dict[str, Retrieved]:
        """Return chunk_id -> the log's entry of it, for every chunk that was retrieved for any query."""
        return {entry.chunk_id: entry for row in self.log.rows.values() for entry in row.topk}

    def file_of(self, chunk_id: str) -> str | None:
        """The file of a chunk: as the log has it, else as this project's ids say; None where neither does."""
        entry = self.places.get(chunk_id)
        if entry and entry.file:
            return entry.file
        named = None if self.metrics.imported else _CHUNK_ID.match(chunk_id)
        return named[1] if named else None

    def file_recall(self) -> tuple[float | None, int]:
        """Return the mean share of a query's gold files with a chunk in the first `deep`, and over how many queries."""
        shares = []
        for query_id, named in zip(self.scores.query_ids, self.scores.gold_files, strict=True):
            files = {file for chunk_id in self.log.qrels[query_id] if (file := self.file_of(chunk_id))} or set(named)
            if files:
                seen = {self.file_of(entry.chunk_id) for entry in self.log.topk(query_id)[: self.deep]}
                shares.append(len(files & seen) / len(files))
        return (float(np.mean(shares)) if shares else None), len(shares)


def repeats(entries: Sequence[Retrieved]) -> float:
    """Return the share of a ranking that repeats higher ranks: lines shown before, or a copy (exactly the same score).

    Texts are not stored, but copies of a text get the same score from any retriever that sees texts alone. A score of
    0 does not mark a copy: every chunk that shares nothing with the query has it.
    """
    shown: dict[str, set[int]] = defaultdict(set)
    scores: set[float] = set()
    total = 0.0
    for entry in entries:
        share = 1.0 if entry.score in scores and entry.score != 0 else 0.0
        if entry.file is not None and entry.lines:
            lines = set(entry.lines)
            share = max(share, len(lines & shown[entry.file]) / len(lines))
            shown[entry.file] |= lines
        scores.add(entry.score)
        total += share
    return total / len(entries) if entries else 0.0


def newer_share(rows: Iterable[LogRow], k: int) -> tuple[float | None, int]:
    """Return the share of the first k results that are newer than their query's as_of, and how many have both dates."""
    dated = [
        newer
        for row in rows
        if row.as_of is not None and (as_of := moment(row.as_of)) is not None
        for entry in row.topk
        if entry.rank <= k and (newer := is_newer(entry, as_of)) is not None
    ]
    return (float(np.mean(dated)) if dated else None), len(dated)


def quantiles(times: Iterable[float]) -> dict[str, float]:
    """Median and p90."""
    values = np.fromiter(times, dtype=np.float64)
    return {"median": float(np.median(values)), "p90": float(np.quantile(values, 0.9))}


@dataclass(frozen=True, slots=True, kw_only=True)
class Needed:
    """A definition that a query needs."""

    query_id: str
    name: str
    kind: str
    tier: str
    distance: int
    """0 in the query's own file, 1 in its folder, and 1 more for each folder up or down."""
    rank: int | None
    """That of the first result with one of its gold lines."""


def needed(inspection: Inspection | None, ranked: Mapping[str, Sequence[Retrieved]]) -> tuple[Needed, ...]:
    """Every definition that a query of the run needs; `ranked` is query_id -> its results, best first."""
    queries = inspection.queries if inspection else {}
    return tuple(
        Needed(
            query_id=query_id,
            name=definition.name,
            kind=definition.kind,
            tier=definition.tier,
            distance=distance(query.file, definition.gold[0][0]),
            rank=first_rank(definition.places, ranked.get(query_id, ())),
        )
        for query_id, query in queries.items()
        for definition in query.definitions
    )


def never_retrieved(needed: Sequence[Needed]) -> dict[str, tuple[int, int]]:
    """Return group of definitions -> (how many were never retrieved, how many there are).

    The groups are all definitions, and those of each kind, distance and tier.
    """
    groups: dict[str, list[bool]] = {"all definitions": [definition.rank is None for definition in needed]}
    for what in ("kind", "distance", "tier"):
        for definition in sorted(needed, key=lambda one: getattr(one, what)):
            groups.setdefault(f"{what} {getattr(definition, what)}", []).append(definition.rank is None)
    return {name: (sum(missed), len(missed)) for name, missed in groups.items()}
