"""Checks of `gate`: a run against limits, by its intervals and latencies, and a chosen setting on later commits."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, ValidationInfo, field_validator, model_validator

from repoeval_bench.analysis.comparable import check_comparable
from repoeval_bench.analysis.records import Comparison, Interval, Outcome
from repoeval_bench.analysis.segments import find, label_of
from repoeval_bench.analysis.sign_flips import FEW_CLUSTERS, FEWEST_CLUSTERS, FLIPS, FloatArray
from repoeval_bench.analysis.statistics import INTERVAL_FLIPS, mean_intervals
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.strict_yaml import Strict
from repoeval_bench.core.words import count, few
from repoeval_bench.metrics import Measure, lower_is_better
from repoeval_bench.metrics.measure import UNREGISTERED
from repoeval_bench.runs.problems import Problems
from repoeval_bench.runs.query_scores import QueryScores, together
from repoeval_bench.runs.records import Headline
from repoeval_bench.runs.view import RunView

FEWEST = 60
"""Questions of later commits below which nothing is decided."""

_Finite = Annotated[float, Field(allow_inf_nan=False)]


class ScoreGate(Strict):
    """A limit on one measure, overall or in one segment: `at_least` or `max_drop`.

    `at_least` is checked against the lower end of the mean's 95 % interval. `max_drop` is checked against that of the
    paired difference to the baseline. `mean` is the protocol's headline mean unless given.
    """

    measure: str
    at_least: _Finite | None = None
    max_drop: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = Field(None, validate_default=True)
    mean: Headline | None = None
    segment: Annotated[dict[str, str | int | float | bool], Field(min_length=1, max_length=1)] | None = None

    @field_validator("measure")
    @classmethod
    def _known(cls, name: str) -> str:
        if name in UNREGISTERED:
            return name
        try:
            return str(Measure.parse(name))
        except UsageError as error:
            # pydantic gathers ValueErrors, so that all mistakes are reported at once.
            raise ValueError(str(error)) from error

    # Field validators, as pydantic skips a model's if a field is wrong; valid earlier fields are in `info.data`.
    @field_validator("max_drop")
    @classmethod
    def _one_limit(cls, limit: float | None, info: ValidationInfo) -> float | None:
        if (limit is None) == (info.data.get("at_least", 0.0) is None):
            raise ValueError("give either at_least or max_drop")
        return limit

    @property
    def part(self) -> tuple[str, str] | None:
        """The (fact, name) of the segment, the name as `segments` prints it; None for all queries."""
        if self.segment is None:
            return None
        ((by, value),) = self.segment.items()
        return by, label_of(value)


class LatencyGate(Strict):
    """A limit on the time that a step took for a query, as it was measured: `median_ms`, `p90_ms` or both."""

    step: Literal["retrieve", "rerank"] = "retrieve"
    median_ms: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    p90_ms: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = Field(None, validate_default=True)

    @field_validator("p90_ms")
    @classmethod
    def _some_limit(cls, limit: float | None, info: ValidationInfo) -> float | None:
        if limit is None and info.data.get("median_ms", 0.0) is None:
            raise ValueError("give median_ms, p90_ms or both")
        return limit


class GateConfig(Strict):
    """The whole file; `baseline` is the run that drops are measured from."""

    baseline: str | None = None
    gates: list[ScoreGate] = Field(default_factory=list)
    latency: list[LatencyGate] = Field(default_factory=list)

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.gates and not self.latency:
            raise ValueError("no gate: a file without a limit would always pass; add one under gates or latency")
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """One limit and the value that was checked.

    `value` is the mean, the paired difference or the milliseconds, `ci` its 95 % interval (None for a latency).
    `judged` (`lower end` or `measured`) must reach `limit`, or not pass it. `warning` says that the interval has few
    clusters, or that queries are missing; else it is empty.
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
    warning: str = ""


def gate(run: RunView, config: GateConfig, baseline: RunView | None = None) -> list[GateResult]:
    """Evaluate every gate, in the order of the file, as `repoeval_bench.gate` promises."""
    if baseline is not None:
        check_comparable([(baseline, run)])
    problems = Problems()
    results: list[GateResult] = []
    scores, *others = together([run.scores] if baseline is None else [run.scores, baseline.scores])
    latency: dict[str, list[float]] = defaultdict(list)
    for row in run.timings if config.latency else ():
        for step, milliseconds in row.latency_ms.items():
            latency[step].append(milliseconds)
    for i, limit in enumerate(config.gates):
        with problems.about("gates", where=f"gates[{i}]"):
            lost = [_lost(run, "the run's"), _lost(baseline, "the baseline's") if limit.max_drop is not None else ""]
            over = limit.mean or run.metrics.headline
            results.append(_score(limit, scores, others[0] if others else None, over, lost))
    for i, slow in enumerate(config.latency):
        with problems.about("gates", where=f"latency[{i}]"):
            results += _latency(slow, latency, run.counts.queries)
    problems.check()
    return results


def _lost(run: RunView | None, name: str) -> str:
    """Return a warning where a log lacks queries, which then score 0."""
    if run is None or not (lost := run.counts.queries_not_in_log):
        return ""
    return f"{lost:,} of {count(run.counts.queries, 'query')} are not in {name} log and score 0"


