"""What is said of runs and of their differences: the tables and the lines under them, for whichever format."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from repoeval_bench.protocols.protocol import Protocol
from repoeval_bench.report.comparison import comparison_notes, comparison_records, comparison_tables
from repoeval_bench.report.tables import as_records, footnotes, score_tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rich.table import Table

    from repoeval_bench.analysis.records import Comparison
    from repoeval_bench.runs.store import StoredRun


@dataclass(frozen=True, slots=True)
class Part:
    """Tables with the notes that stand under them; a note that begins with blanks belongs to the one before."""

    tables: Sequence[Table]
    notes: Sequence[str]


def score_part(runs: Sequence[StoredRun]) -> Part:
    """The score tables of runs of one protocol, lines first, and what stands under them."""
    notes = [line for run in runs for line in footnotes(run)]
    caution = f"mind: {Protocol.parse(runs[0].metrics['protocol']).caution}"
    headline = runs[0].metrics["headline"]
    interval = f"95 %: interval of the {headline} mean, BCa, files resampled; compare says which differences are real"
    return Part(score_tables(runs, per_repo=len(runs) == 1), [*notes, interval, caution])


def comparison_part(comparisons: Sequence[Comparison]) -> Part:
    """The differences, a table for each pair, and what they mean."""
    return Part(comparison_tables(comparisons), comparison_notes(comparisons))


def scores_csv(runs: Sequence[StoredRun]) -> str:
    """One line per run and mean, every measure in full precision; empty where a run lacks one."""
    return records_csv(record for run in runs for record in as_records(run))


def comparison_csv(comparisons: Sequence[Comparison]) -> str:
    """One line per pair and measure, every number in full precision; `micro.difference` and so on."""
    return records_csv(_flat(record) for record in comparison_records(comparisons))


def _flat(record: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in record.items():
        if isinstance(value, dict):
            flat.update(_flat(value, f"{prefix}{key}."))
        elif isinstance(value, list | tuple):
            flat.update({f"{prefix}{key}.{end}": each for end, each in zip(("low", "high"), value, strict=True)})
        else:
            flat[prefix + key] = value
    return flat


def records_csv(records: Iterable[dict[str, Any]]) -> str:
    """Records as CSV, a column for every key of any of them."""
    found = list(records)
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(dict.fromkeys(key for record in found for key in record)), lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: _inert(value) for key, value in record.items()} for record in found)
    return stream.getvalue()


def _inert(value: Any) -> Any:
    """Text that a spreadsheet would take for a formula gets an apostrophe before it; numbers stay numbers."""
    if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return "'" + value
    return value
