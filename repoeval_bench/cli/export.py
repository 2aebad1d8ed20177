"""`export`: a stored run in the formats that other programs read."""

from __future__ import annotations

import json
from pathlib import Path

import click

from repoeval_bench import api
from repoeval_bench.cli.options import say
from repoeval_bench.errors import ResultError, UsageError
from repoeval_bench.files import write_atomic
from repoeval_bench.report.tables import as_csv, as_markdown
from repoeval_bench.store import QRELS, RUN, StoredRun, find_run


@click.command("export", short_help="Write a run as JSON, CSV, Markdown or TREC files.")
@click.argument("run")
@click.option("--format", "form", type=click.Choice(["json", "csv", "md", "trec"]), required=True)
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Where to write; standard output if not given.")  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=api.RESULTS, show_default=True,
              help="Where run folders are.")  # fmt: skip
def export_command(*, run: str, form: str, output: Path | None, out: Path) -> None:
    """Export RUN (a folder, an id, or the unambiguous beginning or end of one).

    `trec` writes the ranking to FILE and the judgements to FILE.qrels.
    """
    stored = find_run(run, out)
    if output is None:
        click.echo(_content(stored, form), nl=False)
        return
    files = {output: _content(stored, form)}
    if form == "trec":
        files[output.with_name(output.name + ".qrels")] = stored.text(QRELS)
    for path, content in files.items():
        try:
            write_atomic(path, content)
        except OSError as error:
            raise ResultError(f"{path} cannot be written ({error}); choose another file with -o") from error
        say(f"wrote {path}")


def _content(run: StoredRun, form: str) -> str:
    if form == "json":
        return json.dumps(run.metrics, indent=2, ensure_ascii=False) + "\n"
    if form == "csv":
        return as_csv(run)
    if form == "md":
        if run.metrics.get("imported"):
            raise UsageError(f"{run.run_id} was imported, without the sizes that Markdown prints; take --format csv")
        return as_markdown(run)
    return run.text(RUN)
