"""Protocols: what is asked, what is gold, what counts as relevant, and where. Parsed and printed back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

from repoeval_bench.core.errors import UsageError
from repoeval_bench.core.spec import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Gold = Literal["prompt", "context", "body"]
Repositories = Literal["all", "six"]
Documents = Literal["chunks", "windows", "baseline"]
Exclusion = Literal["none", "prompt", "repocoder", "body"]
Copies = Literal["distinct", "credited"]
Scope = Literal["repository", "pooled"]

BASELINE = "fixed:max_nws=1500"
"""The chunker whose chunks are the documents of protocol `linemap`."""

CHOICES: Mapping[str, tuple[str, ...] | None] = {
    "query": None,
    "gold": get_args(Gold),
    "relevance": None,
    "repositories": get_args(Repositories),
    "exclusion": get_args(Exclusion),
    "copies": get_args(Copies),
    "scope": get_args(Scope),
}
"""What can be overridden, and its values where they are a fixed few."""


def check_choice(choice: str, value: str | None) -> None:
    """A UsageError where a choice has a fixed few values and this is none of them; None leaves the protocol's."""
    allowed = CHOICES[choice]
    if value and allowed and value not in allowed:
        raise UsageError(nearest(choice, value, allowed))


@dataclass(frozen=True, slots=True)
class Protocol:
    """A bundle of choices: what is asked, what is gold, what counts as relevant, and where.

    `query` is `full` or `tail:LINES`; `relevance` is a rule of `qrels.RULES`. `documents` says what is ranked in the
    end: the chunker's `chunks`, fixed `windows` (then there is no chunker to choose), or the `baseline`'s chunks,
    scored through the lines they share with the chunker's. `exclusion` is what a query may not see, `copies` whether
    another chunk with a relevant chunk's text counts too, `scope` whether a query searches its repository or all of
    them as one. Overriding a choice renames the protocol: `context+query=tail:20`. A combination that leaves no gold
    to find is a UsageError.
    """

    name: str
    query: str
    gold: Gold
    relevance: str
    repositories: Repositories
    headline: Literal["micro", "macro"]
    users: str
    caution: str
    documents: Documents = "chunks"
    exclusion: Exclusion = "none"
    copies: Copies = "distinct"
    scope: Scope = "repository"

    @property
    def headline_measure(self) -> str:
        """The measure that chunkers are compared by first: a short gold is read at its own size."""
        return "line_rprec" if self.gold == "body" else "line_recall_auc"

    @property
    def overridden(self) -> frozenset[str]:
        """The choices in which it differs from the protocol that it is named after."""
        return frozenset(choice.partition("=")[0] for choice in self.name.split("+")[1:])

    def override(
        self,
        *,
        query: str | None = None,
        gold: str | None = None,
        relevance: str | None = None,
        repositories: str | None = None,
        exclusion: str | None = None,
        copies: str | None = None,
        scope: str | None = None,
    ) -> Protocol:
        """This protocol with some choices replaced, renamed where that changes anything."""
        asked = {
            "query": query, "gold": gold, "relevance": relevance, "repositories": repositories, "exclusion": exclusion,
            "copies": copies, "scope": scope,
        }  # fmt: skip
        changed = {key: value for key, value in asked.items() if value and value != getattr(self, key)}
        if not changed:
            return self
        for key, value in changed.items():
            check_choice(key, value)
        # The name tells what differs from the protocol of that name, each choice once, however often it was replaced.
        name = self.name.partition("+")[0]
        origin = PROTOCOLS.get(name, self)
        values = {key: changed.get(key, getattr(self, key)) for key in asked}
        suffix = "".join(f"+{key}={value}" for key, value in values.items() if value != getattr(origin, key))
        chosen = replace(self, name=name + suffix, **changed)  # type: ignore[arg-type]
        chosen.check()
        return chosen

    def check(self) -> None:
        """A UsageError where what is excluded is all that is gold, or what is asked for twice over."""
        gone = {"prompt": ("prompt",), "repocoder": ("body",), "body": ("body",), "none": ()}[self.exclusion]
        if self.gold in gone:
            raise UsageError(
                f"exclusion={self.exclusion} with gold={self.gold} leaves no gold to find; choose another gold, or "
                "exclusion=none"
            )
        if self.documents == "windows" and self.exclusion == "body":
            raise UsageError(
                f"exclusion=body chunks the task's file again, but the documents of {self.name} are fixed; choose "
                "exclusion=repocoder, or another protocol"
            )
        if self.documents == "baseline" and self.scope == "pooled":
            raise UsageError(
                f"scope=pooled ranks all repositories at once, but {self.name} maps scores within one; choose "
                "scope=repository, or another protocol"
            )

    @classmethod
    def parse(cls, text: str) -> Protocol:
        """`NAME` or `NAME+choice=value+…`, the way a run prints it back."""
        name, *overrides = text.split("+")
        if name not in PROTOCOLS:
            raise UsageError(nearest("protocol", name, PROTOCOLS))
        choices: dict[str, str] = {}
        for override in overrides:
            key, equals, value = override.partition("=")
            if not equals or key not in CHOICES:
                known = ", ".join(f"{choice}=" for choice in CHOICES)
                raise UsageError(f"protocol {text!r}: {override!r} is not one of {known}")
            choices[key] = value
        return PROTOCOLS[name].override(**choices)


