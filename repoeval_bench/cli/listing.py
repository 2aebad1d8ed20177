"""`list`: what there is to choose from, and the meaning of a name."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import click

from repoeval_bench.chunkers.headers import KINDS
from repoeval_bench.chunkers.registry import CHUNKERS
from repoeval_bench.cli.console import print_json, print_lines, print_table
from repoeval_bench.core.errors import UsageError, nearest
from repoeval_bench.core.extras import install_command
from repoeval_bench.core.languages import FURTHER, LANGUAGES
from repoeval_bench.core.registry import Kind, Row
from repoeval_bench.dataset.repoeval import FUNCTION, LEVELS
from repoeval_bench.dataset.shipped import editions, packages_of, registry_of, shipped_pack
from repoeval_bench.embedding.registry import EMBEDDERS
from repoeval_bench.metrics import explain
from repoeval_bench.metrics.definition import MEASURES
from repoeval_bench.metrics.measure import UNREGISTERED, pattern
from repoeval_bench.protocols import uses
from repoeval_bench.protocols.exclusion import POLICIES
from repoeval_bench.protocols.protocol import PROTOCOLS, Protocol
from repoeval_bench.protocols.qrels import RULES, relevance_rule
from repoeval_bench.report.table import Column, Table, make_table
from repoeval_bench.report.text import heading
from repoeval_bench.retrieval.registry import RERANKERS, RETRIEVERS
from repoeval_bench.runs.query_scores import RUN_FACTS


def _table(*names: str, lines: Iterable[Sequence[str]], narrow: int | None = None) -> Table:
    """The table of a list; `narrow` is the width of its columns of names, so that most of a page is for the meaning."""
    widths = [None if name == "meaning" else narrow for name in names]
    columns = [Column(name=name, prose=True, width=width) for name, width in zip(names, widths, strict=True)]
    return make_table(columns, lines)


def _available(kind: Kind[Any]) -> list[Row]:
    """Return the parts of a kind that can be named: built-in ones, those of other packages, and `py:MODULE:NAME`."""
    what = f"`{kind.data.__name__}`" if kind.data else "class or function"
    open_form = Row(name="py:MODULE:NAME", meaning=f"Any {what} of a Python module; see docs/api.md.")
    return [*kind, *kind.plug_ins(), open_form]


def _meaning(row: Row) -> str:
    return f"{row.meaning} (from {row.origin})" if row.origin else row.meaning


def _parts(kind: Kind[Any]) -> Table:
    *rows, open_form = _available(kind)
    lines = [
        (row.label, ", ".join(map(str, kind.options(row).values())), _meaning(row))
        for row in [*sorted(rows, key=lambda row: row.name), open_form]
    ]
    return _table(kind.name, "options and defaults", "what it does", lines=lines)


def _protocols() -> Table:
    lines = [(row.name, _meaning(row)) for row in _available(PROTOCOLS)]
    return _table("protocol", "what is the query, and which lines are the target", lines=lines)


def _measures() -> Table:
    lines = []
    for row in _available(MEASURES):
        d = row.part
        spelled = pattern(row.name, d) if d else row.name
        shown = ", ".join(map(heading, spelled.split(", "))) if d else ""
        lines.append((spelled, shown, ", ".join(row.aliases), _meaning(row), d.range if d else ""))
    lines += [(name, "", "", f"{text} Scored for imported runs alone.", "") for name, text in UNREGISTERED.items()]
    return _table("measure", "in tables", "also", "meaning", "range", lines=lines, narrow=18)


def _facts() -> Table:
    from repoeval_bench.dataset.task_facts import COMMIT_FACTS, FACTS  # ten grammars

    facts = {**RUN_FACTS, **FACTS, **uses.FACTS, **COMMIT_FACTS}
    return _table("fact", "meaning", lines=facts.items())


def _languages() -> Table:
    lines = [
        (
            language.name,
            " ".join(language.endings),
            "always" if name in LANGUAGES else "if more files than the ten",
            "installed" if language.installed else install_command(language.extra),
        )
        for name, language in {**LANGUAGES, **FURTHER}.items()
    ]
    return _table("language", "names end in", "read", "grammar", lines=lines)


def _datasets() -> Table:
    lines = [
        (level.name, tokenizer, ", ".join(contexts), str(level.tasks), str(level.repositories))
        for level in LEVELS.values()
        for tokenizer, contexts in level.contexts.items()
    ]
    return _table("level", "tokenizer", "contexts", "tasks", "repositories", lines=lines)


def _packs() -> Table:
    known = [pack.content for pack in map(shipped_pack, editions()) if pack]
    lines = [(c.name, str(len(c.sources)), str(c.levels[FUNCTION.name].tasks), ", ".join(c.languages)) for c in known]
    return _table("pack", "repositories", "function tasks", "languages", lines=lines)


LISTS: dict[str, Kind[Any] | Callable[[], Table]] = {
    "chunkers": CHUNKERS,
    "headers": partial(_table, "header", "what is put before each chunk's text", lines=KINDS.items()),
    "languages": _languages,
    "protocols": _protocols,
    "relevance": partial(_table, "relevance", "a chunk is relevant where it", lines=RULES.items()),
    "exclusions": partial(_table, "exclusion", "what a query may not see", lines=POLICIES.items()),
    "retrievers": RETRIEVERS,
    "rerankers": RERANKERS,
    "measures": _measures,
    "embedders": EMBEDDERS,
    "facts": _facts,
    "datasets": _datasets,
    "packs": _packs,
}


def list_table(kind: str) -> Table:
    """Return the table of a list."""
    listed = LISTS[kind]
    return _parts(listed) if isinstance(listed, Kind) else listed()


@click.command("list", help=f"List the available names, or explain one; KIND is one of {', '.join(LISTS)}.")
@click.argument("kind")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def list_command(*, kind: str, name: str | None, as_json: bool) -> None:
    """List what there is to choose from, or explain one of it."""
    if kind not in LISTS:
        raise UsageError(nearest("list", kind, LISTS))
    if name is not None:
        text = explanation(kind, name)
        if as_json:
            print_json({"kind": kind, "name": name, "explanation": text})
        else:
            print_lines([text])
    elif as_json:
        table = list_table(kind)
        names = [column.name for column in table.columns]
        print_json([dict(zip(names, texts, strict=True)) for texts in table.texts()])
    else:
        print_table(list_table(kind))


def explanation(kind: str, name: str) -> str:
    """Say what a name of a list means; a SpecError or UsageError offers the nearest if the list has none."""
    table, listed = list_table(kind), LISTS[kind]
    names = [row[0] for row in table.texts()]
    if name in names and name.startswith("py:"):
        return _of_row(table, name)
    if isinstance(listed, Kind):
        return _part(listed, name)
    match kind:
        case "protocols":
            return _protocol(name)
        case "measures" if name not in UNREGISTERED:
            # The list writes the cutoff as a letter.
            measure, colon, text = explain(name.removesuffix("@k").removesuffix("@B")).partition(": ")
            shown = heading(measure)
            return f"{measure if shown == measure else f'{shown} ({measure})'}{colon}{text}"
        case "packs":
            return _pack(name, names)
        case "relevance":
            if ":" in name and name not in RULES:
                relevance_rule(name)
    return _of_row(table, name)


def _of_row(table: Table, name: str) -> str:
    """Say what the rows of a name have, or else those of its rule: `iou:T` for `iou:0.5`."""
    first, *heads = [column.name for column in table.columns]
    texts_of = table.texts()
    stem = name.partition(":")[0]
    same = [texts for texts in texts_of if texts[0] == name]
    same = same or [texts for texts in texts_of if texts[0].partition(":")[0] == stem]
    if not same:
        raise UsageError(nearest(first, name, [texts[0] for texts in texts_of]))
    lines = []
    for named, *cells in same:
        filled = [(head, cell) for head, cell in zip(heads, cells, strict=True) if cell]
        said = [cell if len(filled) == 1 else f"{head} {cell}" for head, cell in filled]
        lines.append(f"{first} {named}: {'; '.join(said)}")
    return "\n".join(lines)


def _part(kind: Kind[Any], name: str) -> str:
    """Describe a part, and the one that is named inside it, with the options of each."""
    row = next((row for row in _available(kind) if name in (row.name, row.label, *row.aliases)), None)
    if row is not None:
        return _with_options(kind, row, row.label, {})
    chosen = kind.choose(name)
    shown = f"py:{chosen.target}" if chosen.row.name == "py" else chosen.row.label
    lines = [_with_options(kind, chosen.row, shown, chosen.options)]
    if inner := chosen.inner:
        lines.append(_with_options(inner.kind, inner.row, inner.row.label, inner.options))
    return "\n".join(lines)


def _with_options(kind: Kind[Any], row: Row, shown: str, given: Mapping[str, Any]) -> str:
    """Describe a part and its options, each with the value that is given, or else its default."""
    lines = [f"{kind.name} {shown}: {_meaning(row)}"]
    options = {
        str(replace(option, default=given.get(option.name, option.default))): option.meaning
        for option in kind.options(row).values()
    }
    if kind is CHUNKERS and not row.origin:  # every chunker of this package has headers
        options["header=none"] = "what is put before each chunk's text; see `list headers`"
    width = max(map(len, options), default=0)
    lines += (f"  {option:<{width}}  {meaning}".rstrip() for option, meaning in options.items())
    return "\n".join(lines)


def _protocol(name: str) -> str:
    protocol = Protocol.parse(name)
    lines = {
        "query": "the whole query" if protocol.query == "full" else f"{protocol.query}: the last lines of the prompt",
        "target": protocol.gold,
        "relevant": f"{protocol.relevance}; `list relevance` explains it",
        "exclusion": f"{protocol.exclusion}; `list exclusions` explains it",
        "headline": f"{protocol.headline} mean of {protocol.headline_measure}",
        "repositories": protocol.repositories,
        "searched": protocol.documents,
        "note": protocol.caution,
    }
    said = (f"  {key:<13} {text}" for key, text in lines.items() if text)
    return "\n".join([f"{protocol.name}: {protocol.users} (docs/protocols.md)", *said])


def _pack(name: str, names: Sequence[str]) -> str:
    """Describe a shipped pack and its packages by domain."""
    pack = shipped_pack(name)
    if pack is None:
        raise UsageError(nearest("pack", name, names))
    content = pack.content
    registry = "registry of npm's settings" if registry_of(content) == "npm" else "index of pip's settings"
    tasks = f"{content.levels[FUNCTION.name].tasks} function tasks in {len(content.sources)} packages"
    title = f"pack {content.name}: {tasks}, fetched through the {registry}; see docs/data.md"
    domains = packages_of(content).items()
    return "\n".join([title, *(f"  {domain}: {', '.join(packages)}" for domain, packages in domains)])
