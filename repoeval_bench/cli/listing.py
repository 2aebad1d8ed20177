"""`list`: what there is to choose from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from repoeval_bench.cli.console import print_table
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.spec import nearest
from repoeval_bench.protocols.protocol import PROTOCOLS
from repoeval_bench.report.table import Column, make_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from repoeval_bench.core.spec import Option
    from repoeval_bench.report.table import Table


def _table(first: str, *others: str, rows: Iterable[Sequence[str]]) -> Table:
    return make_table([first, *(Column(name=name, prose=True) for name in others)], rows)


def named_option(name: str, option: Option) -> str:
    """An option with its default; its name alone where it has none of its own."""
    return f"{name}={option.default}" if option.default else name


def _chunkers() -> Table:
    from repoeval_bench.chunkers.registry import available

    rows = [
        (entry.name, ", ".join(f"{key}={value}" for key, value in entry.options.items()), entry.meaning)
        for entry in available()
    ]
    return _table("chunker", "options and defaults", "what it does", rows=rows)


def _protocols() -> Table:
    columns = ("protocol", "query", "gold", "relevant", "repositories", "documents", "headline", "used by")
    rows = [
        (p.name, p.query, p.gold, p.relevance, p.repositories, p.documents, p.headline, p.users)
        for p in PROTOCOLS.values()
    ]
    return _table(*columns, rows=rows)


def _relevance() -> Table:
    from repoeval_bench.protocols.qrels import RULES

    return _table("relevance", "a chunk is relevant where it", rows=RULES.items())


def _exclusions() -> Table:
    from repoeval_bench.protocols.exclusion import POLICIES

    return _table("exclusion", "what a query may not see", rows=POLICIES.items())


def _retrievers() -> Table:
    from repoeval_bench.retrieval.registry import RETRIEVERS

    rows = [
        (name, ", ".join(named_option(*each) for each in entry.options.items()), entry.meaning)
        for name, entry in RETRIEVERS.items()
    ]
    return _table("retriever", "options and defaults", "what it does", rows=rows)


def _metrics() -> Table:
    from repoeval_bench.metrics import catalogue

    rows = [(row.name, ", ".join(row.aliases), row.meaning, row.range) for row in catalogue()]
    return _table("measure", "also", "meaning", "range", rows=rows)


def _embedders() -> Table:
    from repoeval_bench.embedding.registry import EMBEDDERS

    rows = [
        (name, ", ".join(named_option(*each) for each in entry.options.items()), entry.meaning)
        for name, entry in EMBEDDERS.items()
    ]
    return _table("embedder", "options and defaults", "what it is", rows=rows)


def _datasets() -> Table:
    from repoeval_bench.dataset.repoeval import LEVELS

    rows = [
        (level.name, tokenizer, ", ".join(contexts), str(level.tasks), str(level.repositories))
        for level in LEVELS.values()
        for tokenizer, contexts in level.contexts.items()
    ]
    return _table("level", "tokenizer", "contexts", "tasks", "repositories", rows=rows)


LISTS: dict[str, Callable[[], Table]] = {
    "chunkers": _chunkers,
    "protocols": _protocols,
    "relevance": _relevance,
    "exclusions": _exclusions,
    "retrievers": _retrievers,
    "metrics": _metrics,
    "embedders": _embedders,
    "datasets": _datasets,
}


@click.command("list", short_help="List chunkers, protocols, retrievers, metrics, …",
               help=f"List what there is to choose from; WHAT is one of {', '.join(LISTS)}.")  # fmt: skip
@click.argument("what")
def list_command(*, what: str) -> None:
    """List what there is to choose from."""
    if what not in LISTS:
        raise UsageError(nearest("list", what, LISTS))
    print_table(LISTS[what]())
