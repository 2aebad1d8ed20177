"""Differences between runs as tables with notes, as records and as CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field, TypeAdapter

from repoeval_bench.analysis.records import Comparison, Influence, Outcome
from repoeval_bench.analysis.verdicts import Choice
from repoeval_bench.core.words import count
from repoeval_bench.report.formats import as_csv
from repoeval_bench.report.table import (
    P_VALUE,
    Column,
    Estimate,
    Table,
    number,
    record_table,
    table_of,
    with_notes,
)
from repoeval_bench.report.text import (
    BORDERLINE_NOTE,
    EQUAL,
    adjusted_notes,
    cluster_count,
    flipped_units,
    full_outcome_name,
    heading,
)
from repoeval_bench.runs.records import Record


class ComparedRow(Record):
    """All that `compare --json` prints; `choice` is null where a baseline was named."""

    comparisons: list[Comparison]
    choice: Choice | None
    left_out: Mapping[str, str]
    """Chunker -> the reason why it has no run."""
    notes: list[str] = Field(default_factory=list)
    """Notes on runs whose log lacks queries; missing where there are none."""


def comparison_tables(comparisons: Sequence[Comparison]) -> list[Table]:
    """One table per pair, with its differences, tests and verdicts; the notes are below the last one."""
    pairs: dict[tuple[str, str], list[Comparison]] = {}
    for c in comparisons:
        pairs.setdefault((c.baseline, c.treatment), []).append(c)
    tables = []
    for pair in pairs.values():
        first = pair[0]
        queries, clusters = count(first.n_queries, "query"), cluster_count(first.n_clusters, first.clustered_by)
        title = f"{first.treatment}\nminus {first.baseline}: {queries} in {clusters}"
        tables.append(table_of(comparison_columns(first), pair, title=title, notes=_influence_notes(pair)))
    return with_notes(tables, comparison_notes(comparisons)) if tables else []


def comparison_columns(first: Comparison) -> list[Column]:
    """Return the columns of a table of differences, one `Comparison` a row; JSON and CSV have every field."""
    return [
        Column(name="measure", value=lambda comparison: heading(comparison.measure)),
        number(
            f"{first.headline} difference, 95 % CI",
            lambda comparison: Estimate(comparison.difference, comparison.ci),
            "+.4f",
        ),
        number("p (Holm)", lambda comparison: comparison.p_adjusted, P_VALUE),
        number("win/tie/loss", lambda comparison: f"{comparison.wins}/{comparison.ties}/{comparison.losses}"),
        Column(name="verdict", value=lambda comparison: full_outcome_name(comparison.verdict)),
    ]


def comparison_notes(comparisons: Sequence[Comparison]) -> list[str]:
    """Return what the tables mean."""
    first = comparisons[0]
    flipped_by = flipped_units(first.clustered_by)
    if first.clustered_by == "query":
        flipped_by = "queries, as no files are named: similar queries count as independent"
    sizes, effective = " of equal size, or nearly.", f"{first.effective_clusters:.0f}"
    if effective != str(first.n_clusters):
        sizes = f", but a few hold most queries: they count like {effective} of equal size."
    lines = [
        f"verdict: sign-flip test of the {first.headline} mean{families(comparisons)}",
        f"intervals and tests flip the signs of {flipped_by}.",
        cluster_count(first.n_clusters, first.clustered_by) + sizes,
    ]
    outcomes = {c.verdict.outcome for c in comparisons}
    if Outcome.NOT_SIGNIFICANT in outcomes:
        test = "" if first.margin is not None else "; --equivalence MARGIN tests that"
        lines.append(f'"not significant" does not mean equal{test}.')
    lines += adjusted_notes(comparisons)
    if Outcome.EQUAL in outcomes:
        lines.append(EQUAL)
    if Outcome.BORDERLINE in outcomes:
        lines.append(BORDERLINE_NOTE)
    if Outcome.NOT_TESTED in outcomes:
        lines.append("not tested: a ceiling, or a share of judged chunks, does not say how well a run ranks")
    return lines


def families(comparisons: Sequence[Comparison]) -> str:
    """Return how p is adjusted: the primary measure over the pairs, the others among themselves."""
    sizes = {c.primary: c.family for c in comparisons if c.p_adjusted is not None}
    words = []
    if True in sizes:
        measure = next(heading(c.measure) for c in comparisons if c.primary)
        words.append(f"{measure} (primary) is tested first and alone, Holm over {count(sizes[True], 'pair')}")
    if False in sizes:
        words.append(f"the other measures by Holm over {count(sizes[False], 'test')}")
    return f": {', '.join(words)}" if words else ""


def _influence_notes(pair: Sequence[Comparison]) -> list[str]:
    """Return the range of the pair's primary difference when one file, or one repository, is left out."""
    return [
        f"{heading(c.measure)}: {ends.low:+.4f} to {ends.high:+.4f} when one {what} is left out{_lost(c, ends)}"
        for c in pair
        for what, ends in ((c.clustered_by, c.by_file), ("repository", c.by_repository))
        if ends is not None
    ]


def _lost(c: Comparison, ends: Influence) -> str:
    """Return the file or repository that a difference depends on; "" if Holm already makes it not significant."""
    if ends.rests_on is None or c.verdict.outcome is not Outcome.CARRIED:
        return ""
    return f"; without {ends.rests_on} not significant (p = {ends.p:.2f})"


def comparison_records(comparisons: Sequence[Comparison]) -> list[dict[str, Any]]:
    """Every field as plain values, and the deciding mean's difference and interval beside them."""
    records: list[dict[str, Any]] = TypeAdapter(list[Comparison]).dump_python(list(comparisons), mode="json")
    return records


def comparison_csv(comparisons: Sequence[Comparison], sizes: Mapping[str, Mapping[str, float]]) -> str:
    """One line per pair and measure, every number in full precision; `micro.difference` and so on.

    `sizes` is the name of a run -> the sizes of its chunks.
    """
    rows = []
    for record in comparison_records(comparisons):
        of_pair = {
            f"{side} {name}": size for side in ("baseline", "treatment") for name, size in sizes[record[side]].items()
        }
        rows.append(record | {"measure": heading(record["measure"])} | of_pair)
    return as_csv(record_table(rows))
