"""What updates cost an index, from what `chunk-stats OLD --against NEW --json` printed of several pairs of versions."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, Annotated

from pydantic import ConfigDict, Field

from repoeval_bench.analysis.chunker_names import chunker_name, chunker_size
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.json_reader import faults_as, read_rows
from repoeval_bench.runs.records import Record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

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
    """The share of non-whitespace characters that are embedded again, of all pairs together; how many pairs."""

    share: float
    n_pairs: int


def read_updates(path: Path) -> list[StabilityRow]:
    """The rows of a file; a UsageError where one is broken or there is none."""
    with faults_as(UsageError, path, "give what chunk-stats OLD --against NEW --json prints"):
        rows = [row for _, row in read_rows(path, StabilityRow)]
    if not rows:
        raise UsageError(f"{path} has no row; give what chunk-stats OLD --against NEW --json prints")
    return rows


def updates_of(spec: str, rows: Sequence[StabilityRow]) -> Updates | None:
    """What updates cost a chunker: the rows of its spec, with the size option within 5 %; None where there is none."""
    size, name = chunker_size(spec), chunker_name(spec)
    found = [row for row in rows if chunker_name(row.spec) == name and _near(size, chunker_size(row.spec))]
    whole = sum(row.nws for row in found)
    return Updates(share=sum(row.new_nws for row in found) / whole, n_pairs=len(found)) if whole else None


def _near(ours: int | None, theirs: int | None) -> bool:
    return ours == theirs or bool(ours and theirs and abs(log(ours / theirs)) <= _NEAR)
