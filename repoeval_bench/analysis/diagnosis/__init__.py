"""The known playbook for a retrieval run: what is wrong, by which numbers, and what to try. Pure."""

from repoeval_bench.analysis.diagnosis.checks import Check, diagnose
from repoeval_bench.analysis.diagnosis.evidence import Evidence
from repoeval_bench.analysis.diagnosis.thresholds import LIMITS, Thresholds
from repoeval_bench.analysis.diagnosis.worst import Diagnosis, WorstQuery, worst_ids, worst_queries

__all__ = [
    "LIMITS", "Check", "Diagnosis", "Evidence", "Thresholds", "WorstQuery", "diagnose", "worst_ids", "worst_queries",
]  # fmt: skip
