"""Which measure of retrieval predicts completions, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from repoeval_bench.report.table import Table, figures, make_table, spec_column, with_notes
from repoeval_bench.report.text import cluster_count, heading, interval

if TYPE_CHECKING:
    from repoeval_bench.analysis.records import Interval
    from repoeval_bench.analysis.validity import Target, Validity


def validity_tables(found: Validity) -> list[Table]:
    """A table for each measure of completions, the best predictor first; limits are noted below the last one."""
    tables = [_table(target, found) for target in found.targets]
    return with_notes(tables, _notes(found))


def _table(target: Target, found: Validity) -> Table:
    rows = [
        (
            each.measure,
            each.within,
            _interval(each.within_ci),
            None if each.first_in is None else f"{each.first_in:.0%}",
            each.over,
            _interval(each.over_ci),
        )
        for each in target.predictors
    ]
    columns = [
        spec_column("measure"),
        *figures("within queries", number="+.3f"),
        spec_column("95 %"),
        *figures("first in"),
        *figures("over runs", number="+.3f"),
        spec_column("95 % of these"),
    ]
    title = (
        f"what predicts {heading(target.measure)}: rank correlations over {len(found.runs)} runs, "
        f"{target.varying} of {found.n_queries} queries with completions that differ"
    )
    return make_table(columns, rows, title=title)


def _interval(ends: Interval) -> str:
    return "-" if ends is None else interval(ends, "+.3f")


def _notes(found: Validity) -> list[str]:
    among = cluster_count(found.n_clusters, found.clustered_by)
    return [
        f"model {found.model}; runs: {', '.join(found.runs)}.",
        "within queries: does the run with the higher value for a query have its better completion too? Ranks of the "
        "runs, centred in each query. A query whose completions score alike counts against a measure that differs. "
        f"over runs: Spearman's correlation of the runs' {found.mean} means.",
        f"Intervals are expanded percentiles of a bootstrap over {among}; first in: share of resamples "
        "in which the measure predicts best within queries.",
        f"limits: {len(found.runs)} runs that share texts are few for a correlation over runs. The measure at the top "
        "was picked as the best of all of these. Another model, budget or protocol can order them otherwise.",
    ]
