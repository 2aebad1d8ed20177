"""The cells of a sensitivity file as a table: how often each chunker wins, loses, or is undecided."""

from __future__ import annotations

from collections.abc import Sequence

from repoeval_bench.plugins.lab.sensitivity import Cell, tallies
from repoeval_bench.report.table import Table, figures, make_table, spec_column

VERDICTS = ("wins", "loses", "undecided")


def sensitivity_table(counted: Sequence[Cell]) -> Table:
    """Tabulate the number of cells by pair of chunkers, sizes and measure."""
    rows = [(*key, tally.total(), *(tally[verdict] for verdict in VERDICTS)) for key, tally in tallies(counted).items()]
    names = [spec_column(name, 34) for name in ("chunker", "against", "sizes", "measure")]
    return make_table(
        [*names, *figures("settings", *VERDICTS, number="d")],
        rows,
        title="settings in which the chunker wins, loses, or is undecided",
        notes=["a win is significant (Holm) within its setting, as in `compare`"],
    )
