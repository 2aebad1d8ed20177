"""`cluster push` and `cluster pull`: the vectors of a machine, and those of a store that machines share."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from repoeval_bench.cli.console import print_json
from repoeval_bench.cli.echo import echo
from repoeval_bench.cli.options import home_option, json_option
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.words import count
from repoeval_bench.plugins.cluster.object_store import ObjectStore
from repoeval_bench.plugins.cluster.vectors import pull, push
from repoeval_bench.runs.parts import vectors_folder

_url = click.argument("url", metavar="URL")


@click.command("push")
@_url
@home_option
@json_option
def push_command(*, home: Path | None, url: str, as_json: bool) -> None:
    """Write the vectors that the store at URL lacks into it, in blocks that are never changed.

    URL is anything that fsspec writes: file:///shared/vectors, s3://bucket/vectors (with s3fs installed), …
    """
    done = push(vectors_folder(home), ObjectStore(url))
    if as_json:
        print_json(asdict(done))
        return
    echo(
        f"{url}: {count(done.entries, 'entry')} written in {count(done.blocks, 'block')}, {done.there:,} there already"
    )
    if done.left_out:
        echo(f"{count(done.left_out, 'entry')} left out: the cache does not say which model they are of")


@click.command("pull")
@_url
@home_option
@json_option
def pull_command(*, home: Path | None, url: str, as_json: bool) -> None:
    """Take over the vectors that the store at URL holds and the cache lacks; exit 1 if a block of it is broken.

    Each block's digest and each entry's checksum are checked.
    """
    done = pull(vectors_folder(home), ObjectStore(url))
    if not (done.blocks or done.here or done.broken):
        raise UsageError(f"{url} holds no vectors; name a store that cluster push has written")
    if as_json:
        print_json(asdict(done))
    else:
        echo(f"{url}: {count(done.entries, 'entry')} read in {count(done.blocks, 'block')}, {done.here:,} here already")
        for sentence in done.broken:
            echo(f"broken, left out: {sentence}")
    if done.broken:
        click.get_current_context().exit(1)
