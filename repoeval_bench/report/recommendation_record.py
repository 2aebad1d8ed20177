"""The model of what `recommend --json` prints; scripts/write_schemas.py writes its JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from repoeval_bench.analysis.evidence import Cost, Current, Default, GoldLead, RetrieverChoice
from repoeval_bench.runs.records import Headline, Record


class CandidateRow(Record):
    """A candidate of a recommendation; scores are minus the mean over all candidates."""

    name: str
    tokens: float | None
    own: float
    prior: float
    score: float
    to_choice: tuple[float, float]
    """The 95 % interval of its true score less that of the choice."""
    expected_loss: float
    """How much better the best candidate is expected to be, from 0 to 1."""
    loss_95: float | None
    probability: float
    """The probability that it is the best."""
    tokens_per_query: float | None
    chunks: int | None
    vector_bytes: int | None
    edited: float | None
    edit_tokens: float | None
    spec: str
    """What `--chunker` takes."""
    size: int | None


class SetupRow(Record):
    """Python to paste for files in one language."""

    framework: str
    imports: str
    code: str
    use: str
    language: str
    candidate: str
    spec: str
    expected_loss: float
    loss_95: float | None
    measured: bool
    """Whether its chunks were measured on this code."""


class EvidenceRow(Record):
    """The means of the candidates under one protocol and retriever, by their names, and the ids of the runs."""

    protocol: str
    retriever: str
    measure: str
    mean_over: Headline
    queries: int
    clusters: int
    clustered_by: str
    means: Mapping[str, float]
    runs: Mapping[str, str]
    significantly_worse_than_choice: list[str]
    significantly_better_than_choice: list[str]


class RecommendationRow(Record):
    """A recommendation as `recommend --json` prints it; `choice` is null where nothing could be measured."""

    source: str
    """The folder or pack whose queries decide."""
    holds: str
    data: str
    language: str
    languages: Mapping[str, float]
    files: Mapping[str, int]
    unread: Mapping[str, int]
    tests: Literal["out", "index", "all"]
    test_files: int
    current: Current | None
    costs: Mapping[str, Cost]
    edits: int
    since: str
    lead: GoldLead | None
    retrievers: tuple[RetrieverChoice, ...]
    default: Default | None
    choice: CandidateRow | None
    cheaper: CandidateRow | None
    answer: list[str]
    """The answer in sentences, which may change with any version."""
    candidates: list[CandidateRow]
    setups: list[SetupRow]
    evidence: list[EvidenceRow]
    too_few_queries: Mapping[str, int]
    skipped: list[str]
    runs: list[str]
