"""What every table for the terminal looks like, and how its numbers are written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from repoeval_bench.metrics import CEILING, SHARE

if TYPE_CHECKING:
    from rich.table import Table

    from repoeval_bench.analysis.records import Interval

_NAMES = {
    "ndcg": "nDCG", "recall": "R", "precision": "P", "hit": "Hit", "mrr": "MRR",
    "line_recall": "lineR", "line_rprec": "lineRprec", "line_recall_auc": "area lineR",
}  # fmt: skip


def heading(measure: str) -> str:
    """A measure's name as a column heading: `ndcg@10` as `nDCG@10`."""
    # The mean of the queries' shares is not the share of the means that stands under the score tables.
    for ending, words in ((CEILING, "ceiling"), (SHARE, "mean share")):
        if measure.endswith(ending):
            return f"{heading(measure.removesuffix(ending))} {words}"
    name, at, rest = measure.partition("@")
    return _NAMES.get(name, name) + at + rest


def new_table(title: str | None = None) -> Table:
    """An empty table, its title (if it has one) above at the left."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    return Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)


def signed(value: float, interval: Interval) -> str:
    """A difference with its interval: `+0.0123 [+0.0001, +0.0245]`."""
    return f"{value:+.4f} " + (f"[{interval[0]:+.4f}, {interval[1]:+.4f}]" if interval else "[one cluster]")


def plain(value: float, interval: Interval) -> str:
    """A mean with its interval: `0.0123 [0.0001, 0.0245]`."""
    return f"{value:.4f} " + (f"[{interval[0]:.4f}, {interval[1]:.4f}]" if interval else "[one cluster]")


def probability(p: float | None) -> str:
    """A p-value with four digits; what is smaller is said to be so, and a dash where nothing was tested."""
    if p is None:
        return "-"
    return f"{p:.4f}" if p >= 0.0001 else "<0.0001"


def count(number: int, one: str, many: str = "") -> str:
    """`1 query`, `3 queries`: a number with its noun; `many` where it is not `one` and an s."""
    return f"{number} {one if number == 1 else many or one + 's'}"
