"""`gate`: exit 1 if a run does not meet the limits of a file, or if a chosen setting no longer holds."""

from dataclasses import asdict
from pathlib import Path

import click

from repoeval_bench.analysis.gates import gate
from repoeval_bench.api.stored_runs import read_gates
from repoeval_bench.cli import options
from repoeval_bench.cli.console import echo, print_json, print_paragraph, print_table
from repoeval_bench.cli.options import note, refuse_unread
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.files import write_named
from repoeval_bench.report import gates
from repoeval_bench.report.formats import markdown_text
from repoeval_bench.runs.naming import find_run


@click.command("gate")
@click.argument("run", metavar="RUN|CHOSEN.toml")
@click.option("--config", type=options.INPUT, metavar="FILE", help="The gate file (YAML) for a run.")
@click.option(
    "--source",
    type=click.Path(path_type=Path, exists=True),
    default=".",
    show_default=True,
    metavar="CHECKOUT",
    help="The repository whose later commits test CHOSEN.toml.",
)
@click.option("--baseline", metavar="RUN", help="Measure drops from this run, instead of the file's baseline.")
@click.option("--junit", type=options.OUTPUT, metavar="FILE", help="Write the results as JUnit XML too.")
@options.summary_option
@options.runs_folder
@options.json_option
def gate_command(
    *,
    run: str,
    config: Path | None,
    source: Path,
    baseline: str | None,
    junit: Path | None,
    summary: Path | None,
    out: Path,
    as_json: bool,
) -> int:
    """Check RUN against the limits of a gate file: exit 0 if all are met, 1 if one is not.

    CHOSEN.toml is a file of `recommend --write`. Commits made after it are queries that compare its choice with
    the opponent that the file names. Exit 1 if the choice is significantly worse.
    """
    if run.endswith(".toml"):
        refuse_unread({"config", "baseline", "junit"}, f"for {run}, which names its own opponent")
        return _recheck(Path(run), source, out, summary, as_json=as_json)
    refuse_unread({"source"}, "for a stored run")
    if config is None:
        raise UsageError(
            f"gate {run} needs limits; name a file of them with --config, such as one with "
            "gates: [{measure: ndcg@10, at_least: 0.5}], or give a file of recommend --write"
        )
    limits, stored = read_gates(config), find_run(run, out)
    name = baseline or limits.baseline
    base = find_run(name, out) if name else None
    results = gate(stored, limits, base)
    if junit:
        write_named(junit, gates.gate_junit(results, stored.run_id))
    if summary:
        options.append_summary(summary, gates.gate_markdown(results, stored.run_id))
    if as_json:
        print_json([asdict(result) for result in results])
    else:
        print_table(gates.gate_table(results, stored.run_id))
        for result in results:
            if not result.passed:
                note(f"failed: {gates.gate_title(result)} {result.rule}: {result.reason}")
        echo(gates.gate_summary(results))
    return 0 if all(result.passed for result in results) else 1


def _recheck(file: Path, source: Path, out: Path, summary: Path | None, *, as_json: bool) -> int:
    # It imports the runner, which limits of a run do not need.
    from repoeval_bench.own.recommend.chosen import read_chosen, recheck

    result = recheck(read_chosen(file), source, out=out)
    sentence = gates.recheck_sentence(result)
    for line in result.notes:
        note(f"note: {line}")
    if summary:
        options.append_summary(summary, f"{markdown_text(sentence)}\n\n")
    if as_json:
        print_json(gates.recheck_record(result))
    else:
        print_paragraph(sentence)
    return 0 if result.holds else 1
