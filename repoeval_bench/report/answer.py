"""The answer of a command on runs: the verdict, and one table that fits 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING

from repoeval_bench.analysis.comparable import run_names
from repoeval_bench.analysis.means import headline_means
from repoeval_bench.analysis.pair_verdicts import Outcome
from repoeval_bench.core.words import count
from repoeval_bench.metrics import CEILING, SHARE, lower_is_better
from repoeval_bench.report.formats import markdown, markdown_text
from repoeval_bench.report.scores import losses, shown_measures
from repoeval_bench.report.table import Column, Emphasis, Estimate, Table, number, table_of
from repoeval_bench.report.terminal import folded
from repoeval_bench.report.text import BETWEEN, adjusted_notes, heading, outcome_name, short_names

if TYPE_CHECKING:
    from repoeval_bench.analysis.records import Comparison
    from repoeval_bench.report.verdict import WordedVerdict
    from repoeval_bench.runs.view import RunView

WIDTH = 80
"""Columns of a new terminal, which the table fits."""

BESIDE = "ndcg@10"
"""The measure shown beside the deciding one: the usual one in the field, which may disagree."""

_FEW = 4
"""Up to this many measures all are shown, as with `--measure`."""

_NAME, _HEAD, _CELL = 20, 12, 16
"""Most characters of a run's name in a row, of its name in a heading, and of a line of other cells."""


def skipped_notes(chunkers: Iterable[str]) -> list[str]:
    """Return a note on the chunkers that know too few languages; the reasons were printed before."""
    named = ", ".join(chunkers)
    return [f"left out, not knowing a language of the data: {named}"] if named else []


def answer_table(runs: Sequence[RunView], verdict: WordedVerdict, skipped: Iterable[str] = ()) -> Table:
    """Return every printed measure of one run, or the mean of each of several runs and its difference with the verdict.

    The notes count what was lost, cut or not found, and name the `skipped` chunkers.
    """
    title = "\n".join(_title(runs))
    notes = list(verdict.notes)
    notes += [f"{name}: {line}" for name, run in zip(_names(runs), runs, strict=True) for line in _lost(run)]
    notes += skipped_notes(skipped)
    if len(runs) == 1:
        return _scores(runs[0], title, notes)
    return _differences(runs, verdict, title, notes)


def answer_markdown(runs: Sequence[RunView], verdict: WordedVerdict, skipped: Iterable[str] = ()) -> str:
    """The verdict and the table as a section in Markdown, to be appended to a GitHub step summary."""
    return f"{markdown_text(verdict.text)}\n\n{markdown([answer_table(runs, verdict, skipped)])}\n"


def _scores(run: RunView, title: str, notes: Sequence[str]) -> Table:
    metrics = run.metrics
    over, other = metrics.headline, "macro" if metrics.headline == "micro" else "micro"
    measures = [measure for _, names in shown_measures(metrics) for measure in names]
    means = headline_means(run, measures)
    columns = [
        Column(name="measure", value=heading),
        number(f"{over} mean, 95 % CI", lambda measure: Estimate(*means[measure]), ".3f"),
        number(f"{other} mean", metrics.over(other).get, ".3f"),
        number("ceiling", metrics.headline_ceilings.get, ".3f", missing=""),
        number("% of ceiling", metrics.shares_of_ceiling.get, ".0%"),
    ]
    return table_of(columns, measures, title=title, notes=notes)


@dataclass(frozen=True, slots=True)
class _MeasureRow:
    """A run's mean of a measure; `difference` is to the reference (None for the reference itself)."""

    measure: str
    run: str
    mean: float
    difference: Comparison | None


def _differences(runs: Sequence[RunView], verdict: WordedVerdict, title: str, notes: Sequence[str]) -> Table:
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
    notes = [*adjusted_notes(line.difference for line in lines if line.difference), *notes]
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


def _title(runs: Sequence[RunView]) -> Iterator[str]:
    """Return what was measured, in lines that fit."""
    first = runs[0].metrics
    alone = f"{runs[0].label or first.chunker}{BETWEEN}" if len(runs) == 1 else ""
    for line in (
        first.dataset.label,
        f"{alone}protocol {first.protocol}{BETWEEN}embedder {first.embedder}{BETWEEN}retriever {first.retriever}",
    ):
        yield from wrap(line, WIDTH, break_long_words=False, break_on_hyphens=False)


def _lost(run: RunView) -> Iterator[str]:
    metrics = run.metrics
    if metrics.imported:
        return
    counts = metrics.counts
    if counts.queries_truncated or counts.chunks_truncated:
        queries, chunks = counts.queries_truncated or 0, counts.chunks_truncated or 0
        yield f"the model cuts {queries} of {counts.queries} queries and {chunks} of {counts.chunks} chunks"
    if counts.queries_without_relevant:
        without = count(counts.queries_without_relevant, "query")
        yield f"{without} of {counts.queries} without a relevant chunk"
    yield from losses(run)
