"""The evidence of a diagnosis: a run's log, judgements, scores and times, and numbers read off them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np

from repoeval_bench.plugins.logs.judged_log import JudgedLog
from repoeval_bench.protocols.uses import distance
from repoeval_bench.runs.log import Retrieved, first_rank

if TYPE_CHECKING:
    from repoeval_bench.analysis.sign_flips import FloatArray
    from repoeval_bench.runs.inspection import Inspection
    from repoeval_bench.runs.query_scores import QueryScores
    from repoeval_bench.runs.records import Metrics
    from repoeval_bench.runs.view import RunView

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
    never_retrieved: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Of the definitions that queries need; see the function of that name."""

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
            never_retrieved=never_retrieved(run.inspection, log),
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

    def file_recall(self) -> tuple[float | None, int]:
        """Return the mean share of a query's gold files with a chunk in the first `deep`, and over how many queries."""
        shares = []
        for query_id, named in zip(self.scores.query_ids, self.scores.gold_files, strict=True):
            gold = (self.places[chunk_id].file for chunk_id in self.log.qrels[query_id] if chunk_id in self.places)
            if files := set(named) or set(filter(None, gold)):
                seen = {entry.file for entry in self.log.topk(query_id)[: self.deep]}
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


def never_retrieved(inspection: Inspection | None, log: JudgedLog) -> dict[str, tuple[int, int]]:
    """Return group of definitions that queries need -> (how many no result has a line of, how many there are).

    The groups are all definitions, and those of each kind, distance and tier. The distance is 0 in the query's own
    file, 1 in its folder, and 1 more for each folder up or down. Empty if the protocol does not ask for definitions.
    """
    groups: dict[str, list[bool]] = defaultdict(list)
    for query_id, query in inspection.queries.items() if inspection else ():
        row = log.rows.get(query_id)
        for definition in query.definitions:
            is_missed = first_rank(definition.places, row.ranked if row else ()) is None
            away = distance(query.file, definition.gold[0][0])
            of = (f"kind {definition.kind}", f"distance {away}", f"tier {definition.tier}")
            for group in ("all definitions", *of):
                groups[group].append(is_missed)
    return {name: (sum(missed), len(missed)) for name, missed in groups.items()}
