"""`logs questions`: read another benchmark's questions and answers, and write them as this tool reads them."""

from __future__ import annotations

from pathlib import Path

import click

from repoeval_bench.cli.echo import echo
from repoeval_bench.cli.output import INPUT
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.files import check_writable
from repoeval_bench.core.words import count
from repoeval_bench.plugins.logs.questions.contextbench import read_contextbench
from repoeval_bench.plugins.logs.questions.semble import read_semble
from repoeval_bench.plugins.logs.questions.swe_explore import read_ranking, read_swe_explore
from repoeval_bench.plugins.logs.questions.writing import FILE_GOLD, GOLD, LOG, QUESTIONS, write_log, write_questions

FORMATS = {"contextbench": read_contextbench, "semble": read_semble, "swe-explore": read_swe_explore}
"""Name of a benchmark -> the function that reads its questions."""


@click.command("questions")
@click.argument("benchmark", type=click.Choice(sorted(FORMATS)))
@click.argument("file", type=click.Path(path_type=Path, exists=True))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="Where to write.",
    metavar="FOLDER",
)
@click.option(
    "--ranking", type=INPUT, metavar="FILE", help="An explorer's results of swe-explore, to be written as a log."
)
@click.option("--system", metavar="NAME", help="The system of --ranking; its file's name if not given.")
def questions_command(*, benchmark: str, file: Path, output: Path, ranking: Path | None, system: str | None) -> None:
    """Write the questions and answers of FILE as gold for `logs import`, and as questions for `--queries`.

    Questions with a whole file as an answer go to a separate file: every chunk of it is relevant, so they say nothing
    about chunkers.
    """
    if ranking and benchmark != "swe-explore":
        raise UsageError(f"--ranking reads results of swe-explore; leave it out for {benchmark}")
    check_writable(output, "another folder with -o", folder=True)
    written = write_questions(FORMATS[benchmark](file), output)
    if written.lines:
        echo(f"{count(written.lines, 'question')} with lines as answers: {output / GOLD}")
    if written.lines > written.without_text:
        echo(f"{count(written.lines - written.without_text, 'question')} for --queries: {output / QUESTIONS}")
    if written.files:
        echo(f"{count(written.files, 'question')} with whole files as answers, blind to chunking: {output / FILE_GOLD}")
    if written.without_text:
        echo(f"note: {count(written.without_text, 'question')} without a text, not written for --queries")
    if written.unanswered:
        echo(f"note: {count(written.unanswered, 'question')} without an answer, left out")
    if ranking:
        n_queries = write_log(read_ranking(file, ranking, system or ranking.stem), output)
        echo(f"{count(n_queries, 'query')} ranked: {output / LOG}")
