"""Scores of stored runs as tables and as CSV."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING, Any

from repoeval_bench.analysis.comparable import headline_measure, run_names
from repoeval_bench.analysis.means import headline_means, mean_of_answered
from repoeval_bench.core.words import count
from repoeval_bench.metrics import BUDGETS, CEILING, LINE_MEASURES, SHARE, TEXT_MEASURES
from repoeval_bench.protocols.protocol import Protocol
from repoeval_bench.protocols.query_gold_overlap import copy_note
from repoeval_bench.report.formats import as_csv
from repoeval_bench.report.table import (
    Cell,
    Column,
    Table,
    TableRow,
    figures,
    make_table,
    record_table,
    spec_column,
    with_notes,
)
from repoeval_bench.report.text import CHARACTERS_NOTE, COUNTS, heading, short_names

if TYPE_CHECKING:
    from repoeval_bench.runs.records import Metrics
    from repoeval_bench.runs.view import RunView

SHOWN = ("line_rprec", "line_recall_auc", "line_recall@500", "line_recall@1500", "line_recall@3000", "line_recall@6000")
"""The default line measures that the terminal's table has room for."""


def score_tables(runs: Sequence[RunView]) -> list[Table]:
    """The line measures (comparable between chunkers, so they come first), then the measures over chunks.

    One row per chunker and mean; all runs are of one protocol and dataset. Below each run's means are the ends of the
    headline mean's 95 % interval, its ceiling, and the score as a percentage of the ceiling. A single run is named in
    the title, and its repositories have rows of their own. The notes are below the last table.
    """
    first = runs[0].metrics
    title = [
        first.dataset.label,
        f"protocol {first.protocol} · embedder {first.embedder} · retriever {first.retriever}",
    ]
    if len(runs) == 1:
        title[1] = f"{runs[0].label or first.chunker} · {title[1]}"
    tables = []
    for index, (what, names) in enumerate(shown_measures(first)):
        columns = [Column(name="mean over"), *figures(*map(heading, names), missing="")]
        rows = [row for run in runs for row in _score_rows(run, names, alone=len(runs) == 1)]
        tables.append(
            make_table(
                columns if len(runs) == 1 else [spec_column("chunker"), *columns],
                rows,
                title="\n".join([*title, what] if index == 0 else [what]),
            )
        )
    return with_notes(tables, _notes(runs))


def shown_measures(metrics: Metrics) -> list[tuple[str, list[str]]]:
    """Return (title, measures that a table has room for), the most comparable between chunkers first."""
    # Ceilings have rows of their own, so their columns are for `compare`.
    measures = [measure for measure in metrics.micro if not measure.endswith((CEILING, SHARE))]
    definitions = [measure for measure in measures if measure.startswith("definition_")]
    lines = [measure for measure in measures if measure.startswith("line_")]
    written = [measure for measure in measures if measure in TEXT_MEASURES]
    chunks = [measure for measure in measures if measure not in (*definitions, *lines, *written)]
    if set(LINE_MEASURES) <= set(lines):
        # Every budget is in the files; a table of them all would be wider than a screen.
        lines = [measure for measure in lines if measure not in LINE_MEASURES or measure in SHOWN]
    groups = (
        ("definitions read whole, at equal budgets of characters", definitions),
        ("lines, at equal budgets of characters", lines),
        ("completions", written),
        ("chunks", chunks),
    )
    return [(what, names) for what, names in groups if names]


