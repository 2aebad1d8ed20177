"""Tables and notes of `pipeline`, `hard-negatives` and `bounds`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from repoeval_bench.core.words import count
from repoeval_bench.report.table import P_VALUE, Column, Estimate, Table, figures, make_table
from repoeval_bench.report.text import heading, interval, with_interval

if TYPE_CHECKING:
    from repoeval_bench.plugins.logs.figures import Section, Statistic
    from repoeval_bench.plugins.logs.judgements.bounds import Bounds, Corrected, JudgeAgreement


def section_tables(section: Section) -> list[Table]:
    """A table of the section's figures and one of its changes, each if there are any."""
    tables = []
    changes = [figure for figure in section.figures if figure.kind == "change"]
    others = [figure for figure in section.figures if figure.kind != "change"]
    if others:
        columns = [Column(name="", width=64), *figures("value", "95 % CI", "of", missing="")]
        rows = [
            (
                _name(figure.name),
                format(figure.value, _format(figure)),
                None if figure.kind == "milliseconds" else interval(figure.ci, _format(figure)),
                _of(figure),
            )
            for figure in others
        ]
        tables.append(make_table(columns, rows, title=section.title))
    if changes:
        columns = [
            Column(name=""),
            *figures(*section.stages),
            *figures("change, 95 % CI", number="+.4f"),
            *figures("of"),
            *figures("p (Holm)", number=P_VALUE),
        ]
        change_rows = [
            (
                _name(figure.name),
                *(figure.before, figure.after, Estimate(figure.value, figure.ci), _of(figure)),
                figure.p or 0.0,
            )
            for figure in changes
        ]
        tables.append(make_table(columns, change_rows, title="" if others else section.title))
    return tables


def bounds_table(all_bounds: Sequence[Bounds], title: str) -> Table:
    """One row per measure: by gold alone, the ends of the truth, by gold plus judge."""
    names = ("gold alone", "lower bound, 95 % CI", "upper bound, 95 % CI", "gold plus judge")
    rows = [
        (
            heading(of_measure.measure),
            of_measure.gold.value,
            *(Estimate(bound.value, bound.ci) for bound in (of_measure.lower, of_measure.upper)),
            of_measure.both.value,
        )
        for of_measure in all_bounds
    ]
    return make_table(["measure", *figures(*names)], rows, title=title)


def agreement_lines(agreement: JudgeAgreement, k: int, without_grade: int) -> list[str]:
    """Return what the judgements cover, in sentences."""
    lines = [
        f"{count(agreement.judged, 'judgement')} of the run's queries: the judge adds {agreement.added} relevant "
        f"chunks; {agreement.gold_refused} of the {agreement.gold_judged} gold chunks it saw it calls not relevant "
        "(they stay gold)"
    ]
    if agreement.unjudged_top:
        lines.append(
            f"note: {agreement.unjudged_top} of the {agreement.top} chunks in the top {k} are in neither: they count "
            "as not relevant, so the upper bounds are too low"
        )
    if without_grade:
        verb = "has" if without_grade == 1 else "have"
        lines.append(f"note: {count(without_grade, 'row')} of the file {verb} no grade yet")
    return lines


def corrected_lines(corrected: Corrected) -> list[str]:
    """Return the correction and its inputs, in sentences."""
    used = corrected.calibration
    lines = [
        f"precision@{corrected.k} as the judge sees it: {corrected.apparent:.4f} over {count(corrected.n, 'chunk')}",
        f"the judge: sensitivity {used.sensitivity:.3f} over {used.n_relevant}, specificity {used.specificity:.3f} "
        f"over {used.n_other} calibrated chunks",
        f"corrected (Rogan-Gladen): {with_interval(corrected.value, corrected.ci)}",
    ]
    if corrected.value != corrected.unclipped:
        lines.append(
            f"note: the formula gives {corrected.unclipped:.4f}, clipped to {corrected.value:.0f}: the calibration "
            "does not fit these chunks, or they are few"
        )
    if corrected.n_unjudged:
        lines.append(f"note: {count(corrected.n_unjudged, 'chunk')} of the top {corrected.k} without a grade left out")
    return lines


def _name(name: str) -> str:
    """A figure's name with its measure in the usual spelling: `nDCG@10 raw`."""
    measure, blank, rest = name.partition(" ")
    return heading(measure) + blank + rest if "@" in measure or not blank else name


def _of(figure: Statistic) -> str:
    one = f"{figure.of.removesuffix('queries')}query" if figure.of.endswith("queries") else figure.of.removesuffix("s")
    return count(figure.n, one, figure.of)


def _format(figure: Statistic) -> str:
    """Return how a figure of its kind is written."""
    match figure.kind:
        case "change":
            return "+.4f"
        case "milliseconds":
            return ".2f"
        case _:
            return ".4f"
