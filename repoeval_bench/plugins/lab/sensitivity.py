"""Count in how many settings one chunker beats another.

A verdict that changes with query, relevance or retriever is a statement about the setting, not about the chunker.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from repoeval_bench.analysis.comparison import compare
from repoeval_bench.protocols.protocol import Protocol
from repoeval_bench.report.text import full_outcome_name, heading
from repoeval_bench.runs.request import by_setting

if TYPE_CHECKING:
    from repoeval_bench.analysis.records import Comparison
    from repoeval_bench.runs.request import RunRequest
    from repoeval_bench.runs.runner import Runner

_OF_LINES = ("line_", "definition_")
"""Prefixes of the measures that no relevance rule changes."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Two chunkers, as the file names them, in one setting: the comparison is `chunker` minus `against`."""

    setting: RunRequest
    chunker: str
    against: str
    comparison: Comparison

    @property
    def sizes(self) -> str:
        """The size that both were given."""
        return self.setting.match_size or "nominal"

    @property
    def counts_as(self) -> tuple[str, ...]:
        """Its key: two cells of one key count once, as a measure of lines is the same under every relevance rule."""
        setting, measure = self.setting, self.comparison.measure
        protocol = setting.resolved_protocol()
        if measure.startswith(_OF_LINES):
            protocol = Protocol.parse(protocol.name).override(relevance="overlap")
        values = setting.combination() | {"protocol": protocol.name}
        return self.chunker, self.against, measure, *values.values()

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        comparison = self.comparison
        return {
            **self.setting.combination(),
            "protocol": self.setting.resolved_protocol().name,
            "chunker": self.chunker,
            "against": self.against,
            **{name: getattr(comparison, name) for name in ("measure", "difference", "ci", "p_adjusted")},
            "verdict": full_outcome_name(comparison.verdict),
        }


def cells(runner: Runner, requests: Sequence[RunRequest]) -> Iterator[Cell]:
    """Make the runs of every setting, and compare each pair of its chunkers; a chunker without a run is left out."""
    members, seen = by_setting(requests), set[tuple[str, ...]]()
    for setting in runner.settings:
        runs = runner.run(setting)
        runs_by_name = [(str(request.chunker), run) for request, run in zip(members[setting], runs, strict=True) if run]
        if len(runs_by_name) < 2:
            continue
        comparisons = compare([run for _, run in runs_by_name], measures=setting.measures)
        pairs = list(combinations([name for name, _ in runs_by_name], 2))
        n = len(comparisons) // len(pairs)
        for index, comparison in enumerate(comparisons):
            against, chunker = pairs[index // n]
            cell = Cell(setting, chunker, against, comparison)
            if cell.counts_as not in seen:
                seen.add(cell.counts_as)
                yield cell


def tallies(counted: Sequence[Cell]) -> dict[tuple[str, str, str, str], Counter[str]]:
    """Return (chunker, against, sizes, measure) -> number of cells by verdict: wins, loses, undecided."""
    results: dict[tuple[str, str, str, str], Counter[str]] = {}
    for cell in counted:
        comparison = cell.comparison
        key = (cell.chunker, cell.against, cell.sizes, heading(comparison.measure))
        verdict = "wins" if comparison.favours_treatment else "loses"
        results.setdefault(key, Counter())[verdict if comparison.is_significant else "undecided"] += 1
    return results
