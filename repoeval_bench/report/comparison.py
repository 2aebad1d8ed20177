"""Differences between runs as tables, with the words that go with them."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from repoeval_bench.report.frame import count, heading, new_table, probability, signed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from repoeval_bench.analysis.records import Comparison


def comparison_tables(comparisons: Sequence[Comparison]) -> list[Table]:
    """One table per pair: its differences, the tests, and the verdict in words."""
    tables: dict[tuple[str, str], Table] = {}
    for c in comparisons:
        pair = c.baseline, c.treatment
        if pair not in tables:
            tables[pair] = _empty(c)
        cells = [
            heading(c.measure),
            signed(c.micro.difference, c.micro.ci),
            signed(c.macro.difference, c.macro.ci),
            probability(c.p_adjusted),
            probability(c.t_p),
            probability(c.wilcoxon_p),
            f"{c.wins}/{c.ties}/{c.losses}",
            "-" if c.effect_size is None else f"{c.effect_size:+.2f}",
            "-" if c.mean.mde_family is None or c.p_adjusted is None else f"{c.mean.mde_family:.4f}",
        ]
        if c.margin is not None:
            cells.append(probability(c.equivalence_p_adjusted))
        tables[pair].add_row(*cells, c.verdict)
    return list(tables.values())


def _empty(c: Comparison) -> Table:
    table = new_table(f"{c.treatment}\nminus {c.baseline}: {count(c.n_queries, 'query', 'queries')} in {_clusters(c)}")
    table.collapse_padding = True
    table.add_column("measure", no_wrap=True)
    for over in ("micro", "macro"):
        mark = " (decides)" if over == c.headline else ""
        table.add_column(f"{over}{mark}, 95 % interval", justify="right", no_wrap=True)
    columns = ["p (Holm)", "t", "Wilcoxon", "win/tie/loss", "d", "detectable"]
    if c.margin is not None:
        columns.append(f"p within {c.margin:g}")
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    return table


def comparison_notes(comparisons: Sequence[Comparison]) -> list[str]:
    """What the tables mean, and where a result hangs on a few repositories."""
    first = comparisons[0]
    resampled = "files" if first.clustered_by == "file" else f"what shares a {first.clustered_by}"
    if first.clustered_by == "query":
        resampled = "queries, for the gold names no files: queries that resemble each other count as independent"
    lines = [
        f"verdict: sign-flip test of the {first.headline} mean, Holm over {count(first.family, 'test')}; intervals and "
        f"tests resample {resampled}. t and Wilcoxon (unadjusted, on cluster means) decide nothing.",
        "d: mean over standard deviation of the differences. detectable: the true difference this data would show "
        "with 80 % power.",
    ]
    if any(c.verdict == "no difference shown" for c in comparisons):
        asked = "" if first.margin is not None else "; --equivalence MARGIN tests that"
        lines.append(f'"no difference shown" does not mean equal{asked}.')
    if any(c.p_adjusted is None for c in comparisons):
        lines.append("a ceiling is no result of a run: its difference is not tested")
    several = len({c.baseline for c in comparisons}) > 1
    shaky: dict[str, list[str]] = {}
    for c in comparisons:
        ci = c.mean.ci_repositories
        if c.is_shown and ci is not None and ci[0] <= 0 <= ci[1]:
            whose = f"{c.treatment} minus {c.baseline}" if several else c.treatment
            shaky.setdefault(whose, []).append(heading(c.measure))
    if shaky:
        named = "; ".join(f"{', '.join(measures)} of {whose}" for whose, measures in shaky.items())
        lines.append(
            f"mind: with whole repositories resampled 0 lies in the interval of {named}: "
            "other repositories may not show it"
        )
    return lines


def comparison_records(comparisons: Sequence[Comparison]) -> list[dict[str, Any]]:
    """Every field as plain values, and the deciding mean's difference and interval beside them."""
    return [{**asdict(c), "difference": c.difference, "ci": c.ci} for c in comparisons]


def _clusters(c: Comparison) -> str:
    if c.clustered_by == "query":
        return count(c.n_clusters, "cluster")
    return count(c.n_clusters, c.clustered_by)
