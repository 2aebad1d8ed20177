"""`explain`: the meaning of a name from any list."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import click

from repoeval_bench.cli.console import print_json, print_lines
from repoeval_bench.cli.listing import LISTS, available, meaning
from repoeval_bench.core.errors import SpecError, UsageError
from repoeval_bench.core.extras import install_command
from repoeval_bench.core.languages import LANGUAGES
from repoeval_bench.core.numbers import is_whole
from repoeval_bench.core.options import named_option
from repoeval_bench.core.registry import KINDS, Row, find, is_part, known, rows
from repoeval_bench.core.spec import nearest
from repoeval_bench.core.uses import TIERS
from repoeval_bench.dataset.repoeval import LEVELS
from repoeval_bench.metrics import explain, is_measure
from repoeval_bench.retrieval.expansion import CHARGED, EXPANSIONS, NOTHING

if TYPE_CHECKING:
    from repoeval_bench.dataset.pack import PackFile
    from repoeval_bench.protocols.protocol import Protocol


@click.command("explain")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of the text.")
def explain_command(*, name: str, as_json: bool) -> None:
    """Explain a printed word, such as `detectable`, or what `list` lists: a protocol, a chunker, a measure.

    A name in two lists is explained as both, a heading of several words by its words.
    """
    texts = list(explanations(name)) or _by_words(name)
    if not texts:
        raise UsageError(_unknown(name))
    if as_json:
        print_json({"name": name, "explanations": texts})
    else:
        print_lines(texts)


def _unknown(name: str) -> str:
    """Say what is wrong with a name that no list has, or has otherwise."""
    from repoeval_bench.metrics import Measure, is_measure
    from repoeval_bench.metrics.measure import with_cutoff

    stem, names = name.partition("@")[0].partition("(")[0].partition(":")[0], all_names()
    if is_measure(stem):
        Measure.parse(name)
    if meant := with_cutoff(stem):
        return f"unknown name {name!r}; did you mean {meant!r}?"
    if stem in names:
        return f"{name!r} is not in a list, but {stem} is; see repoeval-bench explain {stem}"
    return nearest("name", stem, names, f"see repoeval-bench list {'|'.join(LISTS)}")


def explanations(name: str) -> Iterator[str]:
    """Yield what the lists say of a name; nothing where no list has it."""
    lists: list[Callable[[str], Iterator[str]]] = [_protocols]
    lists += [partial(_parts, kind) for kind in ("chunker", "embedder", "retriever", "reranker")]
    lists += [_relevance, _exclusions, _expansions, _languages, _levels, _measures, _packs, _printed]
    for explained in lists:
        yield from explained(name)


def _by_words(heading: str) -> list[str]:
    """Explain a heading such as `micro mean, 95 % CI` by its longest parts; empty where one word is unknown.

    What follows `minus` is the name of a run.
    """
    words, texts = [word.strip(",()") for word in heading.split()], list[str]()
    while len(words) + len(texts) > 1 and words:
        for end in range(len(words), 0, -1):
            if part := list(explanations(" ".join(words[:end]))):
                texts += part
                words = [] if words[0] == "minus" else words[end:]
                break
        else:
            if not is_whole(words.pop(0)):
                return []
    return list(dict.fromkeys(texts))


def all_names() -> list[str]:
    """The names of all lists, without options, and the printed words."""
    from repoeval_bench.dataset.shipped import editions
    from repoeval_bench.metrics.condensed import UNREGISTERED
    from repoeval_bench.protocols.exclusion import POLICIES
    from repoeval_bench.protocols.qrels import RULES
    from repoeval_bench.report.glossary import WORDS

    parts = [row.name.partition(":")[0] for kind in KINDS for row in available(kind)]
    return [
        *dict.fromkeys(parts),
        *RULES,
        *POLICIES,
        *EXPANSIONS,
        "expand",
        *LANGUAGES,
        *LEVELS,
        *UNREGISTERED,
        *editions(),
        *_facts(),
        *WORDS,
    ]


def _parts(kind: str, name: str) -> Iterator[str]:
    stem, _, target = name.partition(":")
    row = _from_outside(kind, target) if stem == "py" else known(kind, stem)
    if row is None:
        return
    yield _with_options(kind, row)
    inner = target.partition(",")[0]
    if row.inner and inner:
        model = next(row_of_any for row_of_any in rows(row.inner) if row_of_any.target)
        yield _with_options(row.inner, known(row.inner, inner) or model)


def _from_outside(kind: str, target: str) -> Row | None:
    """The row of `py:module:Name` where it is of this kind; the open form itself for no name."""
    if target in ("", "MODULE:NAME"):
        return available(kind)[-1]
    row = find(kind, "py", ":".join(target.split(":")[:2]))
    part = row.load()
    offered = all(hasattr(part, offer) for offer in KINDS[kind].offers[:1])
    return row if offered or is_part(KINDS[kind], part) else None


def _with_options(kind: str, row: Row) -> str:
    lines = [f"{kind} {row.label}: {meaning(row)}"]
    for key, option in row.parameters().items():
        where = f" (with {'='.join(option.only)})" if option.only else ""
        lines.append(f"  {named_option(key, option):<17} {option.meaning}{where}".rstrip())
    return "\n".join(lines)


def _relevance(name: str) -> Iterator[str]:
    from repoeval_bench.protocols.qrels import RULES, relevance_rule

    kind, _, value = name.partition(":")
    rules = {rule: words for rule, words in RULES.items() if rule.partition(":")[0] == kind}
    if rules and value not in ("", "N", "T"):
        relevance_rule(name)
        rules = {name: rules.get(name) or next(iter(rules.values()))}
    for rule, words in rules.items():
        yield f"relevance {rule}: {words}"


def _exclusions(name: str) -> Iterator[str]:
    from repoeval_bench.protocols.exclusion import POLICIES

    if name in POLICIES:
        yield f"exclusion {name}: {POLICIES[name]}"  # type: ignore[index]


def _expansions(name: str) -> Iterator[str]:
    kind, _, number = name.partition(":")
    shown = [rule for rule in EXPANSIONS if rule.partition(":")[0] == kind or name == "expand"]
    if not shown:
        return
    for rule in shown:
        if is_whole(number):
            yield f"expand {name}: {EXPANSIONS[rule].replace('N lines', f'{number} lines')}"
        else:
            yield f"expand {rule}: {EXPANSIONS[rule]}"
    if shown != [NOTHING]:
        yield f"expand: {CHARGED}"


def _languages(name: str) -> Iterator[str]:
    if language := LANGUAGES.get(name):
        grammar = "installed" if language.installed else install_command()
        yield f"language {name}: files that end in {' '.join(language.endings)}; grammar: {grammar}"


def _levels(name: str) -> Iterator[str]:
    for level in LEVELS.values():
        if level.name == name:
            contexts = ", ".join(f"{' and '.join(c)} of {tokenizer}" for tokenizer, c in level.contexts.items())
            yield f"level {name}: {level.tasks} tasks in {level.repositories} repositories; contexts {contexts}"


def _measures(name: str) -> Iterator[str]:
    from repoeval_bench.metrics.condensed import UNREGISTERED

    if name in UNREGISTERED:
        yield f"measure {name}: {UNREGISTERED[name]} Scored for imported runs alone."
    # `list measures` writes the cutoff as a letter; `p (Holm)` is no precision with an option.
    elif (
        name.lower() != "p (holm)"
        and " " not in name.partition("@")[2]
        and is_measure(plain := name.removesuffix("@k").removesuffix("@B"))
    ):
        yield explain(plain)


def _facts() -> dict[str, str]:
    from repoeval_bench.dataset.facts import FACTS
    from repoeval_bench.protocols import uses

    return {**FACTS, **uses.FACTS}


def _printed(name: str) -> Iterator[str]:
    """A fact of a task, or a word of tables and notes, in capitals or not."""
    from repoeval_bench.report.glossary import WORDS

    if meant := _facts().get(name):
        yield f"fact {name}: {meant}"
    for word, meant in WORDS.items():
        if word == name or (word.lower() == name.lower() and name not in WORDS):
            yield f"{word}: {meant}"


_GOLD = {
    "prompt": "[c, h+1): the prompt's lines and the first line to be written",
    "context": "[c, h+n): the prompt's lines and all lines to be written",
    "body": "[h, h+n): the lines to be written",
    "uses": "what the names in the lines to be written are defined as: of a function or class decorators, header and "
    "docstring, of a name its statement, at most 12 lines each that are not blank, without lines that the prompt shows",
    "places": "the lines that answer the question, in one or several places",
}


def _gold(protocol: Protocol) -> str:
    from repoeval_bench.protocols.uses import tiers_of

    if not protocol.of_definitions:
        return _GOLD[protocol.gold]
    taken = tiers_of(protocol.gold)
    return f"{_GOLD['uses']}; names that are {', '.join(tier for tier in TIERS if tier in taken)}"


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
    lines = {
        "query": f"{protocol.query}: {'the whole prompt' if protocol.query == 'full' else 'the last lines of it'}",
        "gold": f"{protocol.gold}: {_gold(protocol)}",
        "relevant": f"{protocol.relevance}: {rule}",
        "repositories": f"{protocol.repositories} (headline: {protocol.headline} mean of {protocol.headline_measure})",
        "documents": f"{protocol.documents}: {documents[protocol.documents]}",
        "exclusion": f"{protocol.exclusion}: {POLICIES[protocol.exclusion]}",
        "scope": f"{protocol.scope}: a query searches {scope}",
        **({"note": protocol.caution} if protocol.caution else {}),
    }
    yield "\n".join([f"{protocol.name}: {protocol.users}", *(f"  {key:<13} {text}" for key, text in lines.items())])


def _packs(name: str) -> Iterator[str]:
    from repoeval_bench.dataset.shipped import shipped_pack

    if pack := shipped_pack(name):
        yield pack_lines(pack.content)


def pack_lines(content: PackFile) -> str:
    """Describe a shipped pack and its packages by domain."""
    from repoeval_bench.dataset.shipped import summary_of

    summary = summary_of(content)
    lines = [
        f"pack {summary.name}: {summary.tasks} function tasks in {summary.repositories} packages, fetched through the "
        f"{summary.registry}; see docs/packs.md",
        *(f"  {domain}: {', '.join(packages)}" for domain, packages in summary.domains.items()),
    ]
    return "\n".join(lines)
