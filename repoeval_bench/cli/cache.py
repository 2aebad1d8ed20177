"""`repoeval-bench cache`: what the vector cache holds, and whether it is sound."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import click
from pydantic import ByteSize

from repoeval_bench.cli.console import echo, print_json
from repoeval_bench.cli.group import NamedGroup
from repoeval_bench.cli.options import home_option, json_option
from repoeval_bench.core.words import count
from repoeval_bench.runs.parts import vectors_folder


@click.group("cache", cls=NamedGroup)
def cache_group() -> None:
    """Describe and verify the cache of vectors."""


def _command(function: Callable[..., int | None]) -> click.Command:
    return cache_group.command()(home_option(json_option(function)))


@_command
def info(*, home: Path | None, as_json: bool) -> None:
    """Show the folder and its size."""
    from repoeval_bench.embedding.storage import info as describe

    contents = describe(vectors_folder(home))
    if as_json:
        print_json(asdict(contents))
        return
    size = ByteSize(contents.bytes_on_disk).human_readable(decimal=True, separator=" ")
    echo(f"{contents.folder}: {count(contents.entries, 'entry')}, {size} on disk")


@_command
@click.option("--delete", is_flag=True, help="Remove broken entries; they are computed again when needed.")
def verify(*, home: Path | None, delete: bool, as_json: bool) -> int:
    """Check each entry's checksum; exit 1 if a broken one is left."""
    from repoeval_bench.embedding.storage import verify as check

    result = check(vectors_folder(home), delete=delete)
    if as_json:
        print_json(asdict(result) | {"passed": result.passed})
    else:
        read = f"{count(result.entries, 'entry')} read"
        echo(f"{result.folder}: {read}, {result.broken:,} broken, {result.removed:,} removed")
        if not result.passed:
            echo("remove them with repoeval-bench cache verify --delete")
    return 0 if result.passed else 1
