"""What a command says first of its runs: the verdict, and one table that fits 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from repoeval_bench.analysis.comparable import run_names
from repoeval_bench.analysis.pair_verdicts import Outcome
from repoeval_bench.core.words import count
from repoeval_bench.metrics import CEILING, SHARE, lower_is_better
from repoeval_bench.report.formats import markdown, markdown_text
from repoeval_bench.report.scores import headline_ends, losses, shown_measures
from repoeval_bench.report.table import Column, Emphasis, Estimate, Row, Table, figures, make_table
from repoeval_bench.report.terminal import folded
from repoeval_bench.report.text import BETWEEN, heading, outcome_name, short_names

if TYPE_CHECKING:
    from repoeval_bench.analysis.records import Comparison
    from repoeval_bench.report.verdict import WordedVerdict
    from repoeval_bench.runs.view import RunView

WIDTH = 80
"""Columns of a terminal as it is opened, which the table fits."""

BESIDE = "ndcg@10"
"""What is shown beside the measure that decides: it is the field's, and may say otherwise."""

_FEW = 4
"""Measures that are all shown where there are no more, as after `--measure`."""

_NAME, _HEAD, _CELL = 20, 12, 16
"""Characters of a run's name in a row, of the one in a heading, and of a measure and a verdict in a line."""


def left_out_notes(chunkers: Iterable[str]) -> list[str]:
    """A note on the chunkers that know too few languages; why was said when they were left out."""
    named = ", ".join(chunkers)
    return [f"left out, not knowing a language of the data: {named}"] if named else []


def answer_table(runs: Sequence[RunView], found: WordedVerdict, left_out: Iterable[str] = ()) -> Table:
    """Of one run every measure that is printed at all; of several the mean of each and its difference by the verdict.

    What was left out, cut or not found is counted in the notes, and the chunkers `left_out` are named.
    """
    title = "\n".join(_title(runs))
    notes = list(found.notes)
    notes += [f"{name}: {line}" for name, run in zip(_names(runs), runs, strict=True) for line in _lost(run)]
    notes += left_out_notes(left_out)
    if len(runs) == 1:
        return _scores(runs[0], title, notes)
    return _differences(runs, found, title, notes)


def answer_markdown(runs: Sequence[RunView], found: WordedVerdict, left_out: Iterable[str] = ()) -> str:
    """The verdict and the table as a section in Markdown, to be appended to a GitHub step summary."""
    return f"{markdown_text(found.text)}\n\n{markdown([answer_table(runs, found, left_out)])}\n"


def _scores(run: RunView, title: str, notes: Sequence[str]) -> Table:
    metrics = run.metrics
    over, other = (metrics.headline, "macro" if metrics.headline == "micro" else "micro")
    measures = [measure for _, names in shown_measures(metrics) for measure in names]
    low, high = headline_ends(run, measures)
    ceilings, shares = run.metrics.headline_ceilings, metrics.shares_of_ceiling
    rows = [
        (
            heading(measure),
            Estimate(metrics.over(over)[measure], (low[measure], high[measure]) if measure in low else None),
            metrics.over(other)[measure],
            ceilings.get(measure),
            shares.get(measure),
        )
        for measure in measures
    ]
    columns = [
        Column(name="measure"),
        *figures(f"{over} mean, 95 % CI", f"{other} mean", number=".3f"),
        *figures("ceiling", number=".3f", missing=""),
        *figures("% of ceiling", number=".0%"),
    ]
    return make_table(columns, rows, title=title, notes=notes)


def _differences(runs: Sequence[RunView], found: WordedVerdict, title: str, notes: Sequence[str]) -> Table:
    names, full, over = _names(runs), run_names(runs), runs[0].metrics.headline
    reference = names[found.reference]
    against = {(each.measure, each.treatment): each for each in found.record.differences}
    measures = list(dict.fromkeys(each.measure for each in found.record.differences))
    measures = [measure for measure in measures if not measure.endswith((CEILING, SHARE))] or measures
    if len(measures) > _FEW:
        measures = [measure for measure in measures if measure in (found.record.measure, BESIDE)]
    rows = []
    for measure in measures:
        means = [run.metrics.over(over)[measure] for run in runs]
        order = sorted(range(len(runs)), key=lambda i: means[i], reverse=not lower_is_better(measure))
        order.sort(key=lambda i: i != found.reference)
        for at, i in enumerate(order):
            each = against.get((measure, full[i]))
            rows.append(Row(_row(heading(measure) if at == 0 else "", names[i], means[i], each), _emphasis(each)))
    minus = reference if len(reference) <= _HEAD else "the first"
    columns = [
        Column(name="measure"),
        Column(name="run"),
        *figures("mean", number=".3f"),
        *figures(f"minus {minus}, 95 % CI", number="+.3f", missing=""),
        Column(name="verdict"),
    ]
    return make_table(columns, rows, title=title, notes=notes)


def _row(
    measure: str, name: str, mean: float, each: Comparison | None
) -> tuple[tuple[str, ...], tuple[str, ...], float, Estimate | None, tuple[str, ...]]:
    difference = None if each is None else Estimate(each.difference, each.ci)
    verdict = "" if each is None else outcome_name(each.verdict)
    return _lines(measure), tuple(folded(name, _NAME).splitlines()), mean, difference, _lines(verdict)


def _lines(text: str) -> tuple[str, ...]:
    return tuple(wrap(text, _CELL))


def _emphasis(each: Comparison | None) -> Emphasis:
    if each is None:
        return "strong"
    if not each.is_significant:
        return ""
    return "better" if each.verdict.outcome is Outcome.BETTER else "worse"


def _names(runs: Sequence[RunView]) -> list[str]:
    return short_names(run_names(runs))


def _title(runs: Sequence[RunView]) -> Iterator[str]:
    """What was measured, in lines that fit."""
    first = runs[0].metrics
    alone = f"{first.chunker}{BETWEEN}" if len(runs) == 1 else ""
    for line in (
        first.dataset.label,
        f"{alone}protocol {first.protocol}{BETWEEN}embedder {first.embedder}{BETWEEN}retriever {first.ranked_by}",
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