_COPY = "the query is a copy of the gold text: bigger chunks and lexical overlap raise the score by themselves"

_PROMPT = (
    f"{_COPY}; the gold ends with the first line to be written, so it is no search for the rest of it; at function "
    "level trlx and betty are left out, and each of the six others weighs the same, however few its tasks"
)

PROTOCOLS: Mapping[str, Protocol] = {
    "context": Protocol(
        "context", "full", "context", "overlap", "all", "micro",
        "this project's default: the whole prompt asks for its own lines and the function to be written", _COPY,
    ),
    "code-chunk": Protocol(
        "code-chunk", "full", "prompt", "overlap", "six", "macro",
        "the RepoEval evaluation of supermemoryai/code-chunk", _PROMPT,
    ),
    "coderag": Protocol(
        "coderag", "full", "prompt", "overlap", "six", "macro",
        "CodeRAG-Bench (Wang et al. 2024): windows of 50 lines every 10, identical ones merged, titled by their file",
        "there is no chunker here, so it says nothing about one; " + _PROMPT, documents="windows",
    ),
    "body": Protocol(
        "body", "tail:20", "body", "overlap", "all", "micro",
        "RepoCoder's window: the last 20 lines of the prompt ask for the lines to be written",
        "the lines to be found follow the query's in the same file, so neighbourhood helps; they are not the only "
        "useful ones",
    ),
    "linemap": Protocol(
        "linemap", "full", "prompt", "overlap", "six", "macro",
        "after cAST (Zhang et al. 2025, appendix A.2): every chunker's scores go to lines, and from lines to the "
        f"chunks of {BASELINE}, so that all are judged on one set of documents",
        "chunks that fit the baseline's bounds map without loss, so the baseline has an advantage; " + _PROMPT,
        documents="baseline",
    ),
}  # fmt: skip


def passed_over(protocols: Iterable[Protocol], level: str) -> frozenset[str]:
    """Repositories whose tasks a limit passes over: those that one of the protocols does not score.

    So each of them scores every task that a limit leaves.
    """
    from repoeval_bench.dataset.repoeval import left_out

    return frozenset().union(*(left_out(protocol.repositories, level) for protocol in protocols))


def check_scored(protocol: Protocol, repos: Iterable[str], level: str) -> None:
    """A UsageError where a protocol scores none of the repositories that are named; naming none takes all."""
    named = sorted(set(repos))
    if named and passed_over([protocol], level).issuperset(named):
        raise UsageError(scores_none(protocol, named))


def scores_none(protocol: Protocol, repos: Iterable[str]) -> str:
    """The sentence for a protocol that scores none of the repositories."""
    return f"protocol {protocol.name} scores none of {', '.join(repos)}; choose other repositories or repositories=all"
