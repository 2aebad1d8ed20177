"""The tables of a page (scores, differences, segments), and how any table becomes cells with bars."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, compress
from typing import TYPE_CHECKING, Any

from repoeval_bench.analysis.comparable import headline_measure
from repoeval_bench.analysis.means import headline_means, search_time
from repoeval_bench.analysis.segments import heterogeneity, segment_differences, segment_means, segment_names, split
from repoeval_bench.analysis.sign_flips import FEW_CLUSTERS
from repoeval_bench.metrics import CEILING, SHARE, TEXT_MEASURES, Measure, lower_is_better
from repoeval_bench.metrics.condensed import UNREGISTERED
from repoeval_bench.report.segments import clusters_heading, few_note, heterogeneity_lines
from repoeval_bench.report.table import Cell, Column, Estimate, Table, make_table, number, table_of
from repoeval_bench.report.text import COUNTS, heading, interval, printable

if TYPE_CHECKING:
    from repoeval_bench.report.html.runs import PageRun
    from repoeval_bench.runs.view import RunView


BAR = 58.0
"""Width of a cell's bar in user units."""


@dataclass(frozen=True, slots=True)
class PageCell:
    """A text with a line below it; `value` is what the column is sorted by, `bar` are (dot, from, to) within `BAR`."""

    text: str
    below: str = ""
    value: float | None = None
    bar: tuple[float, float, float] | None = None


def page_table(table: Table, runs: Sequence[int] = (), *, one_scale: bool = False) -> dict[str, Any]:
    """Return a table's heads and cells as the template shows them; a column without any value is left out.

    The first column of texts names the rows. `runs` are the positions of the rows' runs, in whose colours they are.
    Bars of a column share one scale, those of all columns where it is `one_scale`.
    """
    by_column = [[row.cells[i] for row in table.rows] for i in range(len(table.columns))]
    filled = [any(cell not in (None, "", ("",)) for cell in cells) for cells in by_column]
    columns, shown = list(compress(table.columns, filled)), list(compress(by_column, filled))
    names = next((i for i, column in enumerate(columns) if column.align == "left"), None)
    scales = [_ends(cells) if column.bar else None for column, cells in zip(columns, shown, strict=True)]
    if one_scale and (ends := [*chain(*filter(None, scales))]):
        scales = [scale and (min(ends), max(ends)) for scale in scales]
    cells = [
        [_cell(column, cell, scale) for cell in of_column]
        for column, of_column, scale in zip(columns, shown, scales, strict=True)
    ]
    return {
        "heads": [
            {
                "name": printable(column.name or column.key),
                "key": column.key,
                "meaning": column.meaning,
                "right": column.align == "right",
                "names": i == names,
                "lowest_first": column.lowest_first,
            }
            for i, column in enumerate(columns)
        ],
        "rows": list(zip(*cells, strict=True)),
        "runs": list(runs),
        "bar_width": int(BAR),
    }


def _ends(cells: Sequence[Cell]) -> tuple[float, float] | None:
    """The lowest and the highest end of the intervals; None where nothing is to be drawn."""
    estimates = [cell for cell in cells if isinstance(cell, Estimate)]
    ends = [end for cell in estimates for end in (cell.value, *(cell.ci or ())) if end is not None]
    return (min(ends), max(ends)) if ends else None


def _cell(column: Column, cell: Cell, scale: tuple[float, float] | None) -> PageCell:
    if isinstance(cell, Estimate):
        text, below = format(cell.value, column.number), interval(cell.ci, column.number)
        if scale is None or cell.ci is None or None in cell.ci:
            return PageCell(text, below, cell.value)
        low, high = scale
        unit = BAR / (high - low) if high > low else 0.0
        dot, start, end = (round(((value or 0.0) - low) * unit, 1) for value in (cell.value, *cell.ci))
        return PageCell(text, below, cell.value, (dot, start, end))
    if isinstance(cell, tuple):
        first, *rest = map(printable, cell)
        return PageCell(first, "; ".join(rest))
    value = cell if isinstance(cell, int | float) else None
    return PageCell(printable(column.written(cell)), value=value)


MEASURES = (
    "line_recall@1500",
    "ndcg@5",
    "ndcg@10",
    "recall@1",
    "recall@3",
    "recall@5",
    "recall@10",
    "precision@5",
    "mrr",
    "distinct_files@10",
    *TEXT_MEASURES,
)
"""Columns behind the run's own headline measure, where the runs were scored by them."""


