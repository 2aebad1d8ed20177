"""Two or more stored runs, query by query: which differences are real."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from repoeval_bench.errors import UsageError
from repoeval_bench.stats import bca_interval, cluster_sums, holm, sign_flip_p
from repoeval_bench.types import Comparison

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    class ComparableRun(Protocol):
        """What of a stored run is compared."""

        @property
        def run_id(self) -> str:
            """Names the run in errors."""

        @property
        def metrics(self) -> dict[str, Any]:
            """Content of metrics.json."""

        @property
        def per_query(self) -> list[dict[str, Any]]:
            """Rows of per_query.jsonl."""


SEED = 20_240_601
MUST_AGREE = ("protocol", "embedder", "retriever")


def compare_runs(runs: Sequence[ComparableRun], baseline: ComparableRun) -> list[Comparison]:
    """Every other run against `baseline`, for each measure that both have.

    Differences are treatment - baseline over the same queries; intervals and p-values resample files; p is
    adjusted by Holm over all comparisons returned. Runs that differ in dataset, protocol, embedder or retriever,
    or hold other queries, are a UsageError: their difference would not be the chunker's.
    """
    found: list[Comparison] = []
    for run in runs:
        if run.run_id == baseline.run_id:
            continue
        _check_comparable(baseline, run)
        found.extend(_compare_pair(baseline, run))
    if not found:
        raise UsageError("nothing to compare: give at least two different runs that share a measure")
    adjusted = holm([comparison.p for comparison in found])
    return [replace(comparison, p_adjusted=p) for comparison, p in zip(found, adjusted, strict=True)]


def _check_comparable(baseline: ComparableRun, run: ComparableRun) -> None:
    a, b = baseline.metrics, run.metrics
    for key in MUST_AGREE:
        if a[key] != b[key]:
            raise UsageError(
                f"{run.run_id} ran with {key} {b[key]!r} and {baseline.run_id} with {a[key]!r}; "
                "compare runs that differ in the chunker alone"
            )
    if a["dataset"]["fingerprint"] != b["dataset"]["fingerprint"]:
        raise UsageError(
            f"{run.run_id} and {baseline.run_id} ran on different data "
            f"({b['dataset']['label']} against {a['dataset']['label']}); evaluate both on one"
        )
    if [row["query_id"] for row in baseline.per_query] != [row["query_id"] for row in run.per_query]:
        raise UsageError(f"{run.run_id} and {baseline.run_id} hold different queries; evaluate both again")


def _compare_pair(baseline: ComparableRun, treatment: ComparableRun) -> list[Comparison]:
    rows = list(zip(baseline.per_query, treatment.per_query, strict=True))
    clusters = [(a["repo"], a["path"]) for a, _ in rows]
    measures = [name for name in baseline.metrics["micro"] if name in treatment.metrics["micro"]]
    found = []
    for measure in measures:
        differences = np.array([b["metrics"][measure] - a["metrics"][measure] for a, b in rows])
        sums, counts = cluster_sums(differences.tolist(), clusters)
        # A generator per measure: a measure's numbers do not depend on which others are asked for.
        rng = np.random.default_rng(SEED)
        found.append(
            Comparison(
                metric=measure,
                baseline=baseline.metrics["chunker"],
                treatment=treatment.metrics["chunker"],
                baseline_mean=baseline.metrics["micro"][measure],
                treatment_mean=treatment.metrics["micro"][measure],
                difference=float(differences.mean()),
                ci=bca_interval(sums, counts, rng),
                p=(p := sign_flip_p(sums, rng)),
                p_adjusted=p,
                wins=int((differences > 0).sum()),
                ties=int((differences == 0).sum()),
                losses=int((differences < 0).sum()),
                n_queries=len(differences),
                n_clusters=len(sums),
            )
        )
    return found
