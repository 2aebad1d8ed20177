"""`eval`, `run` and `sweep`: make runs, store them, and print the verdict, one table and a few notes."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from repoeval_bench.analysis.comparison import compare
from repoeval_bench.analysis.means import K_MEASURES, sweep_row
from repoeval_bench.analysis.records import Comparison
from repoeval_bench.analysis.verdicts import choose
from repoeval_bench.cli import options
from repoeval_bench.cli.console import echo, print_json, print_lines, print_paragraph, print_table, print_tables
from repoeval_bench.cli.options import note, refuse_unread
from repoeval_bench.core.words import count
from repoeval_bench.dataset.shipped import PROTOCOLS, edition_of, shipped_pack
from repoeval_bench.metrics import CEILING, SHARE
from repoeval_bench.report.comparison import MOST_NOTES, ComparedRow, answer_table, comparison_tables, skipped_notes
from repoeval_bench.report.scores import run_notes, score_tables, too_short
from repoeval_bench.report.table import Table, figures, make_table, spec_column, with_notes
from repoeval_bench.report.text import heading
from repoeval_bench.report.verdict import WordedVerdict, verdict
from repoeval_bench.runs.benchmark_file import Benchmarking, find_benchmark, read_benchmark
from repoeval_bench.runs.executors import ProcessPool
from repoeval_bench.runs.naming import remember_compared
from repoeval_bench.runs.parts import RESULTS, shown_place, shown_results
from repoeval_bench.runs.problems import Problems, at_sizes
from repoeval_bench.runs.request import ExecutionRequest, RunRequest, eval_line, shell_line
from repoeval_bench.runs.runner import Runner, runner_on
from repoeval_bench.runs.view import RunView


@click.command("eval")
@options.run_options
@options.details_option
def evaluate_command(
    *,
    chunker: tuple[str, ...],
    out: Path,
    home: Path | None,
    as_json: bool,
    details: bool,
    **fields: Any,
) -> None:
    """Chunk, embed, retrieve and score with each --chunker, store the runs, and print the scores.

    A shipped pack as --source (see `list packs`) is scored under four protocols if --protocol names none: uses,
    docstring, body and context.
    """
    requests = [
        request
        for protocol in _protocols(fields)
        for request in options.requests_of(chunker, fields | {"protocol": protocol})
    ]
    with ProcessPool() as pool:
        runner = Runner(requests, out=out, home=home, executor=pool)
        runs_by_setting = [[run for run in runner.run(setting, reuse=False) if run] for setting in runner.settings]
    if as_json:
        contents = [run.metrics.as_json() for runs in runs_by_setting for run in runs] + unmade_rows(runner)
        print_json(contents[0] if len(contents) == 1 else contents)
    else:
        _print(runner, runs_by_setting, out, details=details)
    runner.check()


def _print(runner: Runner, runs_by_setting: Sequence[Sequence[RunView]], out: Path, *, details: bool) -> None:
    """Print the runs of each setting, below the name of its protocol if there are several."""
    for number, (setting, runs) in enumerate(zip(runner.settings, runs_by_setting, strict=True)):
        if len(runs_by_setting) > 1:
            echo(("\n" if number else "") + f"protocol {setting.resolved_protocol().name}\n")
        skipped, failed = runner.skipped_of(setting), runner.failed_of(setting)
        print_answer(runs, out, skipped=skipped, failed=failed, details=details, remembered=False)


def _protocols(fields: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the protocol that was given; without one, all that suit a shipped pack, the deciding one first."""
    is_given = click.get_current_context().get_parameter_source("protocol") is not ParameterSource.DEFAULT
    shipped = edition_of(fields["pack"]) or shipped_pack(fields["source"])
    return (fields["protocol"],) if is_given or not shipped else PROTOCOLS


def answer_to(
    runs: Sequence[RunView],
    comparisons: Sequence[Comparison] = (),
    *,
    failed: int = 0,
) -> tuple[list[RunView], WordedVerdict]:
    """Return the runs without duplicates, and the verdict on them; without `comparisons` every pair is compared.

    `failed`: how many further runs could not be made.
    """
    different = list({run.folder: run for run in runs}.values())
    comparisons = comparisons or (compare(different) if len(different) > 1 else ())
    return different, verdict(different, comparisons, failed=failed)


