"""The queries whose score changed between two runs as a table, and in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from repoeval_bench.core.words import count
from repoeval_bench.report.table import Column, Table, figures, make_table, spec_column
from repoeval_bench.report.text import heading

if TYPE_CHECKING:
    from repoeval_bench.analysis.diff import Diff


def diff_table(diff: Diff, limit: int) -> Table:
    """One row per query, at most `limit`: its change, and value, relevant chunks and ranks before and after."""
    columns = [
        spec_column("query", 50),
        *figures("change", number="+.4f"),
        *figures("value", "relevant", "retrieved", "first at rank", "shared"),
        Column(name="why"),
    ]
    rows = [
        (
            change.query_id,
            change.change,
            f"{a.value:.4f} -> {b.value:.4f}",
            f"{a.relevant} -> {b.relevant}",
            f"{a.hits} -> {b.hits}",
            f"{a.first_hit or '-'} -> {b.first_hit or '-'}",
            f"{change.shared} of {len(b.top)}",
            change.why,
        )
        for change in diff.changes[:limit]
        for a, b in [(change.baseline, change.treatment)]
    ]
    return make_table(columns, rows, title=f"{heading(diff.measure)}, baseline -> treatment")


def diff_summary(diff: Diff, limit: int) -> list[str]:
    """Return how many queries changed, in which direction and why; and how many are not shown."""
    if not diff.changes:
        return [f"{heading(diff.measure)}: no query of {diff.n_queries} changed"]
    reasons = [change.why for change in diff.changes]
    up = sum(change.change > 0 for change in diff.changes)
    lines = [
        f"{heading(diff.measure)} changed in {len(reasons)} of {count(diff.n_queries, 'query')}: {up} up, "
        f"{len(reasons) - up} down; why: {', '.join(f'{why} {reasons.count(why)}' for why in dict.fromkeys(reasons))}"
    ]
    if len(reasons) > limit:
        lines.append(f"these are the {limit} largest; --limit N or --json has more")
    return lines
