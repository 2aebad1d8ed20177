"""`run`: a benchmark that a YAML file describes, every combination of it, with a comparison for each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from repoeval_bench.analysis.choosing import choose
from repoeval_bench.analysis.comparison import compare
from repoeval_bench.cli.answer import details_option, print_answer, print_comparison
from repoeval_bench.cli.console import print_json
from repoeval_bench.cli.echo import echo
from repoeval_bench.cli.options import home_option, json_option, out_option, say
from repoeval_bench.cli.scores import print_scores
from repoeval_bench.report.choosing import choice_record
from repoeval_bench.report.comparison import comparison_records
from repoeval_bench.runs.benchmark_file import read_benchmark, shipped
from repoeval_bench.runs.executors import ProcessPool
from repoeval_bench.runs.experiment import Experiment
from repoeval_bench.runs.latest import remember
from repoeval_bench.runs.parts import make_parts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from repoeval_bench.analysis.records import Comparison
    from repoeval_bench.runs.benchmark_file import Benchmarking
    from repoeval_bench.runs.request import RunRequest
    from repoeval_bench.runs.view import RunView


@click.command("run", short_help="Run a benchmark described by a YAML file.")
@click.argument("file")
@click.option("--source", metavar="SOURCE", help="Where data comes from, instead of where the file says.")
@out_option
@home_option
@click.option("--dry-run", is_flag=True, help="Check the file and list its runs, without computing them.")
@details_option
@json_option
def run_command(
    *, file: str, source: str | None, out: Path, home: Path | None, dry_run: bool, details: bool, as_json: bool
) -> None:
    """Run what FILE describes: each chunker under every combination of its protocols, retrievers and embedders.

    Chunkers of one combination are compared. Runs that are stored already are not made again. The whole file is
    checked first: all its mistakes are reported at once, with their lines, and then nothing is run.

    Example: repoeval-bench run repoeval
    """
    path = Path(file) if Path(file).is_file() else shipped(file) or Path(file)
    asked = read_benchmark(path, {"source": source} if source else {}, home)
    if dry_run:
        _list(asked.requests, as_json=as_json)
        return
    results = []
    for setting, runs, comparisons in _compared(asked, out, home):
        named = setting.combination() | {"protocol": setting.resolved_protocol().name}
        if as_json:
            record: dict[str, Any] = {
                "pack": setting.pack,
                **named,
                "runs": [run.metrics.as_json() for run in runs],
                "comparisons": comparison_records(comparisons),
            }
            results.append(record | ({"choice": choice_record(choose(runs))} if comparisons else {}))
            continue
        echo(f"{setting.pack} · " + " · ".join(f"{option} {value}" for option, value in named.items()))
        if not details:
            print_answer(runs, out, comparisons)
        elif comparisons:
            print_comparison(runs, comparisons, choose(runs))
        else:
            print_scores(runs)
        echo()
    if as_json:
        print_json(results)


def _compared(
    asked: Benchmarking, out: Path, home: Path | None
) -> Iterator[tuple[RunRequest, list[RunView], list[Comparison]]]:
    """Each setting with its runs, made where they are missing, and what they differ by."""
    experiment = Experiment(asked.requests, out=out, home=home, notify=say)
    with ProcessPool() as pool:
        for setting in experiment.settings:
            runs = experiment.run(setting, pool, reuse=True)
            if setting == experiment.settings[0]:
                # The first combination in the file is its subject, so `report` shows it.
                remember(runs, out, say)
            baseline = None if asked.baseline is None else runs[asked.baseline]
            comparisons: list[Any] = []
            if len(runs) > 1:
                comparisons = compare(runs, baseline, measures=setting.measures, equivalence=asked.equivalence)
            yield setting, runs, comparisons


def _list(requests: Sequence[RunRequest], *, as_json: bool) -> None:
    rows = []
    for request in requests:
        protocol = request.resolved_protocol()
        chunker = make_parts(protocol, request.chunker)[0].spec
        rows.append({"protocol": protocol.name, "chunker": chunker} | _without_protocol(request.combination()))
    if as_json:
        print_json(rows)
        return
    for row in rows:
        echo(" · ".join(row.values()))


def _without_protocol(combination: dict[str, str]) -> dict[str, str]:
    return {name: combination[name] for name in ("retriever", "embedder")}
