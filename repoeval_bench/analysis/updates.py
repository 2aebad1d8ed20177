"""What updates cost an index, from what `chunk-stats OLD --against NEW --json` printed of several pairs of versions."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import ConfigDict, Field

from repoeval_bench.analysis.chunker_names import chunker_name, chunker_size
from repoeval_bench.analysis.statistics import mean_intervals
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.json_reader import faults_as, read_rows
from repoeval_bench.runs.records import Record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from repoeval_bench.analysis.records import Interval

_NEAR = log(1.05)
"""How far sizes of one chunker may be apart, as the logarithm of their ratio: they match a mean on other files."""


class StabilityRow(Record):
    """What is read of a line that `chunk-stats --against --json` printed: one chunker, one pair of versions."""

    model_config = ConfigDict(extra="ignore")

    spec: str
    nws: Annotated[int, Field(ge=0)]
    new_nws: Annotated[int, Field(ge=0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Updates:
    """The mean share of non-whitespace characters that are embedded again, over `n_pairs` pairs of versions.

    `ci` is its 95 % interval, pairs resampled. `behind` is the mean difference to `fixed` of the same size with its
    interval, None for `fixed` itself and where that was not measured for the same pairs.
    """

    share: float
    ci: Interval
    n_pairs: int
    behind: tuple[float, Interval] | None = None


def read_updates(path: Path) -> list[StabilityRow]:
    """The rows of a file; a UsageError where one is broken or there is none."""
    with faults_as(UsageError, path, "give what chunk-stats OLD --against NEW --json prints"):
        rows = [row for _, row in read_rows(path, StabilityRow)]
    if not rows:
        raise UsageError(f"{path} has no row; give what chunk-stats OLD --against NEW --json prints")
    return rows


def updates_of(spec: str, rows: Sequence[StabilityRow], baseline: str = "") -> Updates | None:
    """What updates cost a chunker: the rows of its spec, with the size option within 5 %; None where there is none.

    Rows are of the same pairs in the same order for every spec, as one command after the other prints them. `baseline`
    is the spec of `fixed` of the same size, "" where there is none.
    """
    shares, fixed = _shares(spec, rows), _shares(baseline, rows) if baseline else []
    if not shares:
        return None
    mean, ci = _mean(shares)
    paired = baseline != spec and len(shares) == len(fixed)
    behind = _mean([ours - theirs for ours, theirs in zip(shares, fixed, strict=True)]) if paired else None
    return Updates(share=mean, ci=ci, n_pairs=len(shares), behind=behind)


def _shares(spec: str, rows: Sequence[StabilityRow]) -> list[float]:
    size, name = chunker_size(spec), chunker_name(spec)
    found = [row for row in rows if row.nws and chunker_name(row.spec) == name and _near(size, chunker_size(row.spec))]
    return [row.new_nws / row.nws for row in found]


def _mean(values: Sequence[float]) -> tuple[float, Interval]:
    pairs = range(len(values))
    (mean,), (ci,) = mean_intervals(np.array(values)[:, None], pairs, ["all"] * len(values), "micro")
    return mean, ci


def _near(ours: int | None, theirs: int | None) -> bool:
    return ours == theirs or bool(ours and theirs and abs(log(ours / theirs)) <= _NEAR)
