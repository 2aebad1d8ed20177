"""Printing the score tables of runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from repoeval_bench.cli.console import at_terminal, print_tables

if TYPE_CHECKING:
    from repoeval_bench.runs.view import RunView


def print_scores(runs: Sequence[RunView]) -> None:
    """The score tables of runs of one protocol and their notes; at a terminal the headline as bars first."""
    from repoeval_bench.report.scores import headline_table, score_tables

    if at_terminal() and (headline := headline_table(runs)):
        print_tables([headline])
    print_tables(score_tables(runs))