def score_columns(runs: Sequence[PageRun], kind: str) -> list[Column]:
    """Return the columns, of a `PageRun` each; `kind` is what the runs are."""
    first = headline_measure([run.stored for run in runs])
    names = tuple(dict.fromkeys((first, *MEASURES)))
    means = {run.stored.folder: headline_means(run.stored, names) for run in runs}

    def mean(name: str) -> Callable[[PageRun], Estimate | None]:
        return lambda run: Estimate(*estimate) if (estimate := means[run.stored.folder].get(name)) else None

    def score(name: str) -> Column:
        known = name not in UNREGISTERED and not name.endswith((CEILING, SHARE))
        return number(
            heading(name),
            mean(name),
            ".3f",
            key=name,
            meaning=Measure.parse(name).definition.meaning if known else "",
            interval=True,
            bar=True,
            lowest_first=lower_is_better(name),
        )

    share = number(
        "% of ceiling",
        lambda run: run.stored.metrics.shares_of_ceiling.get(first),
        ".1%",
        key="share",
        meaning=f"{heading(first)} over the best score that is known to be possible with these chunks.",
    )
    search = number(
        "search, ms",
        lambda run: search_time(run.stored),
        ".2f",
        key="search",
        meaning="Median time to search for one query, on the machine that ran it. A dense query's vector is known "
        "already, while BM25 still splits its query into terms, so this does not compare retrievers fairly.",
        lowest_first=True,
    )
    named = Column(name=kind, value=lambda run: run.short)
    return [named, score(first), share, *map(score, names[1:]), search]


def segments(runs: Sequence[PageRun], measure: str, order: Sequence[int]) -> tuple[Table, list[str]]:
    """Return a row for each segment of every fact that the first run stored, and the warnings that go with it.

    A column is a run's mean by `measure`, the runs in an `order` that begins with the best.
    """
    scored, best = [run.scores for run in runs], order[0]
    first = scored[0]
    # A fact that all queries share would repeat the whole.
    splits = [split(first, by) for by in segment_names(first) if by != first.clustered_by]
    parts = [part for parts in splits if len(parts) > 1 for part in parts]
    over = runs[0].stored.metrics.headline
    means = [segment_means(scores, parts, measure, over) for scores in scored]
    ahead: list[list[str]] = [[] for _ in parts]
    warnings = [few_note(means[0], first.clustered_by)]
    for i, run in enumerate(runs):
        if i == best:
            continue
        differences = segment_differences(scored[best], scored[i], parts, measure, over)
        varying = [scores for scores in heterogeneity(differences) if scores.apart]
        warnings += [f"{run.short} minus {runs[best].short}, {line}." for line in heterogeneity_lines(varying)]
        for row, difference in enumerate(differences):
            # The best has the highest mean, so a sign that is not the overall one's is the other run's lead.
            if difference.against:
                ahead[row].append(run.short)
    clusters = clusters_heading(first.clustered_by)

    def of_run(i: int) -> Callable[[int], Estimate]:
        return lambda row: Estimate(means[i][row].mean, means[i][row].ci)

    def note(row: int) -> str:
        few = f"few {clusters}" if means[0][row].n_clusters < FEW_CLUSTERS else ""
        lead = f"{' and '.join(ahead[row])} ahead of {runs[best].short}" if ahead[row] else ""
        return "; ".join(filter(None, (few, lead)))

    columns = [
        Column(name="segment", value=lambda row: f"{parts[row].by} = {parts[row].name}"),
        number("queries", lambda row: means[0][row].n_queries, "d"),
        number(clusters, lambda row: means[0][row].n_clusters, "d"),
        *(number(runs[i].short, of_run(i), ".3f", bar=True) for i in order),
        Column(name="note", value=note),
    ]
    return table_of(columns, range(len(parts)), "page"), [line.removeprefix("note: ") for line in warnings if line]


def origin_table(runs: Sequence[PageRun]) -> Table:
    """Return a column for each run, and a row for each fact, count and version that any of them has."""
    origins = [_origin(run.stored) for run in runs]
    names = dict.fromkeys(name for origin in origins for name, value in origin.items() if value)
    columns = ["what", *(run.short for run in runs)]
    return make_table(columns, ([name, *(origin.get(name, "") for origin in origins)] for name in names))


def _origin(run: RunView) -> dict[str, str]:
    metrics, manifest = run.metrics, run.manifest
    config, code = manifest.config, manifest.code
    identity = config.embedder_identity if config else {}
    choices = config.choices.as_json() if config else {}
    counts = metrics.counts.as_json()
    return {
        "run": run.run_id,
        "made": manifest.created,
        "commit": f"{code.commit or ''}{' with changes' if code.dirty else ''}",
        "dataset": metrics.dataset.label,
        "fingerprint": metrics.dataset.fingerprint,
        "definition": config.pack if config else "",
        "chunker": metrics.chunker,
        "retriever": metrics.retriever,
        "embedder": metrics.embedder,
        **{f"embedder: {key}": str(value) for key, value in identity.items()},
        "depth k": str(metrics.k),
        "protocol": metrics.protocol,
        **{f"protocol: {key}": str(value) for key, value in choices.items() if key != "name"},
        **{COUNTS.get(name, name): f"{value:,}" for name, value in counts.items() if isinstance(value, int)},
        **{name: str(version) for name, version in manifest.versions.items()},
    }
