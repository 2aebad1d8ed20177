"""A verification, as tables and in words."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from repoeval_bench.analysis.verification import RankingStatus
from repoeval_bench.core.words import count
from repoeval_bench.report.table import Column, Table, make_table, spec_column
from repoeval_bench.report.text import heading, with_interval

if TYPE_CHECKING:
    from repoeval_bench.analysis.verification import Verification

SHOWN = 5
"""Differences of a file that are listed unless all are asked for."""

_LONGEST = 60


def verification_lines(found: Verification) -> list[str]:
    """The verdict, what it is about, and what was not computed again."""
    counts = Counter(difference.file for difference in found.differences)
    if found.holds:
        verdict = (
            f"{found.run_id} is what it claims: {sum(found.compared.values()):,} values computed again, all the same"
        )
    else:
        listed = ", ".join(f"{file} {number:,}" for file, number in counts.items())
        verdict = (
            f"{found.run_id} is not what it claims: {count(len(found.differences), 'difference')} among "
            f"{sum(found.compared.values()):,} values ({listed})"
        )
    lines = [verdict, f"data: {found.data}"]
    if found.measure is not None and found.mean is not None:
        lines.append(f"computed: {heading(found.measure)} {with_interval(found.mean, found.ci)}")
        lines.append(_ranking(found))
        lines.append(f"as stored: {'; '.join(found.as_stored)}")
    else:
        lines.append("nothing else was computed, because other data gives other numbers; name the run's with --source")
    return lines


def _ranking(found: Verification) -> str:
    """Return whether the ranking was computed, and what counts as the same, or why it was not."""
    if found.ranking is RankingStatus.AS_STORED:
        return f"ranking {found.ranking}: {found.reason}"
    apart = f"its scores are at most {found.moved:.0e} apart" if found.moved else "each score is the same"
    return f"ranking {found.ranking}: {apart} ({found.tolerance:.0e} is allowed)"


def verification_table(found: Verification, *, every: bool) -> Table:
    """A row for each difference, the first ones of each file unless `every` one is asked for."""
    by_file: dict[str, list[tuple[str, str, str, str]]] = defaultdict(list)
    for each in found.differences:
        by_file[each.file].append((each.file, each.value, _shown(each.claimed), _shown(each.computed)))
    rows, notes = [], []
    for file, listed in by_file.items():
        rows += listed if every else listed[:SHOWN]
        if len(listed) > SHOWN and not every:
            notes.append(f"{file}: {len(listed) - SHOWN:,} more; --details prints all")
    columns = [Column(name="file"), spec_column("value", 44), Column(name="claimed"), Column(name="computed")]
    return make_table(columns, rows, notes=notes)


def _shown(value: Any) -> str:
    """A value in one line; the end of a long one is left out."""
    text = "(none)" if value is None else str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
