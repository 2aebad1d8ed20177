"""A gate file: what a run must reach to pass. It is read and checked as a whole: all mistakes are reported at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from repoeval_bench.core.errors import UsageError, all_mistakes
from repoeval_bench.core.strict_yaml import Strict, read_yaml
from repoeval_bench.metrics import Measure
from repoeval_bench.metrics.condensed import UNREGISTERED

if TYPE_CHECKING:
    from pathlib import Path

_Finite = Annotated[float, Field(allow_inf_nan=False)]


class ScoreGate(Strict):
    """A limit on one measure, overall or in one segment: `at_least` or `max_drop`.

    `at_least` is held against the lower end of the mean's 95 % interval, `max_drop` against the lower end of the
    interval of the paired difference to the baseline. `mean` is the protocol's headline mean unless given.
    """

    measure: str
    at_least: _Finite | None = None
    max_drop: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    mean: Literal["micro", "macro"] | None = None
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

    @model_validator(mode="after")
    def _one_limit(self) -> Self:
        if (self.at_least is None) == (self.max_drop is None):
            raise ValueError("give either at_least or max_drop")
        return self

    @property
    def part(self) -> tuple[str, str] | None:
        """(fact, name) of the segment, the name as `segments` prints it; None for all queries."""
        if self.segment is None:
            return None
        ((by, value),) = self.segment.items()
        if isinstance(value, bool):
            return by, "yes" if value else "no"
        return by, value if isinstance(value, str) else f"{value:g}"


class LatencyGate(Strict):
    """A limit on the time that a step took for a query, as it was measured: `median_ms`, `p90_ms` or both."""

    step: Literal["retrieve", "rerank"] = "retrieve"
    median_ms: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    p90_ms: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None

    @model_validator(mode="after")
    def _some_limit(self) -> Self:
        if self.median_ms is None and self.p90_ms is None:
            raise ValueError("give median_ms, p90_ms or both")
        return self


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


def read_gates(path: Path) -> GateConfig:
    """Read a YAML gate file; all mistakes in it are one UsageError."""
    document = read_yaml(path, "give a gate file with --config")
    if found := document.problems(GateConfig, {"gates": ScoreGate, "latency": LatencyGate}):
        raise UsageError(all_mistakes((f"{document.where(place)}: {sentence}" for place, sentence in found), path))
    return GateConfig.model_validate(document.content)
