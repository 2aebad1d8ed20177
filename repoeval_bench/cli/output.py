"""What commands of stored runs share: files that are read and written, and options."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from repoeval_bench.cli.options import say
from repoeval_bench.core.errors import ResultError
from repoeval_bench.core.files import write_named

if TYPE_CHECKING:
    from collections.abc import Callable

    from _typeshed import DataclassInstance

    from repoeval_bench.runs.view import RunView

FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, file_okay=False)

sensitivity_option = click.option(
    "--sensitivity",
    type=FILE,
    metavar="FILE",
    help="Draw the grid that `sensitivity --json` or its --output wrote.",
)

facts_help = "Facts of your own: CSV or JSONL with query_id and one value per fact."
facts_option = click.option("--facts", type=FILE, metavar="FILE", help=facts_help)


summary_option = click.option(
    "--github-summary",
    "summary",
    type=FILE,
    envvar="GITHUB_STEP_SUMMARY",
    show_envvar=True,
    metavar="FILE",
    help="Append the results as Markdown to this file.",
)


def append_summary(path: Path, markdown: str) -> None:
    """Append to a file that the user named; a ResultError where that fails."""
    try:
        with path.open("a", encoding="utf-8") as stream:
            stream.write(markdown)
    except OSError as error:
        raise ResultError(f"{path} cannot be written ({error}); choose another file") from error


def measures_option(meaning: str) -> Callable[..., Any]:
    """Add --measure (measures: a tuple of names), which may be repeated."""
    return click.option("--measure", "-m", "measures", multiple=True, metavar="NAME", help=meaning)


def plain(record: DataclassInstance, *left_out: str) -> dict[str, Any]:
    """A record as plain values, without the fields that are left out."""
    return {name: value for name, value in asdict(record).items() if name not in left_out}


def write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write a JSONL file that the user named, and say so."""
    write_named(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    say(f"wrote {path}")


def title_of(run: RunView) -> str:
    """What to call the run in a heading."""
    metrics = run.metrics
    name = metrics.retriever if metrics.imported else f"{metrics.chunker} · {metrics.retriever}"
    return f"{name}: {metrics.dataset.label}"
