"""The definition of a measure: its name, its explanation, its options, and the function that computes it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Gt
from numpy.typing import NDArray

from repoeval_bench.core.fields import Doc, Option, options_of, parameters_of
from repoeval_bench.core.registry import Kind, Row
from repoeval_bench.metrics.judged_run import JudgedRun

Value = str | float | None
"""Types of a measure's option."""

Rel = Annotated[
    Annotated[float, Gt(0)] | None, Doc("the least gain that counts as relevant; any gain above 0 if not given")
]
"""Option of every binary measure: the threshold on gains."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureDefinition:
    """One measure of the registry; a measure with values for k and options is a `Measure`.

    `compute(run, k, **options)` gives float64 (n_queries,), 0 where there is nothing to divide by; its keywords are the
    measure's options. `cutoff` says whether `@k` must, may or may not be written, and `unit` what k counts. `needs` are
    the names of the inputs: `ranking`, or fields of `Context`. `bands` are (from, word), best first; `avoid` says when
    another measure serves better. `ceiling` names the ranking that gives its ceiling, if there is one: the relevant
    chunks by gain (the best possible), or a greedy choice of lines or of definitions (a lower bound).
    """

    name: str
    meaning: str
    formula: str
    source: str
    avoid: str
    compute: Callable[..., NDArray[np.float64]]
    range: str = "0..1"
    aliases: tuple[str, ...] = ()
    cutoff: Literal["must", "may", "none"] = "may"
    unit: Literal["rank", "nws"] = "rank"
    needs: frozenset[str] = frozenset({"ranking"})
    bands: tuple[tuple[float, str], ...] = ()
    ceiling: Literal["relevant", "lines", "definitions"] | None = "relevant"
    lower_is_better: bool = False

    def __post_init__(self) -> None:
        if self.lower_is_better:  # such a measure has no ceiling
            object.__setattr__(self, "ceiling", None)

    @property
    def options(self) -> Mapping[str, Option]:
        """The options by name."""
        return options_of(self.compute, frozenset([*parameters_of(self.compute)][:2]))

    def __call__(self, run: JudgedRun, k: int | None = None, **options: Any) -> NDArray[np.float64]:
        """The measure's value for every query, float64 (n_queries,)."""
        return self.compute(run, k, **options)


MEASURES = Kind("measure", "repoeval_bench.metrics", Row, data=MeasureDefinition)
"""Measures by name. A new one is a function in a file of this folder, under `measure`."""


def measure(**facts: Any) -> Callable[[Callable[..., Any]], MeasureDefinition]:
    """Make a measure of the function below, and register it under its name; `facts` are fields of `MeasureDefinition`.

    The meaning is the function's docstring.
    """

    def decorate(compute: Callable[..., Any]) -> MeasureDefinition:
        meaning = " ".join((compute.__doc__ or "").split())
        definition = MeasureDefinition(name=compute.__name__, meaning=meaning, compute=compute, **facts)
        row = Row(name=definition.name, meaning=meaning, aliases=definition.aliases, part=definition)
        MEASURES.add(row, compute.__module__)
        return definition

    return decorate
