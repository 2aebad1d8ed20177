"""Protocols: the query, the gold, the rule of relevance, and the search scope. Parsed and printed back."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, get_args

from repoeval_bench.core.benchmark import Benchmark
from repoeval_bench.core.errors import UsageError, nearest
from repoeval_bench.core.registry import Kind, Row

Gold = Literal["prompt", "context", "body", "uses", "places", "files", "lines", "exact", "definitions"]
Repositories = Literal["all", "six"]
Exclusion = Literal["none", "prompt", "repocoder", "body", "free", "hidden"]
Scope = Literal["repository", "pooled"]

COMPLETION_GOLDS = ("prompt", "context", "body", "uses")
"""The golds of completion tasks."""

COMMIT_GOLDS = ("lines", "exact", "definitions")
"""The golds of protocol `commits`, the deciding one first."""

CHOICES: Mapping[str, tuple[str, ...] | None] = {
    "query": None,
    "gold": get_args(Gold),
    "relevance": None,
    "repositories": get_args(Repositories),
    "exclusion": get_args(Exclusion),
    "scope": get_args(Scope),
}
"""Choices that can be overridden, with their values where these are a fixed few."""


def check_choice(choice: str, value: str | None) -> None:
    """Raise a UsageError if a choice has fixed values and this is not one; None keeps the protocol's."""
    allowed = CHOICES[choice]
    if value and allowed and value not in allowed:
        raise UsageError(nearest(choice, value, allowed))


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """A bundle of choices. Overriding one of `CHOICES` renames the protocol: `context+query=tail:20`.

    A combination that leaves no gold to find is a UsageError.
    """

    name: str
    gold: Gold
    """The target. Of a question these are its `places`, which `commits` calls `lines`.

    `questions` calls them `files` where whole files answer most of them.
    """
    users: str
    """Who evaluates this way, and by which query and target."""
    query: str = "full"
    """`full`, or `tail:LINES` of the prompt."""
    relevance: str = "overlap"
    """A rule of `qrels.RULES`."""
    repositories: Repositories = "all"
    headline: Literal["micro", "macro"] = "micro"
    """The mean that runs are compared by: over queries, or over repositories."""
    documents: Literal["chunks", "windows"] = "chunks"
    """What is ranked: the chunker's chunks, or fixed windows, for which no chunker can be chosen."""
    exclusion: Exclusion = "none"
    """What a query may not see."""
    scope: Scope = "repository"
    """Whether a query searches its repository, or all of them as one."""
    tasks: Literal["completion", "docstring", "tests", "commits", "questions"] = "completion"
    """What the queries are: completion tasks, one for every documented function or test, commits, or own questions."""
    ask: Callable[..., Benchmark] | None = None
    """Makes the queries from a benchmark's code; None if they are in the data."""
    unit: str = ""
    """What each query that `ask` makes is about, as tables count it."""
    limits: str = ""
    """What its numbers leave open, beside what `caution` says of its other choices."""

    @property
    def meaning(self) -> str:
        """Text beside the name in `list protocols`: who evaluates this way."""
        return self.users

    @property
    def caution(self) -> str:
        """Its limits, and those that follow from its choices; the share of gold in a query is measured instead."""
        cautions = {
            "it uses no chunker, so it says nothing about chunkers": self.documents == "windows",
            "the target ends with the first line to be written, so its other lines are not searched for": self.gold
            == "prompt",
            "the target lines follow the query in its file, so chunks near it score well": self.gold == "body",
            "definitions come from reading the code, not from running it, so dynamic names do not count": (
                self.of_definitions
            ),
            self.limits: bool(self.limits),
            "most targets are whole files, so every chunk of one is relevant, wherever a chunker splits": self.gold
            == "files",
            "at function level trlx and betty are left out": self.repositories == "six",
            "each repository counts the same, however few tasks it has": self.headline == "macro",
        }
        return "; ".join(sentence for sentence, holds in cautions.items() if holds)

    @property
    def headline_measure(self) -> str:
        """The measure that runs are compared by first; gold `body` is short and is read at its own size."""
        if self.of_definitions:
            return "definition_recall_auc"
        if self.gold == "files":
            return "target_ndcg@10"
        return "line_rprec" if self.gold == "body" else "line_recall_auc"

    @property
    def of_definitions(self) -> bool:
        """Return whether the gold is the definitions that the lines to be written use."""
        return self.gold == "uses"

    @property
    def counts_unscored(self) -> bool:
        """Return whether tasks may have no gold under this protocol; then a run counts them."""
        of_commits = self.tasks == "commits" and self.gold == "definitions"
        return self.of_definitions or of_commits or self.ask is not None

    @property
    def blanks(self) -> bool:
        """Return whether the ground truth's lines are blanked, so that a query searches its own chunks of its file."""
        return self.exclusion in ("body", "free")

    def override(self, **choices: str | None) -> Self:
        """Return this protocol with some of `CHOICES` replaced, and a name that lists them; None keeps a choice."""
        changed = {key: value for key, value in choices.items() if value and value != getattr(self, key)}
        if not changed:
            return self
        for key, value in changed.items():
            check_choice(key, value)
        # The name lists what differs from the named protocol: each choice once, even if it was replaced several times.
        name = self.name.partition("+")[0]
        origin = _named(name) or self
        values = {key: changed.get(key, getattr(self, key)) for key in CHOICES}
        suffix = "".join(f"+{key}={value}" for key, value in values.items() if value != getattr(origin, key))
        overridden = replace(self, name=name + suffix, **changed)  # type: ignore[arg-type]  # read by CHOICES
        overridden.check()
        return overridden

    def check(self) -> None:
        """Raise a UsageError if all gold is excluded, or a choice is made twice."""
        name = self.name.partition("+")[0]
        known = {"completion": COMPLETION_GOLDS, "commits": COMMIT_GOLDS, "questions": ("places", "files")}
        golds = known.get(self.tasks, ("places",))
        if self.gold not in golds:
            raise UsageError(
                f"gold={self.gold} is no target of protocol {name}; its target lines are "
                f"{' or '.join(f'gold={gold}' for gold in golds)}"
            )
        if self.tasks != "completion" and (self.exclusion, self.query) != ("none", "full"):
            raise UsageError(
                f"query={self.query} and exclusion={self.exclusion} do not fit the queries of protocol {name}; "
                "leave out query= and exclusion="
            )
        unseen_gold = {
            "none": (),
            "prompt": ("prompt",),
            "repocoder": ("body",),
            "body": ("body",),
            # What is left of the task's own file is what its prompt and its ground truth are not.
            "free": ("prompt", "context", "body"),
            "hidden": ("prompt", "context", "body"),
        }[self.exclusion]
        if self.gold in unseen_gold:
            raise UsageError(
                f"exclusion={self.exclusion} with gold={self.gold} leaves no target lines to find; choose another "
                "gold=, or exclusion=none"
            )
        if self.documents == "windows" and self.blanks:
            raise UsageError(
                f"exclusion={self.exclusion} chunks the task's file again, but the documents of {self.name} are fixed; "
                "choose exclusion=repocoder, or another protocol"
            )

    @staticmethod
    def parse(text: str) -> "Protocol":
        """Read `NAME` or `NAME+choice=value+…`, as a run prints it; NAME may be `py:module:NAME`."""
        name, *overrides = text.split("+")
        protocol: Protocol = _named(name) or PROTOCOLS.find(name).part
        choices: dict[str, str] = {}
        for override in overrides:
            key, equals, value = override.partition("=")
            if not equals or key not in CHOICES:
                names = ", ".join(f"{choice}=" for choice in CHOICES)
                raise UsageError(f"protocol {text!r}: {override!r} is not one of {names}")
            choices[key] = value
        return protocol.override(**choices)


