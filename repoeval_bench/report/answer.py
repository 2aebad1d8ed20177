"""The answer of a command on runs: the verdict, and one table that fits 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap

from repoeval_bench.analysis.comparable import run_names
from repoeval_bench.analysis.records import Comparison, Outcome
from repoeval_bench.metrics import CEILING, SHARE, lower_is_better
from repoeval_bench.report.formats import markdown, markdown_text
from repoeval_bench.report.scores import CEILING_NOTE, losses, score_table, title_of_scores
from repoeval_bench.report.table import Column, Emphasis, Estimate, Table, number, table_of
from repoeval_bench.report.terminal import folded
from repoeval_bench.report.text import adjusted_notes, heading, outcome_name, short_names
from repoeval_bench.report.verdict import WordedVerdict
from repoeval_bench.runs.view import RunView

BESIDE = "ndcg@10"
"""The measure shown beside the deciding one: the usual one in the field, which may disagree."""

_FEW = 4
"""Up to this many measures all are shown, as with `--measure`."""

MOST_NOTES = 3
"""Notes below a table; --details prints the others too."""

_NAME, _HEAD, _CELL = 20, 12, 16
"""Most characters of a run's name in a row, of its name in a heading, and of a line of other cells."""


def skipped_notes(chunkers: Iterable[str]) -> list[str]:
    """Return a note on the chunkers that do not know a language of the data; the reasons were printed before."""
    named = ", ".join(chunkers)
    return [f"left out, because they do not know a language of the data: {named}"] if named else []


def answer_table(runs: Sequence[RunView], verdict: WordedVerdict, skipped: Iterable[str] = ()) -> Table:
    """Return every printed measure of one run, or the mean of each of several runs and its difference with the verdict.

    The notes begin with what changes the reading most: what is missing, then other causes of the scores.
    """
    notes = [*skipped_notes(skipped), *verdict.notes]
    if len(runs) == 1:
        ceiling = [CEILING_NOTE] if runs[0].metrics.ceilings else []
        return score_table(runs[0], [*notes, *losses(runs[0]), *ceiling])
    lost = [f"{name}: {line}" for name, run in zip(_names(runs), runs, strict=True) for line in losses(run)]
    table = _differences(runs, verdict)
    return replace(table, notes=(*notes, *table.notes, *verdict.tests, *lost))


def answer_markdown(runs: Sequence[RunView], verdict: WordedVerdict, skipped: Iterable[str] = ()) -> str:
    """The verdict and the table as a section in Markdown, to be appended to a GitHub step summary."""
    table = answer_table(runs, verdict, skipped)
    return f"{markdown_text(verdict.text)}\n\n{markdown([replace(table, notes=table.notes[:MOST_NOTES])])}\n"


@dataclass(frozen=True, slots=True)
class _MeasureRow:
    """A run's mean of a measure; `difference` is to the reference (None for the reference itself)."""

    measure: str
    run: str
    mean: float
    difference: Comparison | None


def _differences(runs: Sequence[RunView], verdict: WordedVerdict) -> Table:
    names, full, over = _names(runs), run_names(runs), runs[0].metrics.headline
    reference = names[verdict.reference]
    against = {(difference.measure, difference.treatment): difference for difference in verdict.record.differences}
    measures = list(dict.fromkeys(difference.measure for difference in verdict.record.differences))
    measures = [measure for measure in measures if not measure.endswith((CEILING, SHARE))] or measures
    if len(measures) > _FEW:
        measures = [measure for measure in measures if measure in (verdict.record.measure, BESIDE)]
    lines = []
    for measure in measures:
        means = [run.metrics.over(over)[measure] for run in runs]
        order = sorted(range(len(runs)), key=lambda i: means[i], reverse=not lower_is_better(measure))
        order.sort(key=lambda i: i != verdict.reference)
        for position, i in enumerate(order):
            name = heading(measure) if position == 0 else ""
            lines.append(_MeasureRow(name, names[i], means[i], against.get((measure, full[i]))))
    minus = reference if len(reference) <= _HEAD else "the first"
    columns = [
        Column(name="measure", value=lambda line: tuple(wrap(line.measure, _CELL))),
        Column(name="run", value=lambda line: tuple(folded(line.run, _NAME).splitlines())),
        number("mean", lambda line: line.mean, ".3f"),
        number(f"minus {minus}, 95 % CI", _estimate, "+.3f", missing=""),
        Column(name="verdict", value=_verdict),
    ]
    notes = adjusted_notes(line.difference for line in lines if line.difference)
    title = title_of_scores(runs[0], alone=False)
    return table_of(columns, lines, title=title, notes=notes, emphasis=_emphasis)


def _verdict(line: _MeasureRow) -> tuple[str, ...]:
    return () if line.difference is None else tuple(wrap(outcome_name(line.difference.verdict), _CELL))


def _estimate(line: _MeasureRow) -> Estimate | None:
    return None if line.difference is None else Estimate(line.difference.difference, line.difference.ci)


def _emphasis(line: _MeasureRow) -> Emphasis:
    if line.difference is None:
        return "strong"
    if not line.difference.is_significant:
        return ""
    return "better" if line.difference.verdict.outcome is Outcome.BETTER else "worse"


def _names(runs: Sequence[RunView]) -> list[str]:
    return short_names(run_names(runs))
