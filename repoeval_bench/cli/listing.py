"""`list` and `explain`: what there is to choose from, and what it means."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from repoeval_bench.cli.console import print_table
from repoeval_bench.config import PROTOCOLS, Protocol
from repoeval_bench.errors import UsageError
from repoeval_bench.spec import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rich.table import Table


def _table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for i, column in enumerate(columns):
        table.add_column(column, no_wrap=i == 0)
    for row in rows:
        table.add_row(*row)
    return table


def _chunkers() -> Table:
    from chunkers.registry import available

    rows = [
        (entry.name, ", ".join(f"{key}={value}" for key, value in entry.options.items()), entry.meaning)
        for entry in available()
    ]
    return _table(("chunker", "options and defaults", "what it does"), rows)


def _protocols() -> Table:
    return _table(
        ("protocol", "query", "gold", "relevant", "repositories", "headline", "who asks so"),
        ((p.name, p.query, p.gold, p.relevance, p.repositories, p.headline, p.users) for p in PROTOCOLS.values()),
    )


def _metrics() -> Table:
    from repoeval_bench.metrics import catalogue

    return _table(
        ("measure", "also", "meaning", "range"),
        ((row.name, ", ".join(row.aliases), row.meaning, row.range) for row in catalogue()),
    )


def _embedders() -> Table:
    from repoeval_bench.embedding.models import EMBEDDERS

    return _table(("embedder", "what it is"), EMBEDDERS.items())


def _datasets() -> Table:
    from repoeval_bench.dataset.index import levels

    rows = [
        (level.name, tokenizer, ", ".join(contexts), str(level.tasks), str(level.repositories))
        for level in levels().values()
        for tokenizer, contexts in level.contexts.items()
    ]
    return _table(("level", "tokenizer", "contexts", "tasks", "repositories"), rows)


LISTS: dict[str, Callable[[], Table]] = {
    "chunkers": _chunkers,
    "protocols": _protocols,
    "metrics": _metrics,
    "embedders": _embedders,
    "datasets": _datasets,
}


@click.command("list", short_help="List chunkers, protocols, metrics, embedders or datasets.")
@click.argument("what", metavar="|".join(LISTS))
def list_command(*, what: str) -> None:
    """List what there is to choose from."""
    if what not in LISTS:
        raise UsageError(nearest("list", what, LISTS))
    print_table(LISTS[what](), prose=True)


@click.command("explain", short_help="Say what a protocol or a measure means.")
@click.argument("name")
def explain_command(*, name: str) -> None:
    """Explain a protocol such as `context`, or a measure such as `ndcg@10`."""
    if name.partition("+")[0] in PROTOCOLS:
        protocol = Protocol.parse(name)
        click.echo(
            f"{protocol.name}: {protocol.users}\n"
            f"  query         {protocol.query}\n"
            f"  gold          {protocol.gold}\n"
            f"  relevant      {protocol.relevance}\n"
            f"  repositories  {protocol.repositories} (headline: {protocol.headline} mean)\n"
            f"  mind          {protocol.caution}"
        )
        return
    from repoeval_bench.metrics import explain

    click.echo(explain(name))
