"""`logs questions`: read another benchmark's questions and answers, and write them as this tool reads them."""

from __future__ import annotations

from pathlib import Path

import click

from repoeval_bench.cli.echo import echo
from repoeval_bench.cli.output import OUTPUT_FOLDER
from repoeval_bench.core.words import count
from repoeval_bench.plugins.logs.questions.agent_retrieval_bench import read_agent_retrieval_bench
from repoeval_bench.plugins.logs.questions.contextbench import read_contextbench
from repoeval_bench.plugins.logs.questions.semble import read_semble
from repoeval_bench.plugins.logs.questions.swe_explore import read_swe_explore
from repoeval_bench.plugins.logs.questions.writing import (
    FILE_GOLD,
    GOLD,
    QUESTIONS,
    write_questions,
)

FORMATS = {
    "agent-retrieval-bench": read_agent_retrieval_bench,
    "contextbench": read_contextbench,
    "semble": read_semble,
    "swe-explore": read_swe_explore,
}
"""Name of a benchmark -> the function that reads its questions."""

WRITTEN = {
    QUESTIONS: "for --queries",
    GOLD: "with lines as gold for `logs import`",
    FILE_GOLD: "with whole files as gold for `logs import`, blind to chunking",
}
"""File -> what is in it."""


@click.command("questions")
@click.argument("benchmark", type=click.Choice(sorted(FORMATS)))
@click.argument("file", type=click.Path(path_type=Path, exists=True))
@click.option("-o", "--output", type=OUTPUT_FOLDER, required=True, metavar="FOLDER", help="Where to write.")
@click.option("--strict", is_flag=True, help="Let --queries refuse answers that the source lacks, not count them.")
def questions_command(*, benchmark: str, file: Path, output: Path, strict: bool) -> None:
    """Write the questions and answers of FILE as gold for `logs import`, and as questions for `--queries`.

    A run of --queries uses the questions whose answers its source has, and counts the others. Gold of questions with a
    whole file as an answer goes to a separate file: every chunk of it is relevant, so it says nothing about chunkers.
    """
    counts = write_questions(FORMATS[benchmark](file), output, strict=strict)
    for name, what in WRITTEN.items():
        if number := counts.written[name]:
            echo(f"{count(number, 'question')} {what}: {output / name}")
    for number, what in (
        (counts.no_answer, "known to have no answer, ranked and not scored"),
        (counts.without_text, "without a text, not written for --queries"),
        (counts.unanswered, "without an answer, left out"),
    ):
        if number:
            echo(f"note: {count(number, 'question')} {what}")
