"""`repoeval-bench cache`: what the vector cache holds, whether it is sound, and the way to remove a model from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import click
from pydantic import ByteSize

from repoeval_bench.cli.console import print_json, print_table
from repoeval_bench.cli.echo import echo
from repoeval_bench.cli.options import home_option, json_option
from repoeval_bench.core.words import count
from repoeval_bench.report.table import figures, make_table
from repoeval_bench.runs.parts import vectors_folder


def show_size(size: int) -> str:
    """Return bytes in a decimal unit: `30.1 MB`."""
    return ByteSize(size).human_readable(decimal=True, separator=" ")


@click.group("cache")
def cache_group() -> None:
    """Describe and verify the cache of vectors, or remove a model from it."""


def _command(function: Callable[..., None]) -> click.Command:
    return cache_group.command()(home_option(json_option(function)))


@_command
def info(*, home: Path | None, as_json: bool) -> None:
    """Show the folder, its size and its models.

    Each model and precision has its vectors, other entries and bytes.
    """
    from repoeval_bench.embedding.housekeeping import info as describe

    contents = describe(vectors_folder(home))
    if as_json:
        print_json(asdict(contents))
        return
    echo(f"{contents.folder}: {count(contents.entries, 'entry')}, {show_size(contents.bytes_on_disk)} on disk")
    if not contents.models:
        return
    rows = [
        (
            model.name,
            str((model.identity or {}).get("max_length", "")),
            *(model.vectors, model.others, show_size(model.bytes)),
        )
        for model in contents.models
    ]
    columns = figures("tokens read", "vectors", "scores, answers, counts", "bytes", number=",")
    print_table(make_table(["model", *columns], rows))


@_command
@click.option("--delete", is_flag=True, help="Remove broken entries; they are computed again when needed.")
def verify(*, home: Path | None, delete: bool, as_json: bool) -> None:
    """Check each entry; exit 1 if a broken one is left.

    The checks are the checksum, the length, and the norm of a vector.
    """
    from repoeval_bench.embedding.housekeeping import verify as check

    result = check(vectors_folder(home), delete=delete)
    if as_json:
        print_json(asdict(result) | {"passed": result.passed})
    else:
        for reason in dict.fromkeys(result.broken):
            echo(f"{result.broken.count(reason):,} x {reason}")
        read = f"{count(result.entries, 'entry')} read"
        echo(f"{result.folder}: {read}, {len(result.broken):,} broken, {result.removed:,} removed")
        if not result.passed:
            echo("remove them with repoeval-bench cache verify --delete")
    if not result.passed:
        click.get_current_context().exit(1)


@_command
@click.argument("model")
def delete(*, model: str, home: Path | None, as_json: bool) -> None:
    """Remove all that the cache holds of a model.

    MODEL is a name that `cache info` shows, or that name without the precision.
    """
    from repoeval_bench.embedding.housekeeping import delete as remove

    folder = vectors_folder(home)
    removed = remove(folder, model)
    if as_json:
        print_json({"folder": str(folder), "removed": removed})
    else:
        echo(f"{folder}: {count(removed, 'entry')} of {model} removed")