def _score_rows(run: RunView, measures: Sequence[str], *, alone: bool) -> list[TableRow]:
    headline = run.metrics.headline
    rows: list[TableRow] = []
    averaged = {"micro": count(run.counts.queries, "query"), "macro": count(len(run.metrics.per_repo), "repository")}
    for label, means in _means(run, per_repo=alone):
        name = f"{label}, {averaged[label]}" if label in averaged else label
        cells = [means.get(measure) for measure in measures]
        rows.append(TableRow((name, *cells), "strong" if label == headline else ""))
    ends = {name: ci for name, (_, ci) in headline_means(run, measures).items() if ci is not None}
    for label, values, number in (
        ("95 % CI low", {name: low for name, (low, _) in ends.items()}, ""),
        ("95 % CI high", {name: high for name, (_, high) in ends.items()}, ""),
        ("ceiling", run.metrics.headline_ceilings, ""),
        ("% of ceiling", run.metrics.shares_of_ceiling, ".1%"),
    ):
        if values or not label.startswith("95"):
            shares: list[Cell] = [values.get(measure) for measure in measures]
            if label == "% of ceiling":
                zero = [run.metrics.headline_ceilings.get(measure) == 0 for measure in measures]
                shares = ["-" if none else share for none, share in zip(zero, shares, strict=True)]
            rows.append(TableRow((f"  {headline} {label}", *shares), "faint", number))
    if alone:
        return rows
    name = " · ".join(filter(None, [run.label or run.metrics.chunker, run.metrics.completion]))
    names = [name, *[""] * (len(rows) - 1)]
    return [TableRow((name, *row.cells), row.emphasis, row.number) for name, row in zip(names, rows, strict=True)]


def _means(run: RunView, *, per_repo: bool) -> list[tuple[str, dict[str, float]]]:
    """Return (what is averaged, measure -> mean): the repositories if asked for, then micro and macro."""
    metrics = run.metrics
    return [*(metrics.per_repo.items() if per_repo else ()), ("micro", metrics.micro), ("macro", metrics.macro)]


def _notes(runs: Sequence[RunView]) -> list[str]:
    first = runs[0].metrics
    cautions = (copy_note(first.gold_in_query), Protocol.parse(first.protocol).caution)
    return [
        *(line for run in runs for line in footnotes(run)),
        f"95 % CI: interval of the {first.headline} mean over files; compare says which differences are significant",
        *([CHARACTERS_NOTE] if any(r.metrics.chunk_nws or LINE_MEASURES[0] in r.metrics.micro for r in runs) else []),
        *(f"note: {caution}" for caution in cautions if caution),
        *(["ceilings are of a choice among hits with what they bring"] if any(r.metrics.around for r in runs) else []),
    ]


def _cut(what: str, texts: int, truncated: int | None, tokens: int | None, lost: int | None) -> str:
    """Return how many texts of a kind the model does not read whole, and what share of all their tokens is lost."""
    share = f" ({lost / tokens:.1%} of their tokens lost)" if lost and tokens else ""
    return f"{truncated} of {texts} {what}{share}"


def _truncation(metrics: Metrics) -> str:
    counts = metrics.counts
    if metrics.chunk_tokens:
        queries = (counts.queries, counts.queries_truncated, counts.queries_tokens, counts.queries_tokens_lost)
        chunks = (counts.chunks, counts.chunks_truncated, counts.chunks_tokens, counts.chunks_tokens_lost)
        return f"truncated by the model: {_cut('queries', *queries)}, {_cut('chunks', *chunks)}"
    if counts.queries_truncated is None:
        return f"truncated by the model: not known, {metrics.embedder} does not count tokens"
    return "nothing embedded, nothing truncated"


def footnotes(run: RunView) -> list[str]:
    """Notes on a run: sizes, truncation, and everything that was skipped or cannot be found."""
    metrics = run.metrics
    counts, sizes, tokens = metrics.counts, metrics.chunk_nws, metrics.chunk_tokens
    lines = [
        f"{run.label or metrics.chunker}: {count(counts.chunks, 'chunk')} of {count(counts.files, 'file')}"
        + (f", characters mean {sizes.mean:.0f}, median {sizes.median}, p95 {sizes.p95}" if sizes else "")
        + (f"; tokens mean {tokens.mean:.0f}, median {tokens.median}, p95 {tokens.p95}" if tokens else ""),
        f"  {_truncation(metrics)} · queries with no relevant chunk: "
        f"{counts.queries_without_relevant} of {counts.queries}",
    ]
    if metrics.query_gold_overlap:
        lines.append(f"  {metrics.gold_in_query:.1%} of the gold's lines are in the query")
    if copies := counts.chunks_duplicate:
        lines.append(f"  chunks whose text repeats another of the repository: {copies}")
    return [*lines, *(f"  {line}" for line in losses(run))]