def print_answer(
    runs: Sequence[RunView],
    out: Path,
    comparisons: Sequence[Comparison] = (),
    base: RunView | None = None,
    *,
    skipped: Collection[str],
    failed: Collection[str],
    details: bool,
    remembered: bool,
) -> None:
    """Print the verdict on the runs, one table, notes with the `skipped` chunkers, and where the runs are stored.

    The answer is also about `base`, a baseline that may be none of the runs. `details`: every note, and the tables of
    scores and `comparisons`. `remembered`: `report` finds these runs without their names.
    """
    different, worded = answer_to([base, *runs] if base else runs, comparisons, failed=len(failed))
    print_paragraph(worded.text)
    echo()
    table = answer_table(different, worded, skipped)
    print_table(replace(table, notes=()))
    # The notes on single runs follow with the tables of their scores.
    for line in [*skipped_notes(skipped), *worded.notes, *worded.tests] if details else table.notes[:MOST_NOTES]:
        print_paragraph(line, indent="  ")
    if table.notes:  # a table without notes ends in a blank line
        echo()
    if details:
        scored = [run for run in different if not run.metrics.imported]  # an imported run has no table of its own
        print_tables(score_tables(scored) if len(different) > 1 else [])
        print_tables(comparison_tables(comparisons))
        print_lines(run_notes(scored) if len(different) == 1 else [])
        echo()
    # `report` finds runs outside `out` by their folders alone.
    here = [run for run in different if run.folder.resolve().parent == out.resolve()]
    names = [run.run_id if run in here else str(run.folder) for run in different]
    report = shell_line(["report", *(() if here and remembered else names)], out=out if here else RESULTS)
    echo("stored in " + "\n          ".join(shown_place(run.folder) for run in different))
    echo(f"{'' if details else 'every measure, test and note: --details; '}HTML page: {report}")


def unmade_rows(runner: Runner) -> list[dict[str, str]]:
    """Return a JSON row for each skipped chunker, and for each run that failed."""
    skipped = [{"chunker": name, "left_out": reason} for name, reason in runner.skipped.items()]
    return skipped + [
        {"chunker": name, "protocol": setting.resolved_protocol().name, "left_out": str(error)}
        for setting, errors in runner.failed.items()
        for name, error in errors.items()
    ]


@click.command("run")
@click.argument("file")
@click.option("--source", metavar="SOURCE", help="Where the data comes from, instead of the file's source.")
@click.option("--embedder", metavar="SPEC", help="The embedder, instead of the file's.")
@options.out_option
@options.home_option
@click.option("--dry-run", is_flag=True, help="Check the file and print the command of each run, without making them.")
@options.execution_options
@options.details_option
@options.json_option
def run_command(
    *,
    file: str,
    source: str | None,
    embedder: str | None,
    out: Path,
    home: Path | None,
    dry_run: bool,
    execution: ExecutionRequest,
    details: bool,
    as_json: bool,
) -> None:
    """Run a benchmark: each chunker under every combination of protocols, retrievers and embedders.

    FILE is a YAML file, or the name of a shipped benchmark such as repoeval. Chunkers of one combination are compared,
    unless the file says `compare: false`. Stored runs are reused.
    The whole file is checked before the first run; all mistakes are reported at once, with their lines.
    """
    if dry_run:
        refuse_unread({*ExecutionRequest.model_fields, "details"}, "with --dry-run, which makes no run")
    path = find_benchmark(file)
    overrides = {"source": source, "embedder": embedder}
    benchmarking = read_benchmark(path, {name: value for name, value in overrides.items() if value})
    if dry_run:
        lines = [eval_line(request, out=out, home=home) for request in benchmarking.requests]
        if as_json:
            print_json(lines)
        else:
            print_lines(lines)
        return
    results: list[dict[str, Any]] = []
    with runner_on(execution, benchmarking.requests, out=out, home=home) as runner:
        for setting in runner.settings:
            results_or_none = runner.run(setting, reuse=True)
            runs = [run for run in results_or_none if run]
            # The first combination in the file is its subject, so `report` shows it.
            remembered = benchmarking.compares and setting == runner.settings[0] and remember_compared(runs, out)
            base = None if benchmarking.baseline is None else results_or_none[benchmarking.baseline]
            comparisons = _comparisons(benchmarking, setting, runs, base) if benchmarking.compares else []
            skipped, failed = runner.skipped_of(setting), runner.failed_of(setting)
            if as_json:
                results.append(_record(setting, runs, comparisons, skipped | failed))
            elif benchmarking.compares and runs:
                named = " · ".join(f"{option} {value}" for option, value in _named(setting).items())
                echo(f"{setting.pack} · {named}")
                about: dict[str, Any] = {"skipped": skipped, "failed": failed, "details": details}
                print_answer(runs, out, comparisons, base, **about, remembered=remembered)
                echo()
        if as_json:
            print_json(results)
        elif not benchmarking.compares:
            unmade = sum(len(runner.skipped_of(config) | runner.failed_of(config)) for config in runner.settings)
            skipped_note = f" ({unmade} left out)" if unmade else ""
            print_lines([f"{count(len(benchmarking.requests), 'run')}{skipped_note}, in {shown_results(out)}"])


