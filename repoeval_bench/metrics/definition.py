"""What a measure is: its name, its words, its options, and the function that computes it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from repoeval_bench.metrics.judged import Judged

Value = str | float
"""What an option of a measure can be."""


@dataclass(frozen=True, slots=True)
class Option:
    """An option in parentheses, as in `rbp(p=0.9)`.

    `read` turns its text into the value and raises a ValueError for one that is impossible; `wanted` says which are
    possible. `default` None means that the option takes no part unless it is given.
    """

    default: Value | None
    meaning: str
    wanted: str
    read: Callable[[str], Value]


@dataclass(frozen=True, slots=True)
class Definition:
    """One measure of the registry; a measure with values for k and options is a `Measure`.

    `compute(judged, k, **options)` gives float64 (n_queries,). `cutoff` says whether `@k` must, may or may not be
    written, and `unit` what k counts. `needs` are the names of the inputs: `ranking`, or fields of `Context`.
    `bands` are (from, word), best first; `avoid` says when another measure serves better. `ceiling` says which best
    possible ranking bounds it: the relevant chunks by gain, the greedy choice of lines, or none.
    """

    name: str
    meaning: str
    formula: str
    range: str
    source: str
    avoid: str
    compute: Callable[..., NDArray[np.float64]]
    aliases: tuple[str, ...] = ()
    cutoff: Literal["must", "may", "none"] = "may"
    unit: Literal["rank", "nws"] = "rank"
    options: Mapping[str, Option] = field(default_factory=dict)
    needs: frozenset[str] = frozenset({"ranking"})
    bands: tuple[tuple[float, str], ...] = ()
    ceiling: Literal["relevant", "lines"] | None = "relevant"

    def __call__(self, judged: Judged, k: int | None, options: Mapping[str, Value | None]) -> NDArray[np.float64]:
        """The measure's value for every query, float64 (n_queries,)."""
        return self.compute(judged, k, **options)


def _threshold(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise ValueError(text)
    return value


REL = Option(None, "the least gain that counts as relevant; any gain above 0 if not given", "a number > 0", _threshold)
"""Option of every binary measure: the threshold on gains."""


def between(low: float, high: float, *, open_ends: bool) -> Callable[[str], float]:
    """A reader of numbers in a range, for an `Option`."""

    def read(text: str) -> float:
        value = float(text)
        if not (low < value < high if open_ends else low <= value <= high):
            raise ValueError(text)
        return value

    return read
