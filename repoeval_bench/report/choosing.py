"""Which of several runs to choose, as a table with notes and as a record."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from repoeval_bench.analysis.choosing import DRAWS, READ
from repoeval_bench.analysis.verdicts import Outcome, Result
from repoeval_bench.core.words import count, few
from repoeval_bench.report.table import P_VALUE, Column, Table, figures, make_table, spec_column
from repoeval_bench.report.text import found_nothing, heading, outcome_name, short_names

if TYPE_CHECKING:
    from repoeval_bench.analysis.records import Candidate, Choice

NAMED = 5
"""Runs that a sentence names one by one."""

_COUNTLESS = 100_000
"""More files than anybody adds."""


def choice_table(choice: Choice) -> Table:
    """One row per run, best first."""
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
            p_of(each, choice),
            *([each.cost] if choice.cost_unit else []),
            standing(each, choice),
        ]
        for each in choice.candidates
    ]
    title = f"which to choose, by {heading(choice.measure)}, {choice.over} mean"
    return make_table(columns, rows, title=title, notes=choice_notes(choice))


def choice_notes(choice: Choice) -> list[str]:
    """What is said below the runs: the sentences, and what the columns mean."""
    return [*choice_sentences(choice), *_meaning(choice)]


def choice_sentences(choice: Choice) -> list[str]:
    """What the tests say of the best run, and how many more files or repositories would settle the top pair."""
    if choice.found_nothing:
        return [found_nothing(choice.measure, choice.over, "here")]
    verdict = choice.verdict
    names = [each.run for each in choice.candidates]
    short = dict(zip((each.run_id for each in choice.candidates), short_names(names), strict=True))
    best, n, behind = short[choice.best.run_id], len(verdict.others), len(verdict.behind)
    lines = [f"{best} is significantly better than {'all' if behind == n else behind} of the {count(n, 'other')}"]
    lines += [
        f"its lead over {short[each.run.run_id]} comes from one {carrier.kind}, {carrier.name}; without it the "
        "difference may be chance"
        for each in verdict.others
        if (carrier := each.verdict.carrier) is not None
    ]
    if verdict.result in (Result.NOT_SIGNIFICANT, Result.TIED):
        cheap = f", the cheapest first ({choice.cost_unit} a query)" if choice.cost_unit else ""
        lines.append(f"may be as good{cheap}: {few([short[each.run_id] for each in choice.close], NAMED)}")
    return [*lines, *missing_data(choice)]


def choice_record(choice: Choice) -> dict[str, Any]:
    """Every field as plain values, but the comparisons behind it."""
    record = asdict(replace(choice, verdict=replace(choice.verdict, differences=())))
    del record["verdict"]["differences"]
    return {"measure": choice.measure, "over": choice.over, **record}


def p_of(each: Candidate, choice: Choice) -> float | None:
    """Return p (Holm) of the best run's lead over this one; None for the best."""
    rival = choice.verdict.rival(each.run_id)
    return None if rival is None else rival.p_adjusted


def standing(each: Candidate, choice: Choice) -> str:
    """How a run compares with the best, in words."""
    if choice.found_nothing:
        return "found nothing"
    rival = choice.verdict.rival(each.run_id)
    return "best" if rival is None else outcome_name(rival.verdict.reversed())


def missing_data(choice: Choice) -> list[str]:
    """How much more data would settle the top pair; nothing where it is settled or cannot be said."""
    if choice.verdict.others[0].verdict.outcome is Outcome.CARRIED:
        return []  # what is missing is not more files like these
    if choice.more_clusters == 0 and choice.more_repositories:
        more = _about(choice.more_repositories, "more repository")
        return [f"estimate: the first two differ on files like these; to say it of new repositories takes {more}"]
    needed = []
    if choice.more_clusters:
        needed.append(f"{_about(choice.more_clusters, f'more {choice.verdict.clustered_by}')} like these")
    if choice.more_repositories:
        needed.append(f"{_about(choice.more_repositories, 'more repository')} to say it of new ones")
    if not needed:
        return []
    return [f"estimate: for a significant difference of the first two, with 80 % power, add {', and '.join(needed)}"]


def _about(number: int, one: str) -> str:
    """Two digits: an estimate of an estimate has no more, and above `_COUNTLESS` none."""
    if number > _COUNTLESS:
        return f"more than {count(_COUNTLESS, one)}"
    digits = max(0, len(str(number)) - 2)
    return f"about {count(round(number, -digits), one)}"


def _meaning(choice: Choice) -> list[str]:
    verdict = choice.verdict
    clusters = count(verdict.n_clusters, verdict.clustered_by)
    words = (
        f"best in: of {DRAWS:,} resamples of {clusters}. p: the best against each other run, Holm over "
        f"{count(verdict.family, 'test')}."
    )
    return [words + (f" {choice.cost_unit}: {READ} chunks of mean size." if choice.cost_unit else "")]