def _comparisons(
    benchmarking: Benchmarking, setting: RunRequest, runs: Sequence[RunView], baseline: RunView | None
) -> list[Comparison]:
    """Compare the runs of a setting; nothing if the baseline could not be made."""
    if len(runs) < 2:
        return []
    if baseline is None and benchmarking.baseline is not None:
        note("note: the baseline has no run here, so nothing is compared with it")
        return []
    return compare(runs, baseline, measures=setting.measures, equivalence=benchmarking.equivalence)


def _named(setting: RunRequest) -> dict[str, str]:
    return setting.combination() | {"protocol": setting.resolved_protocol().name}


def _record(
    setting: RunRequest, runs: Sequence[RunView], comparisons: list[Comparison], left_out: Mapping[str, str]
) -> dict[str, Any]:
    # Runs that were compared with a baseline get no choice: that is another question.
    choice = choose(runs, comparisons) if comparisons and not comparisons[0].against_baseline else None
    compared = ComparedRow(comparisons=comparisons, choice=choice, left_out=left_out)
    named = {"pack": setting.pack, **_named(setting), "runs": [run.metrics.as_json() for run in runs]}
    return named | compared.as_json()


@click.command("sweep")
@options.run_options
@options.execution_options
@click.option(
    "--sizes",
    multiple=True,
    metavar="N,…",
    callback=partial(options.words_of, kind=int),
    help="Values for each chunker's own size option, such as 500,1000; without --sizes, k is swept.",
)
def sweep_command(
    *,
    chunker: tuple[str, ...],
    out: Path,
    home: Path | None,
    execution: ExecutionRequest,
    as_json: bool,
    sizes: tuple[int, ...] | None,
    **fields: Any,
) -> None:
    """Evaluate each --chunker at each of --sizes, and print every measure beside the mean size of its chunks.

    Without --sizes it prints recall and nDCG at k = 1, 3, 5, 10, 20, 50, the area under recall over k, and the knee.
    The knee is the k whose recall is farthest above a straight line from the first k to the last. Stored runs are
    reused.

    A chunker's other options do not change. To sweep an overlap, name several: -c ast:overlap=0 -c ast:overlap=5
    --sizes 500,1500. `window` keeps the ratio of step to lines.
    """
    problems = Problems()
    if not sizes and not fields["measures"]:
        fields["measures"] = K_MEASURES
    requests = at_sizes(options.requests_of(chunker, fields), sizes or (), problems)
    with runner_on(execution, requests, out=out, home=home, problems=problems) as runner:
        (setting,) = runner.settings
        runs = [run for run in runner.run(setting, reuse=True) if run]
        _print_sweep(runs, runner.skipped_of(setting), unmade_rows(runner), as_json=as_json)


def _print_sweep(
    runs: Sequence[RunView], skipped: Iterable[str], unmade: list[dict[str, str]], *, as_json: bool
) -> None:
    rows = [sweep_row(run) for run in runs]
    if as_json:
        print_json([*rows, *unmade])
        return
    if not runs:
        return
    metrics = runs[0].metrics
    echo(metrics.dataset.label)
    echo(f"protocol {metrics.protocol} · embedder {metrics.embedder} · retriever {metrics.retriever}")
    short = [f"{run.metrics.chunker}: {line}" for run in runs if (line := too_short(run.metrics))]
    print_tables(with_notes([_sweep_table(rows)], [*short, *skipped_notes(skipped)]))


def _sweep_table(rows: Sequence[dict[str, Any]]) -> Table:
    names = [name for name in rows[0] if name != "chunker" and not name.endswith((CEILING, SHARE))]
    columns = [spec_column("chunker")]
    for name in names:
        number = "" if name in {"mean_nws", "chunks", "knee"} else ".4f"
        columns += figures(heading(name).replace("_", " "), number=number)
    return make_table(columns, ([row["chunker"], *(row[name] for name in names)] for row in rows))
