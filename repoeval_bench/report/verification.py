"""A verification, as a table and in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from repoeval_bench.core.words import count
from repoeval_bench.report.table import Column, Table, make_table, spec_column

if TYPE_CHECKING:
    from repoeval_bench.analysis.verification import Verification


def verification_lines(verification: Verification) -> list[str]:
    """Return the verdict with the number of compared values, the data, and the queries that were left out."""
    listed = ", ".join(f"{name} {number:,}" for name, number in verification.compared.items())
    if verification.holds:
        verdict = f"{verification.run_id} is the same when it is run again ({listed})"
    else:
        number = count(verification.n_differences, "difference")
        verdict = f"{verification.run_id} is not the same when it is run again: {number} ({listed})"
    lines = [verdict, f"data: {verification.data}"]
    if verification.reordered:
        lines.append(
            f"in {count(verification.reordered, 'query', 'queries')} chunks changed places whose scores differ by less "
            f"than {verification.tolerance:.0e}; their scores and the means are not compared"
        )
    return lines


def verification_table(verification: Verification) -> Table:
    """Tabulate the largest differences."""
    columns = [spec_column("value", 44), Column(name="stored"), Column(name="computed")]
    rows = [
        tuple("(none)" if value is None else str(value) for value in (item.what, item.stored, item.computed))
        for item in verification.differences
    ]
    more = verification.n_differences - len(rows)
    return make_table(columns, rows, notes=[f"{more:,} smaller differences are not listed"] if more else [])
