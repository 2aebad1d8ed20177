"""`list`: what there is to choose from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import click

from repoeval_bench.chunkers.registry import CHUNKERS
from repoeval_bench.cli.console import print_json, print_table
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.extras import install_command
from repoeval_bench.core.languages import LANGUAGES
from repoeval_bench.core.registry import Kind, Row
from repoeval_bench.core.spec import nearest
from repoeval_bench.dataset.repoeval import LEVELS
from repoeval_bench.embedding.registry import EMBEDDERS
from repoeval_bench.protocols.protocol import PROTOCOLS
from repoeval_bench.report.table import Column, Table, make_table
from repoeval_bench.retrieval.registry import RERANKERS, RETRIEVERS


def _table(first: str, *others: str, lines: Iterable[Sequence[str]]) -> Table:
    return make_table([first, *(Column(name=name, prose=True) for name in others)], lines)


def available(kind: Kind[Any]) -> list[Row]:
    """Return the parts of a kind that can be named: built-in ones, those of other packages, and `py:MODULE:NAME`."""
    what = f"`{kind.data.__name__}`" if kind.data else "class or function"
    open_form = Row(name="py:MODULE:NAME", meaning=f"Any {what} of a Python module; see docs/plug-ins.md.")
    return [*kind, *kind.plug_ins(), open_form]


def meaning(row: Row) -> str:
    """Return a part's meaning, with the package of one from outside."""
    return f"{row.meaning} (from {row.origin})" if row.origin else row.meaning


def _parts(kind: Kind[Any]) -> Callable[[], Table]:
    def table() -> Table:
        lines = [(row.label, ", ".join(map(str, kind.options(row).values())), meaning(row)) for row in available(kind)]
        return _table(kind.name, "options and defaults", "what it does", lines=lines)

    return table


def _protocols() -> Table:
    lines = []
    for row in available(PROTOCOLS):
        p: Any = row.part  # the open form has none
        choices = (p.query, p.gold, p.relevance, p.repositories, p.documents, p.headline) if p else ("",) * 6
        lines.append((row.name, *choices, meaning(row)))
    choices = ("query", "gold", "relevant", "repositories", "documents", "headline")
    return _table("protocol", *choices, "used by", lines=lines)


def _measures() -> Table:
    from repoeval_bench.metrics.definition import MEASURES
    from repoeval_bench.metrics.measure import pattern

    lines = []
    for row in available(MEASURES):
        d = row.part
        lines.append(
            (pattern(row.name, d) if d else row.name, ", ".join(row.aliases), meaning(row), d.range if d else "")
        )
    return _table("measure", "also", "meaning", "range", lines=lines)


def _headers() -> Table:
    from repoeval_bench.chunkers.headers import KINDS

    return _table("header", "what is put before each chunk's text", lines=KINDS.items())


def _relevance() -> Table:
    from repoeval_bench.protocols.qrels import RULES

    return _table("relevance", "a chunk is relevant where it", lines=RULES.items())


def _exclusions() -> Table:
    from repoeval_bench.protocols.exclusion import POLICIES

    return _table("exclusion", "what a query may not see", lines=POLICIES.items())


def _expansions() -> Table:
    from repoeval_bench.retrieval.expansion import EXPANSIONS

    return _table("expand", "what a hit brings", lines=EXPANSIONS.items())


def _languages() -> Table:
    lines = [
        (language.name, " ".join(language.endings), "installed" if language.installed else install_command())
        for language in LANGUAGES.values()
    ]
    return _table("language", "names end in", "grammar", lines=lines)


def _datasets() -> Table:
    lines = [
        (level.name, tokenizer, ", ".join(contexts), str(level.tasks), str(level.repositories))
        for level in LEVELS.values()
        for tokenizer, contexts in level.contexts.items()
    ]
    return _table("level", "tokenizer", "contexts", "tasks", "repositories", lines=lines)


def _packs() -> Table:
    from repoeval_bench.dataset.shipped import summaries

    lines = [(pack.name, str(pack.repositories), str(pack.tasks), ", ".join(pack.languages)) for pack in summaries()]
    return _table("pack", "repositories", "function tasks", "languages", lines=lines)


LISTS: dict[str, Callable[[], Table]] = {
    "chunkers": _parts(CHUNKERS),
    "headers": _headers,
    "languages": _languages,
    "protocols": _protocols,
    "relevance": _relevance,
    "exclusions": _exclusions,
    "expansions": _expansions,
    "retrievers": _parts(RETRIEVERS),
    "rerankers": _parts(RERANKERS),
    "measures": _measures,
    "embedders": _parts(EMBEDDERS),
    "datasets": _datasets,
    "packs": _packs,
}


@click.command("list", help=f"List the available names; WHAT is one of {', '.join(LISTS)}.")
@click.argument("what")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of the table.")
def list_command(*, what: str, as_json: bool) -> None:
    """List what there is to choose from."""
    if what not in LISTS:
        raise UsageError(nearest("list", what, LISTS))
    table = LISTS[what]()
    if as_json:
        names = [column.name for column in table.columns]
        print_json([dict(zip(names, texts, strict=True)) for texts in table.texts()])
    else:
        print_table(table)
