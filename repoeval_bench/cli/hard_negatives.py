"""`hard-negatives`: what a run loses where chunks that only look relevant stand at its top."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from repoeval_bench.analysis.logs.hard_negatives import negatives_section, read_negatives
from repoeval_bench.cli.console import print_table
from repoeval_bench.cli.judged_run import judged_log, title_of
from repoeval_bench.cli.options import runs_folder
from repoeval_bench.core.errors import UsageError
from repoeval_bench.report.retrieval import section_tables
from repoeval_bench.runs.view import find_run


@click.command("hard-negatives", short_help="Put hard negatives at a run's top and report the loss.")
@click.argument("run")
@click.option("-n", "numbers", multiple=True, type=click.IntRange(min=1), default=(1, 3, 5), show_default=True,
              help="How many, at ranks 1..n; repeat it.")  # fmt: skip
@click.option("--negatives", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="JSONL with query_id and chunk_id, hardest first; unnamed ones if not given.")  # fmt: skip
@runs_folder
@click.option("--json", "as_json", is_flag=True, help="Print JSON in place of the tables.")
def hard_negatives_command(
    *, run: str, numbers: tuple[int, ...], negatives: Path | None, out: Path, as_json: bool
) -> None:
    """Insert hard negatives at ranks 1..n of every ranking of RUN, and print what each measure loses.

    Example: repoeval-bench hard-negatives RUN -n 1 -n 5
    """
    stored = find_run(run, out)
    log = judged_log(stored)
    if not log.measures:
        raise UsageError(f"{stored.run_id} has no measure of ranks alone; score it with ndcg@10 or the like")
    named, strange = read_negatives(negatives, log.qrels) if negatives else (None, 0)
    sections = [negatives_section(log, n, named) for n in dict.fromkeys(numbers)]
    if as_json:
        content = {"run": stored.run_id, "sections": [asdict(section) for section in sections]}
        click.echo(json.dumps(content, indent=2, ensure_ascii=False))
        return
    click.echo(title_of(stored))
    for section in sections:
        for table in section_tables(section):
            print_table(table)
        for note in section.notes:
            click.echo(f"mind: {note}")
    if strange:
        click.echo(f"mind: rows of {negatives} of queries that this run does not score: {strange}")
