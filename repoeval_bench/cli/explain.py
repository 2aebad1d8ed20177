"""`explain`: the meaning of a name from any list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from repoeval_bench.chunkers.registry import CHUNKERS
from repoeval_bench.cli.console import print_json, print_lines
from repoeval_bench.cli.listing import LISTS, available, meaning
from repoeval_bench.core.errors import SpecError, UsageError
from repoeval_bench.core.spec import nearest
from repoeval_bench.core.uses import TIERS
from repoeval_bench.embedding.registry import EMBEDDERS
from repoeval_bench.metrics import Measure, explain, is_measure
from repoeval_bench.metrics.measure import with_cutoff
from repoeval_bench.retrieval.expansion import Expansion
from repoeval_bench.retrieval.registry import RERANKERS, RETRIEVERS
from repoeval_bench.runs.parts import kinds

if TYPE_CHECKING:
    from repoeval_bench.core.registry import Kind, Row
    from repoeval_bench.dataset.pack import PackFile
    from repoeval_bench.protocols.protocol import Protocol


@click.command("explain")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of the text.")
def explain_command(*, name: str, as_json: bool) -> None:
    """Explain a name that `list` lists, such as a protocol, a chunker or a measure, or a fact of a task.

    A name in two lists is explained as both.
    """
    texts = list(explanations(name))
    if not texts:
        raise UsageError(_unknown(name))
    if as_json:
        print_json({"name": name, "explanations": texts})
    else:
        print_lines(texts)


def _unknown(name: str) -> str:
    """Say why no list has a name, and which name may be meant."""
    stem, names = name.partition("@")[0].partition("(")[0].partition(":")[0], all_names()
    if is_measure(stem) and ":" not in name:
        Measure.parse(name)
    if meant := with_cutoff(stem):
        return f"unknown name {name!r}; did you mean {meant!r}?"
    if stem in names:
        return f"{name!r} is not in a list, but {stem} is; see repoeval-bench explain {stem}"
    return nearest("name", stem, names, f"see repoeval-bench list {'|'.join(LISTS)}")


def explanations(name: str) -> Iterator[str]:
    """Yield the explanation of a name from each list that has it."""
    from repoeval_bench.dataset.shipped import shipped_pack

    yield from _protocols(name)
    for kind in (CHUNKERS, EMBEDDERS, RETRIEVERS, RERANKERS):
        yield from _parts(kind, name)
    for title in _PLAIN:
        yield from _rows_of(title, name)
    yield from _measures(name)
    if pack := shipped_pack(name):
        yield pack_lines(pack.content)
    for title, table in LISTS.items():
        if name in (title, title.removesuffix("s")):  # the list itself, in the plural or the singular
            yield f"{title}: {', '.join(row[0] for row in table().texts())}; see `list {title}`"
    if meant := _facts().get(name):
        yield f"fact {name}: {meant}"


_PLAIN = ("headers", "relevance", "exclusions", "expansions", "languages", "datasets")
"""Lists whose rows explain a name in full."""


def _rows_of(title: str, name: str) -> Iterator[str]:
    """Yield the rows of a name, or else those of its rule: `iou:T` for `iou:0.5`, every `graded:…` for `graded`."""
    table = LISTS[title]()
    kind, *heads = [column.name for column in table.columns]
    stem = name.partition(":")[0]
    texts_of = table.texts()
    same = [texts for texts in texts_of if texts[0] == name]
    if not same and (stem == name or _has_value(title, name)):
        same = [texts for texts in texts_of if texts[0].partition(":")[0] == stem]
    for first, *cells in same:
        texts = cells if len(cells) == 1 else [f"{head} {cell}" for head, cell in zip(heads, cells, strict=True)]
        yield f"{kind} {first}: {'; '.join(texts)}"


def _has_value(title: str, name: str) -> bool:
    """Return whether a name is a rule of this list with a valid value."""
    from repoeval_bench.protocols.qrels import relevance_rule

    try:
        {"relevance": relevance_rule, "expansions": Expansion.parse}[title](name)
    except (KeyError, UsageError):
        return False
    return True


def all_names() -> list[str]:
    """Return the names of all lists, without options, and the facts of tasks."""
    from repoeval_bench.dataset.shipped import editions
    from repoeval_bench.metrics.condensed import UNREGISTERED

    parts = [row.name for kind in kinds().values() for row in available(kind)]
    plain = [row[0] for title in _PLAIN for row in LISTS[title]().texts()]
    stems = dict.fromkeys(name.partition(":")[0] for name in (*parts, *plain))
    return [*stems, *UNREGISTERED, *editions(), *_facts()]


def _parts(kind: Kind[Any], name: str) -> Iterator[str]:
    stem, _, target = name.partition(":")
    row = _from_outside(kind, target) if stem == "py" else kind.known(stem)
    inner = target.partition(",")[0]
    if row is None or (inner and "=" not in inner and not row.target and stem != "py"):
        return
    yield _with_options(kind, row)
    if row.inner and inner:
        model = next(row_of_any for row_of_any in row.inner if row_of_any.target)
        yield _with_options(row.inner, row.inner.known(inner) or model)


def _from_outside(kind: Kind[Any], target: str) -> Row | None:
    """Return the row of `py:module:Name` if it is of this kind; without a name, the row of the open form."""
    if target in ("", "MODULE:NAME"):
        return available(kind)[-1]
    row = kind.find("py", ":".join(target.split(":")[:2]))
    offered = all(hasattr(row.part, offer) for offer in kind.offers[:1])
    return row if offered or kind.is_part(row.part) else None


def _with_options(kind: Kind[Any], row: Row) -> str:
    lines = [f"{kind.name} {row.label}: {meaning(row)}"]
    for option in kind.options(row).values():
        where = f" (with {option.only})" if option.only else ""
        lines.append(f"  {option!s:<17} {option.meaning}{where}".rstrip())
    if kind is CHUNKERS and not row.origin:  # every chunker of this package has headers
        names = ", ".join(row[0] for row in LISTS["headers"]().texts())
        lines.append(f"  {'header=none':<17} what is put before each chunk's text: {names}; see `list headers`")
    return "\n".join(lines)


def _measures(name: str) -> Iterator[str]:
    from repoeval_bench.metrics.condensed import UNREGISTERED

    if name in UNREGISTERED:
        yield f"measure {name}: {UNREGISTERED[name]} Scored for imported runs alone."
    # `list measures` writes the cutoff as a letter.
    elif is_measure(plain := name.removesuffix("@k").removesuffix("@B")):
        yield explain(plain)


def _facts() -> dict[str, str]:
    from repoeval_bench.dataset.task_facts import COMMIT_FACTS, FACTS
    from repoeval_bench.protocols import uses

    return {**FACTS, **uses.FACTS, **COMMIT_FACTS}


_GOLD = {
    "prompt": "[c, h+1): the prompt's lines and the first line to be written",
    "context": "[c, h+n): the prompt's lines and all lines to be written",
    "body": "[h, h+n): the lines to be written",
    "uses": "the definitions of the names in the lines to be written: decorators, header and docstring of a function "
    "or class, a name's statement; at most 12 non-blank lines each, without the prompt's",
    "lines": "the lines that the commit removed or replaced, as they stand in the base, with five lines around each "
    "within its definition",
    "exact": "these lines alone; of a commit that only inserts, the line before",
    "definitions": "the whole innermost definitions that contain them",
    "places": "the lines that answer the question, in one or several places",
}


def _gold(protocol: Protocol) -> str:
    from repoeval_bench.protocols.uses import tiers_of

    if not protocol.of_definitions:
        return _GOLD[protocol.gold]
    tiers = tiers_of(protocol.gold)
    return f"{_GOLD['uses']}; names that are {', '.join(tier for tier in TIERS if tier in tiers)}"


def _protocols(name: str) -> Iterator[str]:
    from repoeval_bench.protocols.exclusion import POLICIES
    from repoeval_bench.protocols.protocol import BASELINE, Protocol
    from repoeval_bench.protocols.qrels import RULES

    try:
        protocol = Protocol.parse(name)
    except SpecError:
        return
    kind = protocol.relevance.partition(":")[0]
    rule = next((words for name, words in RULES.items() if name in (protocol.relevance, f"{kind}:N", f"{kind}:T")), "")
    documents = {
        "chunks": "the chunker's chunks",
        "windows": "windows of 50 lines every 10, identical ones merged; no chunker is chosen",
        "baseline": f"the chunks of {BASELINE}, scored through the lines of the chunker's chunks",
    }
    scope = "its own repository" if protocol.scope == "repository" else "all repositories in one index"
    noun = "prompt" if protocol.tasks == "completion" else "question"
    lines = {
        "query": f"{protocol.query}: the {'whole' if protocol.query == 'full' else 'last lines of the'} {noun}",
        "gold": f"{protocol.gold}: {_gold(protocol)}",
        "relevant": f"{protocol.relevance}: {rule}",
        "repositories": f"{protocol.repositories} (headline: {protocol.headline} mean of {protocol.headline_measure})",
        "documents": f"{protocol.documents}: {documents[protocol.documents]}",
        "exclusion": f"{protocol.exclusion}: {POLICIES[protocol.exclusion]}",
        "scope": f"{protocol.scope}: a query searches {scope}",
        **({"note": protocol.caution} if protocol.caution else {}),
    }
    yield "\n".join([f"{protocol.name}: {protocol.users}", *(f"  {key:<13} {text}" for key, text in lines.items())])


def pack_lines(content: PackFile) -> str:
    """Describe a shipped pack and its packages by domain."""
    from repoeval_bench.dataset.shipped import summary_of

    summary = summary_of(content)
    title = (
        f"pack {summary.name}: {summary.tasks} function tasks in {summary.repositories} packages, fetched through the "
        f"{summary.registry}; see docs/packs.md"
    )
    return "\n".join([title, *(f"  {domain}: {', '.join(names)}" for domain, names in summary.domains.items())])
