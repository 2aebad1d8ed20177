"""Count in how many settings one chunker beats another.

A verdict that changes with query, relevance or retriever is a statement about the setting, not about the chunker.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from repoeval_bench.analysis.comparable import run_names
from repoeval_bench.analysis.comparison import compare
from repoeval_bench.analysis.records import Comparison
from repoeval_bench.cli.console import print_json, print_table
from repoeval_bench.cli.options import execution_options, home_option, json_option, out_option
from repoeval_bench.core.errors import UsageError
from repoeval_bench.protocols.protocol import Protocol
from repoeval_bench.report.table import Table, figures, make_table, spec_column
from repoeval_bench.report.text import full_outcome_name, heading
from repoeval_bench.runs.benchmark_file import find_benchmark, read_benchmark
from repoeval_bench.runs.request import ExecutionRequest, RunRequest, by_setting
from repoeval_bench.runs.runner import Runner, runner_on

# Prefixes of the measures that no relevance rule changes.
_OF_LINES = ("line_", "definition_")


@dataclass(frozen=True, slots=True)
class Cell:
    """Two chunkers, as the file names them, in one setting: the comparison is `chunker` minus `against`."""

    setting: RunRequest
    chunker: str
    against: str
    comparison: Comparison

    @property
    def counts_as(self) -> tuple[str, ...]:
        """Its key: two cells of one key count once."""
        setting, measure = self.setting, self.comparison.measure
        protocol = setting.resolved_protocol()
        # A measure of lines is the same under every relevance rule.
        if measure.startswith(_OF_LINES):
            protocol = Protocol.parse(protocol.name).override(relevance="overlap")
        values = setting.combination() | {"protocol": protocol.name}
        return self.chunker, self.against, measure, *values.values()

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        comparison = self.comparison
        return {
            **self.setting.combination(),
            "protocol": self.setting.resolved_protocol().name,
            "chunker": self.chunker,
            "against": self.against,
            **{name: getattr(comparison, name) for name in ("measure", "difference", "ci", "p_adjusted")},
            "verdict": full_outcome_name(comparison.verdict),
        }


def cells(runner: Runner, requests: Sequence[RunRequest]) -> Iterator[Cell]:
    """Make the runs of every setting, and compare each pair of its chunkers; a chunker without a run is left out."""
    members, seen = by_setting(requests), set[tuple[str, ...]]()
    for setting in runner.settings:
        runs = runner.run(setting)
        finished = [(str(request.chunker), run) for request, run in zip(members[setting], runs, strict=True) if run]
        if len(finished) < 2:
            continue
        chunkers, compared = zip(*finished, strict=True)
        chunker_of = dict(zip(run_names(compared), chunkers, strict=True))
        for comparison in compare(compared, measures=setting.measures):
            cell = Cell(setting, chunker_of[comparison.treatment], chunker_of[comparison.baseline], comparison)
            if cell.counts_as not in seen:
                seen.add(cell.counts_as)
                yield cell


def tallies(counted: Sequence[Cell]) -> dict[tuple[str, str, str, str], Counter[str]]:
    """Return (chunker, against, sizes, measure) -> number of cells by verdict: wins, loses, undecided."""
    results: dict[tuple[str, str, str, str], Counter[str]] = {}
    for cell in counted:
        comparison = cell.comparison
        key = (cell.chunker, cell.against, cell.setting.match_size or "nominal", heading(comparison.measure))
        verdict = "wins" if comparison.favours_treatment else "loses"
        results.setdefault(key, Counter())[verdict if comparison.is_significant else "undecided"] += 1
    return results


@click.command("sensitivity")
@click.argument("file", default="sensitivity")
@click.option("--source", metavar="SOURCE", help="Where the data comes from, instead of the file's source.")
@out_option
@home_option
@execution_options
@json_option
def sensitivity_command(
    *, file: str, source: str | None, out: Path, home: Path | None, execution: ExecutionRequest, as_json: bool
) -> None:
    """Run every setting in FILE, a YAML file as `run` reads it, and count those in which one chunker beats another.

    Without FILE it is the one that ships. Stored runs are reused.
    """
    benchmarking = read_benchmark(find_benchmark(file), {"source": source} if source else {})
    if len({request.chunker for request in benchmarking.requests}) < 2:
        raise UsageError(f"{file} has one chunker; name two or more to compare")
    with runner_on(execution, benchmarking.requests, out=out, home=home) as runner:
        counted = list(cells(runner, benchmarking.requests))
        if as_json:
            print_json([cell.as_dict() for cell in counted])
        else:
            print_table(sensitivity_table(counted))


def sensitivity_table(counted: Sequence[Cell]) -> Table:
    """Tabulate the number of cells by pair of chunkers, sizes and measure."""
    verdicts = ("wins", "loses", "undecided")
    rows = [(*key, tally.total(), *(tally[verdict] for verdict in verdicts)) for key, tally in tallies(counted).items()]
    names = [spec_column(name, 34) for name in ("chunker", "against", "sizes", "measure")]
    return make_table(
        [*names, *figures("settings", *verdicts, number="d")],
        rows,
        title="settings in which the chunker wins, loses, or is undecided",
        notes=["a win is significant (Holm) within its setting, as in `compare`"],
    )
