"""`explain`: what a name means, whichever list it stands in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from repoeval_bench.cli.console import print_lines
from repoeval_bench.cli.listing import LISTS, named_option
from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.spec import Spec, nearest
from repoeval_bench.protocols.protocol import BASELINE, PROTOCOLS, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from repoeval_bench.core.spec import Option


@click.command("explain", short_help="Say what a chunker, a protocol, a retriever, a measure, … means.")
@click.argument("name")
def explain_command(*, name: str) -> None:
    """Explain whatever `list` lists: a protocol such as `context`, a chunker, a measure such as `ndcg@10`.

    A name that stands in two lists is explained as both.
    """
    found = [text for explain in EXPLAINERS for text in explain(name)]
    if not found:
        stem = name.partition("@")[0].partition("(")[0].partition(":")[0]
        raise UsageError(nearest("name", stem, all_names(), f"see repoeval-bench list {'|'.join(LISTS)}"))
    print_lines(found)


def _protocol(name: str) -> Iterable[str]:
    if name.partition("+")[0] in PROTOCOLS:
        yield _explain_protocol(Protocol.parse(name))


def _chunker(name: str) -> Iterable[str]:
    from repoeval_bench.chunkers.registry import available

    kind = name.partition(":")[0]
    for chunker in available():
        if kind == chunker.name.partition(":")[0]:
            yield f"chunker {chunker.name}: {chunker.meaning}"
            for key, default in chunker.options.items():
                yield f"  {key}={default}"


def _relevance(name: str) -> Iterable[str]:
    from repoeval_bench.protocols.qrels import RULES, relevance_rule

    kind, _, value = name.partition(":")
    rules = {rule: words for rule, words in RULES.items() if rule.partition(":")[0] == kind}
    if rules and value not in ("", "N", "T"):
        relevance_rule(name)
        rules = {name: rules.get(name) or next(iter(rules.values()))}
    for rule, words in rules.items():
        yield f"relevance {rule}: {words}"


def _exclusion(name: str) -> Iterable[str]:
    from repoeval_bench.protocols.exclusion import POLICIES

    for policy, words in POLICIES.items():
        if policy == name:
            yield f"exclusion {policy}: {words}"


def _retriever(name: str) -> Iterable[str]:
    from repoeval_bench.retrieval.registry import RETRIEVERS, find_entry

    kind = name.partition(":")[0]  # a measure such as ndcg@10 is no spec
    if kind == "rerank" or kind in RETRIEVERS:
        row, entry = find_entry(Spec.parse(name))
        yield _with_options(row, entry.meaning, entry.options)


def _embedder(name: str) -> Iterable[str]:
    from repoeval_bench.embedding.registry import EMBEDDERS

    kind = name.partition(":")[0]
    if kind in EMBEDDERS:
        yield _with_options(kind, EMBEDDERS[kind].meaning, EMBEDDERS[kind].options)


def _level(name: str) -> Iterable[str]:
    from repoeval_bench.dataset.repoeval import LEVELS

    for level in LEVELS.values():
        if level.name == name:
            contexts = ", ".join(f"{' and '.join(c)} of {tokenizer}" for tokenizer, c in level.contexts.items())
            yield f"level {name}: {level.tasks} tasks in {level.repositories} repositories; contexts {contexts}"


def _measure(name: str) -> Iterable[str]:
    from repoeval_bench.metrics import explain, is_measure
    from repoeval_bench.metrics.condensed import UNREGISTERED

    if name in UNREGISTERED:
        yield f"measure {name}: {UNREGISTERED[name]} Scored for imported runs alone."
    # `list metrics` writes the cutoff as a letter.
    elif is_measure(plain := name.removesuffix("@k").removesuffix("@B")):
        yield explain(plain)


EXPLAINERS: tuple[Callable[[str], Iterable[str]], ...] = (
    _protocol, _chunker, _relevance, _exclusion, _retriever, _embedder, _level, _measure,
)  # fmt: skip
"""One a list: what it says of a name, nothing where the name is none of its own."""


def all_names() -> list[str]:
    """The names of all lists, without options."""
    from repoeval_bench.chunkers.registry import available
    from repoeval_bench.dataset.repoeval import LEVELS
    from repoeval_bench.embedding.registry import EMBEDDERS
    from repoeval_bench.metrics import catalogue
    from repoeval_bench.metrics.condensed import UNREGISTERED
    from repoeval_bench.protocols.exclusion import POLICIES
    from repoeval_bench.protocols.qrels import RULES
    from repoeval_bench.retrieval.registry import RETRIEVERS

    chunkers = [chunker.name.partition(":")[0] for chunker in available()]
    measures = [row.name.partition(",")[0].partition("@")[0] for row in catalogue()]
    return [*PROTOCOLS, *chunkers, *RULES, *POLICIES, *RETRIEVERS, *EMBEDDERS, *LEVELS, *measures, *UNREGISTERED]


def _with_options(name: str, meaning: str, options: Mapping[str, Option]) -> str:
    rows = [f"{name}: {meaning}"]
    for key, option in options.items():
        where = f" (with {'='.join(option.only)})" if option.only else ""
        rows.append(f"  {named_option(key, option):<17} {option.meaning}{where}")
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
    from repoeval_bench.protocols.exclusion import POLICIES
    from repoeval_bench.protocols.qrels import RULES

    kind = protocol.relevance.partition(":")[0]
    rule = next((words for name, words in RULES.items() if name in (protocol.relevance, f"{kind}:N", f"{kind}:T")), "")
    query = {"full": "the whole prompt"}.get(protocol.query, "the prompt's last lines")
    rows = {
        "query": f"{protocol.query}: {query}",
        "gold": f"{protocol.gold}: {_GOLD[protocol.gold]}",
        "relevant": f"{protocol.relevance}: {rule}",
        "repositories": f"{protocol.repositories} (headline: {protocol.headline} mean of {protocol.headline_measure})",
        "documents": f"{protocol.documents}: {_DOCUMENTS[protocol.documents]}",
        "exclusion": f"{protocol.exclusion}: {POLICIES[protocol.exclusion]}",
        "copies": f"{protocol.copies}: another chunk with a relevant chunk's text "
        + ("counts too" if protocol.copies == "credited" else "does not count"),
        "scope": f"{protocol.scope}: a query searches "
        + ("its own repository" if protocol.scope == "repository" else "all repositories in one index"),
        "mind": protocol.caution,
    }
    return "\n".join([f"{protocol.name}: {protocol.users}", *(f"  {key:<13} {text}" for key, text in rows.items())])
