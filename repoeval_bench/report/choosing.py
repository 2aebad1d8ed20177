"""Which of several runs to choose, as a table with notes and as a record."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from repoeval_bench.analysis.choosing import DRAWS, READ
from repoeval_bench.report.table import P_VALUE, Column, figures, make_table, spec_column
from repoeval_bench.report.text import count, heading, short_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from repoeval_bench.analysis.records import Candidate, Choice, Comparison
    from repoeval_bench.report.table import Table

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
    return make_table(columns, rows, title=title, notes=choice_notes(choice))


def choice_notes(choice: Choice) -> list[str]:
    """What is said below the runs: the sentences, and what the columns mean."""
    return [*choice_sentences(choice), *_meaning(choice)]


def choice_sentences(choice: Choice) -> list[str]:
    """The runs that cannot be told apart, and how many more files or repositories would settle the top pair."""
    names = [each.run for each in choice.candidates]
    short = dict(zip(names, short_names(names), strict=True))
    alike = [short[each.run] for each in choice.alike]
    if len(alike) == 1:
        return [f"{alike[0]} is told apart from all others.", *missing_data(choice)]
    shown = ", ".join(alike[:NAMED]) + (f" and {len(alike) - NAMED} more" if len(alike) > NAMED else "")
    cheap = f", the cheapest first ({choice.cost_unit} a query)" if choice.cost_unit else ""
    return [f"cannot be told apart from the best{cheap}: {shown}.", *missing_data(choice)]


def choice_record(choice: Choice) -> dict[str, Any]:
    """Every field as plain values, and the ids of the runs that cannot be told apart."""
    return {**asdict(choice), "alike": [each.run_id for each in choice.alike]}


def standing(each: Candidate, choice: Choice, comparisons: Sequence[Comparison]) -> str:
    """How a run stands against the best, in words."""
    if each is choice.best:
        return "best"
    if each in choice.alike:
        return "not told apart"
    pair = {each.run, choice.best.run}
    carried = [c for c in comparisons if c.primary and {c.baseline, c.treatment} == pair and c.rests_on_one]
    return f"behind; {carried[0].verdict}" if carried else "behind"


def missing_data(choice: Choice) -> list[str]:
    """How much more data would settle the top pair; nothing where it is settled or cannot be said."""
    clusters = "queries" if choice.clustered_by == "query" else f"{choice.clustered_by}s"
    needed = []
    if choice.more_clusters:
        needed.append(f"{_about(choice.more_clusters)} more {clusters} like these")
    if choice.more_repositories:
        needed.append(f"{_about(choice.more_repositories)} more repositories to say it of new ones")
    if not needed:
        return []
    return [f"estimate: to tell the first two apart with 80 % power takes {', and '.join(needed)}."]


def _about(number: int) -> str:
    """Two digits: an estimate of an estimate has no more, and above `_COUNTLESS` none."""
    if number > _COUNTLESS:
        return f"more than {_COUNTLESS:,}"
    digits = max(0, len(str(number)) - 2)
    return f"about {round(number, -digits):,}"


def _meaning(choice: Choice) -> list[str]:
    kind = "file" if choice.clustered_by == "file" else choice.clustered_by
    clusters = count(choice.n_clusters, kind, "queries" if kind == "query" else "")
    others = count(len(choice.candidates) - 1, "test")
    words = f"best in: of {DRAWS:,} resamples of {clusters}. p: the best against each other run, Holm over {others}."
    return [words + (f" {choice.cost_unit}: {READ} chunks of mean size." if choice.cost_unit else "")]
