"""Model of what `recommend --json` prints; scripts/write_schemas.py writes its JSON Schema."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from pydantic import ConfigDict

from repoeval_bench.analysis.evidence import AboutCode, Evidence, Recommendation
from repoeval_bench.analysis.shrinkage import RankedCandidate
from repoeval_bench.report.recommendation import HOLDS, answer_lines, candidate_columns
from repoeval_bench.report.table import record_of
from repoeval_bench.runs.records import Headline, Record


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateRow(RankedCandidate):
    """A candidate of a recommendation; scores are minus the mean over all candidates."""

    tokens_per_query: float | None
    chunks: int | None
    vector_bytes: int | None
    edited: float | None
    edit_tokens: float | None
    spec: str
    """What `--chunker` takes."""
    size: int | None


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


class RecommendationRow(AboutCode):
    """A recommendation as `recommend --json` prints it; `choice` is null where nothing could be measured."""

    # Every field is printed, so the schema requires those with a default too.
    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    source: str
    """The folder or pack whose queries decide."""
    holds: str
    language: str
    choice: CandidateRow | None
    cheaper: CandidateRow | None
    answer: list[str]
    """The answer in sentences, which may change with any version."""
    candidates: list[CandidateRow]
    evidence: list[EvidenceRow]
    too_few_queries: Mapping[str, int]


def recommendation_record(recommendation: Recommendation, source: str) -> RecommendationRow:
    """Return every field: the choice for a `source`, the losses, the setups to paste, and the evidence."""
    decision = recommendation.decision
    rows = [_candidate_row(recommendation, candidate) for candidate in (decision.candidates if decision else ())]
    cheaper = None if decision is None else decision.cheaper
    return RecommendationRow(
        source=source,
        holds=HOLDS,
        language=recommendation.language,
        **{name: getattr(recommendation, name) for name in AboutCode.model_fields},
        choice=rows[0] if rows else None,
        cheaper=None if cheaper is None else _candidate_row(recommendation, cheaper),
        answer=answer_lines(recommendation),
        candidates=rows,
        evidence=[_evidence_row(item) for item in recommendation.evidence],
        too_few_queries=recommendation.few,
    )


def _candidate_row(recommendation: Recommendation, candidate: RankedCandidate) -> CandidateRow:
    return CandidateRow(**asdict(candidate) | record_of(candidate_columns(recommendation), candidate))


def _evidence_row(evidence: Evidence) -> EvidenceRow:
    return EvidenceRow(
        protocol=evidence.protocol,
        retriever=evidence.retriever,
        measure=evidence.measure,
        mean_over=evidence.over,
        queries=evidence.n_queries,
        clusters=evidence.n_clusters,
        clustered_by=evidence.clustered_by,
        means=evidence.means,
        runs=evidence.runs,
        significantly_worse_than_choice=sorted(evidence.worse),
        significantly_better_than_choice=sorted(evidence.better),
    )
