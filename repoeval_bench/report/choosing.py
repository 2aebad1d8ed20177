"""Which of several runs to choose, as a table with notes and as a record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from repoeval_bench.analysis.choosing import DRAWS, READ
from repoeval_bench.core.words import count, few
from repoeval_bench.report.table import P_VALUE, Column, Table, figures, make_table, spec_column
from repoeval_bench.report.text import found_nothing, heading, short_names

if TYPE_CHECKING:
    from repoeval_bench.analysis.records import Candidate, Choice, Comparison

NAMED = 5
"""Runs that a sentence names one by one."""

_COUNTLESS = 100_000
"""More files than anybody adds."""


def choice_table(choice: Choice, comparisons: Sequence[Comparison] = ()) -> Table:
    """One row per run, best first; of `comparisons` that there are, leads that rest on one file are marked."""
    columns = [
        spec_column("run", 60),
        *figures(heading(choice.measure)),
        *figures("best in", number=".1%"),
        *figures("p (Holm)", number=P_VALUE),
        *figures(*([f"{choice.cost_unit} a query"] if choice.cost_unit else []), number=",.0f"),
        Column(name="against the best"),
    ]
    rows = [
        [
            each.run,
            each.mean,
            each.probability,
            each.p,
            *([each.cost] if choice.cost_unit else []),
            standing(each, choice, comparisons),
        ]
        for each in choice.candidates
    ]
    title = f"which to choose, by {heading(choice.measure)}, {choice.over} mean"
    return make_table(columns, rows, title=title, notes=choice_notes(choice, comparisons))


def choice_notes(choice: Choice, comparisons: Sequence[Comparison] = ()) -> list[str]:
    """What is said below the runs: the sentences, and what the columns mean."""
    return [*choice_sentences(choice, comparisons), *_meaning(choice)]


def choice_sentences(choice: Choice, comparisons: Sequence[Comparison] = ()) -> list[str]:
    """The runs that cannot be told apart, and how many more files or repositories would settle the top pair.

    A lead that `comparisons` do not show is named with the reason: one file carries it, or there are more tests.
    """
    if choice.found_nothing:
        return [found_nothing(choice.measure, choice.over, "here")]
    names = [each.run for each in choice.candidates]
    short = dict(zip(names, short_names(names), strict=True))
    alike = [short[each.run] for each in choice.alike]
    best = short[choice.best.run]
    doubts = [
        f"the lead of {best} over {short[each.run]} is not shown{_why(doubt)}."
        for each in choice.candidates
        if each not in choice.alike and (doubt := _doubt(each, choice, comparisons))
    ]
    if len(alike) == 1:
        apart = len(names) - 1 - len(doubts)
        said = "all others" if not doubts else count(apart, "other run")
        told = [f"the best, {best}, is told apart from {said}."] if apart else []
    else:
        cheap = f", the cheapest first ({choice.cost_unit} a query)" if choice.cost_unit else ""
        told = [f"cannot be told apart from the best{cheap}: {few(alike, NAMED)}."]
    return [*told, *doubts, *missing_data(choice, nearest_shown=not _doubt(choice.candidates[1], choice, comparisons))]


def choice_record(choice: Choice) -> dict[str, Any]:
    """Every field as plain values, and the ids of the runs that cannot be told apart."""
    return {**asdict(choice), "alike": [each.run_id for each in choice.alike]}


def standing(each: Candidate, choice: Choice, comparisons: Sequence[Comparison]) -> str:
    """How a run compares with the best, in words."""
    if choice.found_nothing:
        return "found nothing"
    if each is choice.best:
        return "best"
    if each in choice.alike:
        return "not told apart"
    doubt = _doubt(each, choice, comparisons)
    return f"behind; {doubt.verdict}" if doubt else "behind"


def _doubt(each: Candidate, choice: Choice, comparisons: Sequence[Comparison]) -> Comparison | None:
    """The pair with the best, where its verdict is not that one run is better."""
    pair = {each.run, choice.best.run}
    found = [c for c in comparisons if c.measure == choice.measure and {c.baseline, c.treatment} == pair]
    return None if not found or found[0].is_shown else found[0]


def _why(doubt: Comparison) -> str:
    return f": {doubt.verdict}" if doubt.rests_on_one else f" among {count(doubt.family, 'comparison')}"


def missing_data(choice: Choice, *, nearest_shown: bool) -> list[str]:
    """How much more data would settle the top pair; nothing where it is settled or cannot be said.

    What tells the pair apart among the best's own may not among all pairs, or rest on one file: then it is not
    `nearest_shown`, and the estimate, which is of the former, says nothing.
    """
    if choice.more_clusters == 0 and not nearest_shown:
        return []
    if choice.more_clusters == 0 and choice.more_repositories:
        more = _about(choice.more_repositories, "more repository")
        return [f"estimate: files like these tell the first two apart; to say it of new repositories takes {more}."]
    needed = []
    if choice.more_clusters:
        needed.append(f"{_about(choice.more_clusters, f'more {choice.clustered_by}')} like these")
    if choice.more_repositories:
        needed.append(f"{_about(choice.more_repositories, 'more repository')} to say it of new ones")
    if not needed:
        return []
    return [f"estimate: to tell the first two apart with 80 % power takes {', and '.join(needed)}."]


def _about(number: int, one: str) -> str:
    """Two digits: an estimate of an estimate has no more, and above `_COUNTLESS` none."""
    if number > _COUNTLESS:
        return f"more than {count(_COUNTLESS, one)}"
    digits = max(0, len(str(number)) - 2)
    return f"about {count(round(number, -digits), one)}"


def _meaning(choice: Choice) -> list[str]:
    clusters = count(choice.n_clusters, choice.clustered_by)
    others = count(len(choice.candidates) - 1, "test")
    words = f"best in: of {DRAWS:,} resamples of {clusters}. p: the best against each other run, Holm over {others}."
    return [words + (f" {choice.cost_unit}: {READ} chunks of mean size." if choice.cost_unit else "")]
