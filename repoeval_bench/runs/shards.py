"""A part of an experiment for each of several machines that know nothing of each other."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from repoeval_bench.core.errors import UsageError

if TYPE_CHECKING:
    from repoeval_bench.runs.request import RunRequest


def parse_shard(text: str) -> tuple[int, int]:
    """(number, how many) of `i/n`, counted from 1; anything else is a UsageError.

    >>> parse_shard("2/40")
    (2, 40)
    """
    match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text)
    number, total = map(int, match.groups()) if match else (0, 0)
    if not 1 <= number <= total:
        raise UsageError(f"--shard {text!r} is not a part of a whole; give i/n such as 1/4, the last is 4/4")
    return number, total


def shard(requests: Sequence[RunRequest], number: int, total: int) -> list[RunRequest]:
    """Part `number` of `total`, counted from 1: disjoint, together complete, of sizes that differ by 1 at most.

    The requests alone decide, so that each machine finds the same parts, whatever it can compute in. Those of one
    chunker are together as far as parts allow: its chunks are then made and embedded on one machine.
    """
    ordered = sorted(range(len(requests)), key=lambda place: (requests[place].chunker or "", place))
    first, end = (len(requests) * each // total for each in (number - 1, number))
    return [requests[place] for place in sorted(ordered[first:end])]
