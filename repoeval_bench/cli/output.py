"""Files that commands read and write, and the options for them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from repoeval_bench.cli.options import note
from repoeval_bench.core.errors import ResultError, UsageError, os_errors_as
from repoeval_bench.core.files import check_writable, write_named
from repoeval_bench.runs.parts import is_url

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from repoeval_bench.runs.view import RunView


class _Output(click.Path):
    """A file or folder that a command writes; whether it is writable is checked before anything is computed."""

    def __init__(self, *, folder: bool = False) -> None:
        super().__init__(path_type=Path, file_okay=not folder, dir_okay=folder)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if is_url(str(value)):
            raise UsageError(f"{value} is a URL; give a {'file' if self.file_okay else 'folder'} of this machine")
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        named = f" with {min(param.opts, key=len)}" if isinstance(param, click.Option) else ""
        check_writable(path, f"another {'file' if self.file_okay else 'folder'}{named}", folder=not self.file_okay)
        return path


INPUT = click.Path(path_type=Path, dir_okay=False, exists=True)
"""A file that is read; a missing one is a usage error in every command."""

OUTPUT = _Output()
OUTPUT_FOLDER = _Output(folder=True)

summary_option = click.option(
    "--github-summary",
    "summary",
    type=click.Path(path_type=Path, dir_okay=False, writable=True),
    envvar="GITHUB_STEP_SUMMARY",
    show_envvar=True,
    metavar="FILE",
    help="Append the results as Markdown to this file.",
)

no_text_option = click.option(
    "--no-text",
    is_flag=True,
    help="Leave code, queries and subjects of commits out of the page; JSON and TOML never have them.",
)


def form_of(output: Path, endings: Mapping[str, str]) -> str:
    """Return the form that a file's ending means; a UsageError if it means none."""
    if form := endings.get(output.suffix.lower()):
        return form
    raise UsageError(f"{output} does not end in {', '.join(endings)}; say with --format what to write")


def append_summary(path: Path, markdown: str) -> None:
    """Append to a file that the user named; a ResultError if that fails."""
    with (
        os_errors_as(ResultError, f"{path} cannot be written", "choose another file"),
        path.open("a", encoding="utf-8") as stream,
    ):
        stream.write(markdown)


def measures_option(meaning: str) -> Callable[..., Any]:
    """Add --measure (measures: a tuple of names), which may be repeated."""
    return click.option("--measure", "-m", "measures", multiple=True, metavar="NAME", help=meaning)


name_option = click.option(
    "--name",
    "names",
    multiple=True,
    metavar="LABEL=RUN|SPEC",
    help="Call a run LABEL in every table, figure and page, such as ours=py:mychunk:blank_blocks. May be repeated.",
)
"""Add --name (names: a tuple of texts), which may be repeated."""


def plain(record: DataclassInstance, *omitted: str) -> dict[str, Any]:
    """Return a record as plain values, without the `omitted` fields."""
    return {name: value for name, value in asdict(record).items() if name not in omitted}


def write_and_say(path: Path, content: str, instead: str = "another file") -> None:
    """Write a file that the user named, and say so; `instead` is what to name if it cannot be written."""
    write_named(path, content, instead)
    note(f"wrote {path}")


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write a JSONL file that the user named, and say so."""
    write_and_say(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def title_of(run: RunView) -> str:
    """Return the run's name in a heading."""
    metrics = run.metrics
    name = run.label or (metrics.retriever if metrics.imported else f"{metrics.chunker} · {metrics.retriever}")
    return f"{name}: {metrics.dataset.label}"
