"""Sections of a retrieval team's page as tables, and bounds and corrections in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from repoeval_bench.report.frame import count, heading, new_table, plain, probability

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from repoeval_bench.analysis.logs.bounds import Agreement, Bounds
    from repoeval_bench.analysis.logs.calibration import Corrected
    from repoeval_bench.analysis.logs.figures import Figure, Section


def section_tables(section: Section) -> list[Table]:
    """A table of the section's figures and one of its changes, each if there are any."""
    tables = []
    figures = [figure for figure in section.figures if figure.kind != "change"]
    if figures:
        table = new_table(section.title)
        table.add_column("", overflow="fold", max_width=64)
        for column in ("value", "95 % interval", "of"):
            table.add_column(column, justify="right", no_wrap=True)
        for figure in figures:
            table.add_row(_name(figure.name), _value(figure, figure.value), _interval(figure), _of(figure))
        tables.append(table)
    changes = [figure for figure in section.figures if figure.kind == "change"]
    if changes:
        table = new_table("" if figures else section.title)
        table.add_column("", no_wrap=True)
        for column in (*section.stages, "change, 95 % interval", "of", "p (Holm)"):
            table.add_column(column, justify="right", no_wrap=True)
        for figure in changes:
            table.add_row(
                _name(figure.name), f"{figure.before:.4f}", f"{figure.after:.4f}",
                f"{_value(figure, figure.value)} {_interval(figure)}", _of(figure), probability(figure.p or 0.0),
            )  # fmt: skip
        tables.append(table)
    return tables


def missing_line(section: Section) -> str:
    """One line for a section that the log does not support."""
    return f"{section.title}: not in this log ({section.missing})"


def bounds_table(found: Sequence[Bounds], title: str) -> Table:
    """One row per measure: by gold alone, the ends of the truth, by gold plus judge."""
    table = new_table(title)
    table.add_column("measure", no_wrap=True)
    for column in ("gold alone", "lower bound, 95 % interval", "upper bound, 95 % interval", "gold plus judge"):
        table.add_column(column, justify="right", no_wrap=True)
    for each in found:
        ends = [f"{figure.value:.4f} {_interval(figure)}" for figure in (each.lower, each.upper)]
        table.add_row(heading(each.measure), f"{each.gold.value:.4f}", *ends, f"{each.both.value:.4f}")
    return table


def agreement_lines(found: Agreement, k: int, waiting: int) -> list[str]:
    """What the judgements cover, in sentences."""
    lines = [
        f"{count(found.judged, 'judgement')} of the run's queries; the judge adds {found.added} relevant chunks to the "
        f"gold, and calls {found.gold_refused} of the {found.gold_judged} gold chunks it saw not relevant (gold stands)"
    ]
    if found.unjudged_top:
        lines.append(
            f"mind: {found.unjudged_top} of the {found.top} chunks in the top {k} are in neither: they count as not "
            "relevant, so the upper bounds are too low"
        )
    if waiting:
        lines.append(f"mind: {count(waiting, 'row')} of the file {'has' if waiting == 1 else 'have'} no grade yet")
    return lines


def corrected_lines(found: Corrected) -> list[str]:
    """The correction with what it was made of; says where it was clipped."""
    used = found.calibration
    lines = [
        f"precision@{found.k} as the judge sees it: {found.apparent:.4f} over {count(found.n, 'chunk')}",
        f"the judge: sensitivity {used.sensitivity:.3f} over {used.n_relevant}, specificity {used.specificity:.3f} "
        f"over {used.n_other} calibrated chunks",
        f"corrected (Rogan-Gladen): {plain(found.value, found.ci)}",
    ]
    if found.value != found.unclipped:
        lines.append(
            f"mind: the formula gives {found.unclipped:.4f}, clipped to {found.value:.0f}: the calibration does not "
            "fit these chunks, or they are few"
        )
    if found.n_unjudged:
        lines.append(f"mind: {count(found.n_unjudged, 'chunk')} of the top {found.k} without a grade left out")
    return lines


def _name(name: str) -> str:
    """A figure's name with its measure written as elsewhere: `nDCG@10 raw`."""
    measure, blank, rest = name.partition(" ")
    return heading(measure) + blank + rest if "@" in measure or not blank else name


def _of(figure: Figure) -> str:
    one = f"{figure.of.removesuffix('queries')}query" if figure.of.endswith("queries") else figure.of.removesuffix("s")
    return count(figure.n, one, figure.of)


def _value(figure: Figure, value: float) -> str:
    match figure.kind:
        case "change":
            return f"{value:+.4f}"
        case "milliseconds":
            return f"{value:.2f}"
        case "number":
            return f"{value:,.0f}" if value >= 1000 or value.is_integer() else f"{value:.1f}"
        case _:
            return f"{value:.4f}"


def _interval(figure: Figure) -> str:
    if figure.kind == "number":
        return ""
    if figure.ci is None:
        return "[one cluster]"
    low, high = ("open" if end is None else _value(figure, end) for end in figure.ci)
    return f"[{low}, {high}]"
