"""The cells of a sensitivity grid as tables: how often each chunker wins, and which cells contradict the majority."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from statistics import median

from repoeval_bench.plugins.lab.sensitivity import PairedResult, flips
from repoeval_bench.report.table import Column, Estimate, Table, figures, make_table, spec_column
from repoeval_bench.report.text import heading

SHOWN = 12
"""The most contradicting cells that are listed; --json has all."""


def sensitivity_tables(paired_results: Sequence[PairedResult]) -> list[Table]:
    """Count verdicts by pair, sizes and measure; then list the decided cells that contradict the majority of a pair."""
    against = flips(paired_results)
    if not against:
        return [
            _summary(paired_results, [*_bands(paired_results), "no decided cell contradicts another of the same pair"])
        ]
    return [_summary(paired_results, _bands(paired_results)), _cells(against)]


def _summary(paired_results: Sequence[PairedResult], notes: Sequence[str]) -> Table:
    verdicts, title = ["wins", "loses", "undecided"], "settings in which the chunker wins, loses, or is undecided"
    if any(contest.band is not None for contest in paired_results):
        verdicts.append("noise")
        title = "settings in which the chunker wins, loses, is undecided, or differs within the placebo band"
    tallies: dict[tuple[str, str, str, str], Counter[str]] = {}
    for contest in paired_results:
        key = (contest.a, contest.b, contest.sizes.partition(" ")[0], heading(contest.cell.measure))
        tallies.setdefault(key, Counter())[contest.verdict] += 1
    names = ("chunker", "against", "sizes", "measure", "cells", *verdicts)
    rows = [(*key, tally.total(), *(tally[verdict] for verdict in verdicts)) for key, tally in tallies.items()]
    return make_table([spec_column(name, 34) for name in names], rows, title=title, notes=notes)


def _bands(paired_results: Sequence[PairedResult]) -> list[str]:
    """Return a note on the width of the placebo band by measure, over the cells; none if it was not measured."""
    bands: dict[str, list[float]] = defaultdict(list)
    for contest in paired_results:
        if contest.band is not None:
            bands[contest.cell.measure].append(contest.band)
    parts = [
        f"{heading(measure)} {min(values):.4f} to {max(values):.4f} (median {median(values):.4f})"
        for measure, values in bands.items()
    ]
    return [f"placebo band over the cells: {', '.join(parts)}"] if parts else []


def _cells(against: Sequence[PairedResult]) -> Table:
    rows = [
        (
            *(contest.a, contest.b, contest.sizes.partition(" ")[0]),
            *(contest.cell.protocol, contest.cell.retriever, heading(contest.cell.measure)),
            Estimate(contest.difference, contest.ci),
            contest.band,
            contest.verdict,
        )
        for contest in against[:SHOWN]
    ]
    specs = ("chunker", "against", "sizes", "protocol", "retriever", "measure")
    columns = [*(spec_column(name, 34) for name in specs), *figures("difference", number="+.4f")]
    columns += [*figures("band", missing=""), Column(name="verdict")]
    more = len(against) - SHOWN
    notes = [f"and {more} more cells against the majority; --json lists all"] if more > 0 else []
    return make_table(columns, rows, title="decided cells that contradict the majority of their pair", notes=notes)
