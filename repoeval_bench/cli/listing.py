"""`list` and `explain`: what there is to choose from, and what it means."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from repoeval_bench.cli.console import print_table
from repoeval_bench.config import BASELINE, PROTOCOLS, Protocol
from repoeval_bench.errors import UsageError
from repoeval_bench.spec import Spec, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rich.table import Table

    from repoeval_bench.retrieval.registry import Entry


def _table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> Table:
    from repoeval_bench.report.frame import new_table

    table = new_table()
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
        ("protocol", "query", "gold", "relevant", "repositories", "documents", "headline", "who asks so"),
        (
            (p.name, p.query, p.gold, p.relevance, p.repositories, p.documents, p.headline, p.users)
            for p in PROTOCOLS.values()
        ),
    )


def _relevance() -> Table:
    from repoeval_bench.qrels import RULES

    return _table(("relevance", "a chunk is relevant where it"), RULES.items())


def _exclusions() -> Table:
    from repoeval_bench.exclusion import POLICIES

    return _table(("exclude", "what a query may not see"), POLICIES.items())


def _retrievers() -> Table:
    from repoeval_bench.retrieval.registry import RETRIEVERS

    rows = [
        (name, ", ".join(f"{key}={option.default}" for key, option in entry.options.items() if option.default),
         entry.meaning)
        for name, entry in RETRIEVERS.items()
    ]  # fmt: skip
    return _table(("retriever", "options and defaults", "what it does"), rows)


def _metrics() -> Table:
    from repoeval_bench.metrics import catalogue

    return _table(
        ("measure", "also", "meaning", "range"),
        ((row.name, ", ".join(row.aliases), row.meaning, row.range) for row in catalogue()),
    )


def _embedders() -> Table:
    from repoeval_bench.embedding.registry import EMBEDDERS

    rows = [
        (name, ", ".join(f"{key}={default}" for key, (default, _) in entry.options.items() if default), entry.meaning)
        for name, entry in EMBEDDERS.items()
    ]
    return _table(("embedder", "options and defaults", "what it is"), rows)


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
    print_table(LISTS[what](), prose=True)


@click.command("explain", short_help="Say what a protocol, a retriever, an embedder or a measure means.")
@click.argument("name")
def explain_command(*, name: str) -> None:
    """Explain a protocol such as `context`, a retriever such as `hybrid`, or a measure such as `ndcg@10`."""
    if name.partition("+")[0] in PROTOCOLS:
        protocol = Protocol.parse(name)
        click.echo(_explain_protocol(protocol))
        return
    from repoeval_bench.embedding.registry import EMBEDDERS
    from repoeval_bench.retrieval.registry import RETRIEVERS, find_entry

    kind = name.partition(":")[0]  # a measure such as ndcg@10 is no spec
    if kind == "rerank" or kind in RETRIEVERS:
        known, entry = find_entry(Spec.parse(name))
        click.echo(_explain_retriever(known, entry))
        return
    if kind in EMBEDDERS:
        click.echo(f"{kind}: {EMBEDDERS[kind].meaning}")
        return
    from repoeval_bench.metrics import explain

    click.echo(explain(name))


def _explain_retriever(name: str, entry: Entry) -> str:
    rows = [f"{name}: {entry.meaning}"]
    for key, option in entry.options.items():
        where = f" (with {'='.join(option.only)})" if option.only else ""
        named = f"{key}={option.default}"
        rows.append(f"  {named:<16} {option.meaning}{where}")
    return "\n".join(rows)


_GOLD = {
    "prompt": "[c, h+1): the prompt's lines and the first line to be written",
    "context": "[c, h+n): the prompt's lines and all lines to be written",
    "body": "[h, h+n): the lines to be written",
}
_DOCUMENTS = {
    "chunks": "the chunker's chunks",
    "windows": "windows of 50 lines every 10, identical ones merged; no chunker is chosen",
    "baseline": f"the chunks of {BASELINE}, scored through the lines of the chunker's chunks",
}


def _explain_protocol(protocol: Protocol) -> str:
    from repoeval_bench.exclusion import POLICIES
    from repoeval_bench.qrels import RULES

    kind = protocol.relevance.partition(":")[0]
    rule = next((words for name, words in RULES.items() if name in (protocol.relevance, f"{kind}:N", f"{kind}:T")), "")
    query = {"full": "the whole prompt"}.get(protocol.query, "the prompt's last lines")
    rows = {
        "query": f"{protocol.query}: {query}",
        "gold": f"{protocol.gold}: {_GOLD[protocol.gold]}",
        "relevant": f"{protocol.relevance}: {rule}",
        "repositories": f"{protocol.repositories} (headline: {protocol.headline} mean of {protocol.headline_measure})",
        "documents": f"{protocol.documents}: {_DOCUMENTS[protocol.documents]}",
        "exclude": f"{protocol.exclude}: {POLICIES[protocol.exclude]}",
        "copies": f"{protocol.copies}: another chunk with a relevant chunk's text "
        + ("counts too" if protocol.copies == "credited" else "does not count"),
        "scope": f"{protocol.scope}: a query searches "
        + ("its own repository" if protocol.scope == "repository" else "all repositories in one index"),
        "mind": protocol.caution,
    }
    return "\n".join([f"{protocol.name}: {protocol.users}", *(f"  {key:<13} {text}" for key, text in rows.items())])
