"""The tables of a page, and how any table becomes its cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING, Any

from repoeval_bench.analysis.comparable import headline_measure
from repoeval_bench.analysis.means import headline_means
from repoeval_bench.metrics import CEILING, SHARE, TEXT_MEASURES, Measure, lower_is_better
from repoeval_bench.metrics.measure import UNREGISTERED
from repoeval_bench.report.table import Cell, Column, Estimate, Table, make_table, number
from repoeval_bench.report.text import COUNTS, heading, interval, printable

if TYPE_CHECKING:
    from repoeval_bench.report.html.runs import PageRun
    from repoeval_bench.runs.view import RunView


@dataclass(frozen=True, slots=True)
class PageCell:
    """A text with a line below it; `value` is what the column is sorted by."""

    text: str
    below: str = ""
    value: float | None = None


def page_table(table: Table, runs: Sequence[int] = ()) -> dict[str, Any]:
    """Return a table's heads and cells as the template shows them; a column without any value is left out.

    The first column of texts names the rows. `runs` are the positions of the rows' runs, in whose colours they are.
    """
    by_column = [[row.cells[i] for row in table.rows] for i in range(len(table.columns))]
    filled = [any(cell not in (None, "", ("",)) for cell in cells) for cells in by_column]
    columns = list(compress(table.columns, filled))
    cells = [
        [_cell(column, cell) for cell in of_column] for column, of_column in zip(table.columns, by_column, strict=True)
    ]
    names = next((i for i, column in enumerate(columns) if column.align == "left"), None)
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
        "rows": list(zip(*compress(cells, filled), strict=True)),
        "runs": list(runs),
    }


def _cell(column: Column, cell: Cell) -> PageCell:
    if isinstance(cell, Estimate):
        return PageCell(format(cell.value, column.number), interval(cell.ci, column.number), cell.value)
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
            lowest_first=lower_is_better(name),
        )

    share = number(
        "% of ceiling",
        lambda run: run.stored.metrics.shares_of_ceiling.get(first),
        ".1%",
        key="share",
        meaning=f"{heading(first)} over the best score that is known to be possible with these chunks.",
    )
    named = Column(name=kind, value=lambda run: run.short)
    return [named, score(first), share, *map(score, names[1:])]


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
