"""A verification, as tables and in words."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from repoeval_bench.analysis.verification import RankingStatus, Verification
from repoeval_bench.core.words import count
from repoeval_bench.report.table import Column, Table, make_table, spec_column
from repoeval_bench.report.text import heading, with_interval

SHOWN = 5
"""Differences of a file that are listed unless all are asked for."""

_LONGEST = 60


def verification_lines(verification: Verification) -> list[str]:
    """Return the verdict, the data and scores, and what was not computed again."""
    counts = Counter(difference.file for difference in verification.differences)
    n_values = sum(verification.compared.values())
    if verification.holds:
        verdict = f"{verification.run_id} is what it claims: {n_values:,} values computed again, all the same"
    else:
        listed = ", ".join(f"{file} {number:,}" for file, number in counts.items())
        n_differences = count(len(verification.differences), "difference")
        verdict = f"{verification.run_id} is not what it claims: {n_differences} among {n_values:,} values ({listed})"
    lines = [verdict, f"data: {verification.data}"]
    if verification.measure is not None and verification.mean is not None:
        lines.append(f"computed: {heading(verification.measure)} {with_interval(verification.mean, verification.ci)}")
        lines.append(_ranking(verification))
        lines.append(f"not computed again: {'; '.join(verification.as_stored)}")
    else:
        lines.append(
            "nothing else was computed, because other data gives other numbers; name the run's data with --source"
        )
    return lines


def _ranking(verification: Verification) -> str:
    """Return whether the ranking was computed, and what counts as the same, or why it was not."""
    if verification.ranking is RankingStatus.AS_STORED:
        return f"ranking {verification.ranking}: {verification.reason}"
    apart = f"its scores are at most {verification.moved:.0e} apart" if verification.moved else "each score is the same"
    return f"ranking {verification.ranking}: {apart} ({verification.tolerance:.0e} is allowed)"


def verification_table(verification: Verification, *, every: bool) -> Table:
    """A row for each difference, the first ones of each file unless `every` one is asked for."""
    by_file: dict[str, list[tuple[str, str, str, str]]] = defaultdict(list)
    for difference in verification.differences:
        by_file[difference.file].append(
            (difference.file, difference.value, _shown(difference.claimed), _shown(difference.computed))
        )
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
