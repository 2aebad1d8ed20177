"""The model of what `compare --json` prints; scripts/write_schemas.py writes its JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from repoeval_bench.analysis.pair_verdicts import PairVerdict
from repoeval_bench.analysis.records import Comparison, Influence, Interval, MeanDifference
from repoeval_bench.analysis.verdicts import Candidate, Result, ScoredRun
from repoeval_bench.runs.records import Headline, Record


class ComparisonRow(Record):
    """One measure of one pair of runs: treatment - baseline, with the difference and interval of the deciding mean."""

    measure: str
    baseline: str
    treatment: str
    headline: Headline
    primary: bool
    micro: MeanDifference
    macro: MeanDifference
    p_adjusted: float | None
    wins: int
    ties: int
    losses: int
    n_queries: int
    n_clusters: int
    n_repositories: int
    effective_clusters: float
    clustered_by: str
    family: int
    verdict: PairVerdict
    against_baseline: bool
    margin: float | None
    by_file: Influence | None
    by_repository: Influence | None
    difference: float
    ci: Interval


class RivalRow(Record):
    """A run and the best one's lead over it."""

    run: ScoredRun
    lead: float
    ci: Interval
    p: float | None
    p_adjusted: float | None
    verdict: PairVerdict


class VerdictRow(Record):
    """The verdict on all runs by the measure that decides."""

    result: Result
    protocol: str
    measure: str
    over: Headline
    reference: ScoredRun
    others: tuple[RivalRow, ...]
    family: int
    pairs: int
    n_queries: int
    n_clusters: int
    clustered_by: str


class ChoiceRow(Record):
    """The runs, best first, and the verdict on them."""

    measure: str
    over: Headline
    verdict: VerdictRow
    cost_unit: str
    candidates: tuple[Candidate, ...]


class ComparedRow(Record):
    """All that `compare --json` prints; `choice` is null where a baseline was named."""

    comparisons: list[ComparisonRow]
    choice: ChoiceRow | None
    left_out: Mapping[str, str]
    """Chunker -> the reason why it has no run."""
    notes: list[str] = Field(default_factory=list)
    """Notes on runs whose log lacks queries; missing where there are none."""


def fields_of(record: object, model: type[Record]) -> dict[str, Any]:
    """Return the fields of a model that a record has under the same names."""
    return {name: getattr(record, name) for name in model.model_fields}


def comparison_row(comparison: Comparison) -> ComparisonRow:
    """Return a comparison with the difference and interval of the mean that decides."""
    return ComparisonRow(**fields_of(comparison, ComparisonRow))