def _score(
    limit: ScoreGate, run: QueryScores, baseline: QueryScores | None, over: Headline, lost: Sequence[str]
) -> GateResult:
    values = _values(limit, run, baseline)
    positions = find(run, *limit.part) if limit.part else np.arange(len(run))
    part = run.take(positions)
    turned = f"lower {limit.measure} is better, but this gate fails a run whose value is low"
    warning = "; ".join(filter(None, [_few_clusters(part), turned if lower_is_better(limit.measure) else "", *lost]))
    flips = INTERVAL_FLIPS if limit.max_drop is None else FLIPS
    (value,), (ci,) = mean_intervals(values[positions], part.clusters, part.repos, over, flips=flips)
    if limit.max_drop is not None:
        least = 0.0 - limit.max_drop
        rule = f"change at least {least:g}"
    else:
        assert limit.at_least is not None
        rule, least = f"at least {limit.at_least:g}", limit.at_least
    assert ci is not None  # there are six clusters or more
    reason = f"the lower end of the interval, {ci[0]:.4f}, is below {least:g}" if ci[0] < least else ""
    return GateResult(
        name=f"{limit.measure}, {over}" + (f" where {' = '.join(limit.part)}" if limit.part else ""),
        rule=rule,
        value=value,
        ci=ci,
        judged="lower end",
        limit=least,
        n_queries=len(part),
        passed=not reason,
        reason=reason,
        warning=warning,
    )


def _few_clusters(part: QueryScores) -> str:
    """A warning where a gate's queries are in few clusters; a UsageError where no test over so few ever decides."""
    n = len(set(part.clusters))
    clusters = count(n, part.cluster_kind)
    if n < FEWEST_CLUSTERS:
        raise UsageError(
            f"its {count(len(part), 'query is', 'queries are')} in {clusters}, and an interval takes at "
            f"least {FEWEST_CLUSTERS}; gate a part of the run that has more"
        )
    return f"only {clusters}, so a single one can decide if the gate passes" if n < FEW_CLUSTERS else ""


def _values(limit: ScoreGate, run: QueryScores, baseline: QueryScores | None) -> FloatArray:
    """The gate's measure of each query, or its difference to the baseline where the gate is on a drop."""
    if limit.measure not in run.values:
        raise UsageError(f"{limit.measure} was not scored in this run; it has {few([*run.values], 5)}")
    if limit.max_drop is None:
        return run.values[limit.measure]
    if baseline is None:
        raise UsageError("max_drop needs a run to drop from; name it with baseline: or --baseline")
    if limit.measure not in baseline.values:
        raise UsageError(f"{limit.measure} was not scored in the baseline")
    return run.values[limit.measure] - baseline.values[limit.measure]


def _latency(limit: LatencyGate, latency: Mapping[str, Sequence[float]], n_queries: int) -> list[GateResult]:
    if not (times := latency.get(limit.step)):
        known = ", ".join(latency) or "no step"
        raise UsageError(f"the run has no times of {limit.step}; it has those of {known}")
    results = []
    for name, quantile, most in (("median", 0.5, limit.median_ms), ("p90", 0.9, limit.p90_ms)):
        if most is None:
            continue
        value = float(np.quantile(times, quantile))
        results.append(
            GateResult(
                name=f"{name} of {limit.step}",
                rule=f"at most {most:g} ms",
                value=value,
                ci=None,
                judged="measured",
                limit=most,
                n_queries=len(times),
                passed=value <= most,
                reason=f"{value:.3f} ms is above {most:g} ms" if value > most else "",
                warning=f"only {len(times):,} of {count(n_queries, 'query')} have a time"
                if len(times) < n_queries
                else "",
            )
        )
    return results


class ChosenEvidence(Strict):
    """The result of one protocol and retriever: the scores of the choice and of its opponent, if that was measured."""

    protocol: str
    retriever: str
    measure: str
    questions: int
    files: int
    mean: float
    opponent_mean: float | None = None


class ChosenSetting(Strict):
    """A chosen setting: no code, subjects, names or paths of the source are in it.

    `opponent` is `ast` at 1,000, or the runner-up where that is the choice. `commit` is the source's, "" where it
    has none. `embedder` is "" for a retriever without vectors. `tests` is a key of `core.benchmark.TESTS`.
    `extensions` are the endings that were read beside those of the ten languages.
    """

    version: Literal[1] = 1
    spec: str
    opponent: str
    retriever: str
    embedder: str = ""
    tests: Literal["out", "index", "all"] = "all"
    extensions: Annotated[tuple[str, ...], Field(strict=False)] = ()
    expected_loss: float
    date: str
    commit: str = ""
    tool: str
    evidence: list[ChosenEvidence] = Field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recheck:
    """The test of a chosen setting on later commits; `comparison` is None below `FEWEST` questions.

    It is the choice minus its opponent. `since` is the commit or the date after which commits ask.
    """

    chosen: ChosenSetting
    since: str
    questions: int
    files: int
    notes: tuple[str, ...]
    comparison: Comparison | None

    @property
    def holds(self) -> bool:
        """Return False only where the opponent is significantly better."""
        return self.comparison is None or self.comparison.verdict.outcome is not Outcome.WORSE