PROTOCOLS = Kind("protocol", "repoeval_bench.protocols", Row, data=Protocol)
"""Protocols by name. A new one is a call of `protocol` in a file of this folder."""


def protocol(module: str, **choices: Any) -> Protocol:
    """Return a protocol with these choices, registered as one of a module."""
    part = Protocol(**choices)
    PROTOCOLS.add(Row(name=part.name, meaning=part.users, part=part), module)
    return part


def _named(name: str) -> Protocol | None:
    """Return the protocol of the registry, or of `py:module:NAME`, under that name; None where there is none."""
    row = PROTOCOLS.find("py", name.removeprefix("py:")) if name.startswith("py:") else PROTOCOLS.known(name)
    return replace(row.part, name=name) if row else None


def check_questions(protocol: Protocol, *, questions: bool) -> None:
    """Raise a UsageError if the protocol needs a file of questions and there is none, or the other way round."""
    if questions and protocol.tasks != "questions":
        raise UsageError(
            f"protocol {protocol.name} does not use the queries of a file; choose protocol questions, or leave out "
            "--queries"
        )
    if protocol.tasks == "questions" and not questions:
        raise UsageError(f"protocol {protocol.name} reads queries from a file; name it with --queries FILE")


def passed_over(protocols: Iterable[Protocol], level: str) -> frozenset[str]:
    """Return the repositories that a limit on tasks skips: those that one of the protocols does not score."""
    from repoeval_bench.dataset.repoeval import skipped_repositories

    # So every protocol scores all tasks that are left.
    return frozenset().union(*(skipped_repositories(protocol.repositories, level) for protocol in protocols))


def check_scored(protocol: Protocol, repos: Iterable[str], level: str) -> None:
    """Raise a UsageError if a protocol scores none of the named repositories; naming none means all."""
    named = sorted(set(repos))
    if named and passed_over([protocol], level).issuperset(named):
        raise UsageError(nothing_scored(protocol, named))


def nothing_scored(protocol: Protocol, repos: Iterable[str]) -> str:
    """Return the sentence for a protocol that scores none of the repositories."""
    return f"protocol {protocol.name} scores none of {', '.join(repos)}; choose other repositories or repositories=all"
