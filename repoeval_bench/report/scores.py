"""Scores of stored runs as tables and as CSV."""

from collections.abc import Iterable, Sequence
from math import ceil
from typing import Any

from repoeval_bench.analysis.comparable import headline_measure, run_names
from repoeval_bench.analysis.means import headline_means, mean_of_answered
from repoeval_bench.core.words import count, plural
from repoeval_bench.metrics import BUDGETS, CEILING, LINE_MEASURES, SHARE, TEXT_MEASURES
from repoeval_bench.metrics.measure import ceiling_of
from repoeval_bench.protocols.protocol import PROTOCOLS
from repoeval_bench.report.formats import as_csv
from repoeval_bench.report.table import Column, Estimate, Table, number, record_table, table_of, with_notes
from repoeval_bench.report.text import BETWEEN, LOSSES, heading, meaning_of, short_names
from repoeval_bench.runs.query_scores import repository_kind
from repoeval_bench.runs.records import Metrics
from repoeval_bench.runs.view import RunView

SHOWN = ("line_rprec", "line_recall_auc", "line_recall@500", "line_recall@1500", "line_recall@3000", "line_recall@6000")
"""The default line measures that the terminal's table has room for."""


def score_tables(runs: Sequence[RunView]) -> list[Table]:
    """Return a table for each run; the notes on the runs are below the last one."""
    return with_notes([score_table(run) for run in runs], run_notes(runs)) if runs else []


def score_table(run: RunView, notes: Iterable[str] = ()) -> Table:
    """Return a row for each measure: its headline mean with interval, the other mean, and the ceiling."""
    metrics = run.metrics
    over, other = metrics.headline, "macro" if metrics.headline == "micro" else "micro"
    measures = shown_measures(metrics)
    means = headline_means(run, measures)
    columns = [
        Column(name="measure", value=heading),
        number(f"{over} mean, 95 % CI", lambda measure: Estimate(*means[measure]), ".3f"),
        number(f"{other} mean", metrics.over(other).get, ".3f"),
        number("ceiling", metrics.headline_ceilings.get, ".3f", missing=""),
        number("% of ceiling", metrics.shares_of_ceiling.get, ".0%", missing=""),
    ]
    return table_of(columns, measures, title=title_of_scores(run, alone=True), notes=notes)


def title_of_scores(run: RunView, *, alone: bool) -> str:
    """Return what was measured, and what the deciding measure means; the chunker too where the run stands `alone`."""
    metrics = run.metrics
    parts = [f"{part} {getattr(metrics, part)}" for part in ("protocol", "embedder", "retriever")]
    named = [run.label or metrics.chunker, *filter(None, [metrics.completion])] if alone else []
    unscored = metrics.counts.tasks_unscored
    known = PROTOCOLS.known(metrics.protocol.partition("+")[0])
    unit = (known and known.part.unit) or "other task"
    tasks = f"{count(unscored, unit)} without a query or target under the protocol"
    left_out = f"not scored: {tasks}" if unscored else ""
    budget = next((heading(name) for name in shown_measures(metrics) if "_recall@" in name), "") if alone else ""
    what, _, first = budget.partition("@")
    at_budget = budget and f"{budget}: share of the target {what} in the first {first} non-whitespace characters"
    groups = plural(repository_kind(run.scores.clustered_by)) if alone else ""
    means = groups and f"micro mean: over queries; macro mean: over {groups}"
    meanings = (meaning_of(headline_measure([run])), at_budget, means)
    return "\n".join(filter(None, (metrics.dataset.label, left_out, BETWEEN.join([*named, *parts]), *meanings)))


def shown_measures(metrics: Metrics) -> list[str]:
    """Return the measures that a table has room for, the most comparable between chunkers first."""
    # Ceilings have rows of their own, so their columns are for `compare`.
    measures = [measure for measure in metrics.micro if not measure.endswith((CEILING, SHARE))]
    if set(LINE_MEASURES) <= set(measures):
        # Every budget is in the files; a table of them all would be wider than a screen.
        measures = [measure for measure in measures if measure not in LINE_MEASURES or measure in SHOWN]
    groups: tuple[str | tuple[str, ...], ...] = ("definition_", "line_", TEXT_MEASURES, "")
    return [*dict.fromkeys(name for group in groups for name in measures if name.startswith(group))]


def run_notes(runs: Sequence[RunView]) -> list[str]:
    """Return notes on each run, and what the columns mean; none without runs."""
    if not runs:
        return []
    first = runs[0].metrics
    notes = [line for run in runs for line in footnotes(run)]
    notes.append(
        f"95 % CI: interval of the {first.headline} mean, with files as units; compare tests differences between runs"
    )
    notes += dict.fromkeys(note for run in runs for note in ceiling_notes(run))
    if any(run.metrics.around for run in runs):
        notes.append("ceilings rank grep's hits, each with the lines around it")
    return notes


