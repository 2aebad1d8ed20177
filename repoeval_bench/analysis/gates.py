"""Whether a run may ship: its interval ends and latencies against the limits of a gate file. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from repoeval_bench.analysis.segments import Segment, find
from repoeval_bench.analysis.statistics import DRAWS, mean_intervals
from repoeval_bench.core.errors import UsageError, all_mistakes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from repoeval_bench.analysis.gate_file import GateConfig, LatencyGate, ScoreGate
    from repoeval_bench.analysis.records import Interval
    from repoeval_bench.runs.query_scores import QueryScores


@dataclass(frozen=True, slots=True)
class GateResult:
    """One limit and what it was held against.

    `value` is the mean, the paired difference or the milliseconds, `ci` its 95 % interval (None for a latency and
    for one cluster), `limit` what `judged` (`lower end`, or `measured`) must reach or not pass.
    """

    name: str
    rule: str
    value: float
    ci: Interval
    judged: str
    limit: float
    n_queries: int
    passed: bool
    reason: str


def check_gates(
    config: GateConfig,
    run: QueryScores,
    baseline: QueryScores | None,
    *,
    headline: str,
    latency: Mapping[str, Sequence[float]],
    draws: int = DRAWS,
) -> list[GateResult]:
    """The result of every gate, in the file's order.

    `headline` is the protocol's mean, `latency` step -> milliseconds of each query. Gates on what the run does not
    have (a measure, a segment, a baseline, a step's times) are one UsageError that lists them all.
    """
    problems: list[str] = []
    results: list[GateResult] = []
    for i, gate in enumerate(config.gates):
        try:
            results.append(_score(gate, run, baseline, gate.mean or headline, draws))
        except UsageError as error:
            problems.append(f"gates[{i}]: {error}")
    for i, limit in enumerate(config.latency):
        times = latency.get(limit.step)
        if times:
            results.extend(_latency(limit, times))
        else:
            known = ", ".join(latency) or "no step"
            problems.append(f"latency[{i}]: the run has no times of {limit.step}; it has those of {known}")
    if problems:
        raise UsageError(all_mistakes(problems))
    return results


def _score(gate: ScoreGate, run: QueryScores, baseline: QueryScores | None, over: str, draws: int) -> GateResult:
    if gate.measure not in run.values:
        raise UsageError(f"{gate.measure} was not scored in this run; it has {', '.join(run.values)}")
    values = run.values[gate.measure]
    if gate.max_drop is not None:
        if baseline is None:
            raise UsageError("max_drop needs a run to drop from; name it with baseline: or --baseline")
        if gate.measure not in baseline.values:
            raise UsageError(f"{gate.measure} was not scored in the baseline")
        place = {query_id: i for i, query_id in enumerate(baseline.query_ids)}
        values = values - baseline.values[gate.measure][[place[query_id] for query_id in run.query_ids]]
    segment = find(run, *gate.part) if gate.part else Segment("", "", np.arange(len(run)))
    inside = segment.positions.tolist()
    clusters = [run.clusters[i] for i in inside]
    repos = [run.repos[i] for i in inside]
    chosen = values[segment.positions]
    (value,), (ci,) = mean_intervals(chosen, clusters, repos, over, draws)
    part = f" where {segment.by} = {segment.name}" if gate.part else ""
    if gate.max_drop is not None:
        rule, limit = f"drops at most {gate.max_drop:g}", -gate.max_drop
    else:
        assert gate.at_least is not None
        rule, limit = f"at least {gate.at_least:g}", gate.at_least
    if ci is None:
        reason = f"no interval: all {len(inside)} queries are of one {run.clustered_by}"
    elif ci[0] < limit:
        reason = f"the interval's lower end {ci[0]:.4f} is below {limit:g}"
    else:
        reason = ""
    return GateResult(
        f"{gate.measure}, {over}{part}", rule, value, ci, "lower end", limit, len(inside), not reason, reason
    )


def _latency(gate: LatencyGate, times: Sequence[float]) -> list[GateResult]:
    found = []
    for name, quantile, limit in (("median", 0.5, gate.median_ms), ("p90", 0.9, gate.p90_ms)):
        if limit is None:
            continue
        value = float(np.quantile(times, quantile))
        reason = f"{value:.3f} ms is above {limit:g} ms" if value > limit else ""
        found.append(
            GateResult(
                f"{name} of {gate.step}", f"at most {limit:g} ms", value, None, "measured", limit, len(times),
                not reason, reason,
            )
        )  # fmt: skip
    return found