def losses(run: RunView) -> list[str]:
    """Return a line with a number for everything that was left out of a run, merged, or cannot be found."""
    counts, lines = run.metrics.counts, []
    if 2 * (without := counts.queries_without_relevant) > counts.queries:
        lines.append(
            f"note: {without} of {counts.queries} queries have no relevant chunk and score 0 with every ranking, "
            "so these means describe the chunks more than the ranking"
        )
    shown = [name for _, names in shown_measures(run.metrics) for name in names]
    if zero := [heading(name) for name in shown if run.metrics.headline_ceilings.get(name) == 0]:
        lines.append(f"{', '.join(zero)}: no ranking of these chunks reaches more than 0, so there is no % of ceiling")
    if short := too_short(run.metrics):
        lines.append(short)
    lost = ("chunks_merged", "pairs_truncated", "files_skipped", "files_undecodable", "lines_uncovered")
    return [*lines, *(f"{COUNTS[name]}: {number}" for name in lost if (number := getattr(counts, name)))]


def unanswered_notes(runs: Sequence[RunView], measure: str | None = None) -> list[str]:
    """Return a note on each run whose log lacks queries, by `measure` or by the run's own headline measure."""
    runs = list({run.folder: run for run in runs}.values())
    names = short_names(run_names(runs))
    return [
        _unanswered(run, name, measure) for run, name in zip(runs, names, strict=True) if run.counts.queries_not_in_log
    ]


def _unanswered(run: RunView, name: str, measure: str | None) -> str:
    measure = measure or headline_measure([run])
    lost, queries = run.counts.queries_not_in_log, run.counts.queries
    mean, over_answered = run.metrics.micro[measure], mean_of_answered(run, measure)
    return (
        f"{name}: {lost} of {count(queries, 'query')} are not in the log and score 0; the mean {heading(measure)} is "
        f"{mean:.3f}, and {over_answered:.3f} over the {queries - lost} in the log"
    )


def too_short(metrics: Metrics) -> str:
    """Return a note if the ranked chunks have fewer characters than the areas go up to; "" if they have enough."""
    most = BUDGETS[-1]
    areas = [name for name in ("definition_recall_auc", "line_recall_auc") if name in metrics.micro]
    of_repository = metrics.counts.chunks / max(1, len(metrics.per_repo))
    if not areas or metrics.chunk_nws is None or metrics.chunk_nws.mean < 1 or metrics.around:
        return ""
    if of_repository <= metrics.k:
        return ""
    if (read := metrics.k * metrics.chunk_nws.mean) >= most:
        return ""
    enough = ceil(most / metrics.chunk_nws.mean)
    return (
        f"{metrics.k} chunks have about {read:,.0f} characters, and {heading(areas[0])} goes up to {most:,}: "
        f"--k {enough} ranks enough"
    )


def scores_csv(runs: Sequence[RunView]) -> str:
    """One line per run and mean, every measure in full precision; empty where a run lacks one."""
    return as_csv(record_table(record for run in runs for record in _records(run)))


def chunk_sizes(run: RunView) -> dict[str, float]:
    """Return the realised mean, median and p95 of the run's chunk sizes, in nws; nothing of an imported run."""
    sizes = run.metrics.chunk_nws
    return {} if sizes is None else {f"chunk {name}": getattr(sizes, name) for name in ("mean", "median", "p95")}


def _records(run: RunView) -> list[dict[str, Any]]:
    """A flat record per repository, mean, ceiling and share of ceiling, each with the dataset and specs.

    Measures have the names of the printed tables.
    """
    metrics = run.metrics
    identity = {
        **({"run": run.label} if run.label else {}),
        "dataset": metrics.dataset.name,
        "fingerprint": metrics.dataset.fingerprint,
        "tasks": metrics.dataset.tasks,
        "protocol": metrics.protocol,
        "chunker": metrics.chunker,
        "embedder": metrics.embedder,
        "retriever": metrics.retriever,
        **chunk_sizes(run),
        **({"queries not in the log": lost} if (lost := metrics.counts.queries_not_in_log) else {}),
    }
    means = _means(run, per_repo=True)
    if metrics.ceilings:
        headline = metrics.headline
        means += [
            (f"{headline} ceiling", metrics.headline_ceilings),
            (f"{headline} share of ceiling", metrics.shares_of_ceiling),
        ]
    return [
        {**identity, "mean_over": label, **{heading(name): value for name, value in values.items()}}
        for label, values in means
    ]