def ceiling_notes(run: RunView) -> list[str]:
    """Return the meaning of the ceilings in a run's table, a note for each way in which they are computed."""
    # By name: the measure of a stored run may be code that is not to be imported.
    first = {name.partition("_")[0] for name in run.metrics.headline_ceilings}
    kinds = [(f"ceiling of {kind[:-1]} measures", kind) for kind in ("definitions", "lines") if kind[:-1] in first]
    of_chunks = [("ceiling of chunk measures", "relevant")] if first - {"definition", "line"} else []
    return [f"{of}: {ceiling_of(kind)}" for of, kind in (*kinds, *of_chunks)]


def _truncation(metrics: Metrics) -> str:
    counts = metrics.counts
    if not metrics.chunk_tokens:
        known = counts.queries_truncated is not None
        return "nothing embedded" if known else f"truncated: not known, {metrics.embedder} does not count tokens"
    return (
        f"the embedding model truncated {counts.queries_truncated} of {counts.queries} queries and "
        f"{counts.chunks_truncated} of {counts.chunks} chunks"
    )


def footnotes(run: RunView) -> list[str]:
    """Notes on a run: sizes, truncation, and everything that was skipped or cannot be found."""
    metrics = run.metrics
    counts, sizes, tokens = metrics.counts, metrics.chunk_nws, metrics.chunk_tokens
    lines = [
        f"{run.label or metrics.chunker}: {count(counts.chunks, 'chunk')} of {count(counts.files, 'file')}"
        + (
            f", characters without whitespace mean {sizes.mean:.0f}, median {sizes.median}, p95 {sizes.p95}"
            if sizes
            else ""
        )
        + (f"; tokens mean {tokens.mean:.0f}, median {tokens.median}, p95 {tokens.p95}" if tokens else ""),
        f"  {_truncation(metrics)}; "
        f"queries with no relevant chunk: {counts.queries_without_relevant} of {counts.queries}",
    ]
    if metrics.query_gold_overlap:
        lines.append(f"  {metrics.gold_in_query:.1%} of the target lines are in the query")
    if copies := counts.chunks_duplicate:
        lines.append(f"  chunks with the same text as another of their repository: {copies}")
    return [*lines, *(f"  {line}" for line in losses(run))]


def losses(run: RunView) -> list[str]:
    """Return a line with a number for everything that was left out of a run, merged, or cannot be found."""
    counts, lines = run.metrics.counts, []
    if 2 * (without := counts.queries_without_relevant) > counts.queries:
        lines.append(f"{without} of {counts.queries} queries have no relevant chunk and score 0 with every ranking")
    ceilings = run.metrics.headline_ceilings
    if zero := [heading(name) for name in shown_measures(run.metrics) if ceilings.get(name) == 0]:
        lines.append(f"{', '.join(zero)}: no ranking of these chunks scores above 0")
    if short := too_short(run.metrics):
        lines.append(short)
    return [*lines, *(f"{words}: {n}" for name, words in LOSSES.items() if (n := getattr(counts, name)))]


def unanswered_notes(runs: Sequence[RunView], measure: str | None = None) -> list[str]:
    """Return a note on each run whose log lacks queries, by `measure` or by the run's own headline measure."""
    runs = list({run.folder: run for run in runs}.values())
    lines = []
    for run, name in zip(runs, short_names(run_names(runs)), strict=True):
        if lost := run.counts.queries_not_in_log:
            by = measure or headline_measure([run])
            lines.append(
                f"{name}: {lost:,} of {count(run.counts.queries, 'query')} are not in the log and score 0; without "
                f"them {heading(by)} is {mean_of_answered(run, by):.3f}, not {run.metrics.micro[by]:.3f}"
            )
    return lines


def too_short(metrics: Metrics) -> str:
    """Return a note if the ranked chunks have fewer characters than the areas go up to; "" if they have enough."""
    most, size = BUDGETS[-1], metrics.chunk_nws.read if metrics.chunk_nws else 0.0
    areas = [name for name in ("definition_recall_auc", "line_recall_auc") if name in metrics.micro]
    of_repository = metrics.counts.chunks / max(1, len(metrics.per_repo))
    if not areas or metrics.around or of_repository <= metrics.k or not 1 <= size < most / metrics.k:
        return ""
    return (
        f"{metrics.k} chunks have about {metrics.k * size:,.0f} characters without whitespace, and {heading(areas[0])} "
        f"goes up to {most:,}; --k {ceil(most / size)} ranks enough"
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
    means = [*metrics.per_repo.items(), ("micro", metrics.micro), ("macro", metrics.macro)]
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
