"""The limits from which a number is a finding, each with its default and what it bounds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Self

from repoeval_bench.core.errors import UsageError, all_mistakes
from repoeval_bench.core.spec import nearest


class Limit(NamedTuple):
    """A default, the largest value that makes sense, and what is checked against it."""

    default: float
    most: float
    meaning: str


LIMITS: Mapping[str, Limit] = {
    "recall-low": Limit(0.6, 1, "recall@5 is low below this share of what five results can hold"),
    "recall-high": Limit(0.8, 1, "recall@10, recall@50 and file recall@50 are high from this share on"),
    "precision-low": Limit(0.5, 1, "precision@10 is low below this"),
    "repeats": Limit(0.2, 1, "the top 10 repeat themselves from this share on"),
    "mrr-low": Limit(0.5, 1, "the mean reciprocal rank of queries with a hit is low below this"),
    "gap": Limit(0.1, 1, "a segment's distance to the other queries is reported from this on, where the test shows it"),
    "newer": Limit(0.0, 1, "more than this share of the top 10 newer than the query's as_of is too much"),
    "latency-ms": Limit(500.0, math.inf, "the p90 of a query's milliseconds is slow above this"),
    "truncated": Limit(0.1, 1, "more than this share of queries or chunks cut by the model is too much"),
    "ceiling-low": Limit(0.8, 1, "the ceiling of lines R-prec is low below this"),
    "share-low": Limit(0.6, 1, "the score's share of its ceiling is low below this"),
    "never-retrieved": Limit(0.2, 1, "more than this share of the needed definitions never retrieved is too much"),
    "lost": Limit(0.01, 1, "more than this share of queries without a relevant chunk is too much"),
}
"""name -> limit."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The limits of one diagnosis: the defaults, except those that were `set`."""

    set: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def parse(cls, settings: Iterable[str]) -> Self:
        """Settings such as `recall-low=0.5`; all mistakes in them are one UsageError."""
        results: dict[str, float] = {}
        problems = []
        for setting in settings:
            name, _, text = setting.partition("=")
            if name not in LIMITS:
                problems.append(nearest("threshold", name, LIMITS))
                continue
            try:
                value = float(text)
            except ValueError:
                value = math.nan
            if not 0 <= value <= LIMITS[name].most:
                most = "" if math.isinf(LIMITS[name].most) else f" to {LIMITS[name].most:g}"
                problems.append(f"threshold {setting!r}: give a number from 0{most}, such as {LIMITS[name].default:g}")
            results[name] = value
        if problems:
            raise UsageError(all_mistakes(problems))
        return cls(results)

    def only(self, *names: str) -> dict[str, float]:
        """Name -> limit of these."""
        return {name: self[name] for name in names}

    def __getitem__(self, name: str) -> float:
        return self.set.get(name, LIMITS[name].default)
