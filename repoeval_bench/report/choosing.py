"""The choice among several runs, as a table with notes and as a record."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from repoeval_bench.analysis.choosing import READ
from repoeval_bench.analysis.verdicts import Candidate, Choice, Result
from repoeval_bench.core.words import count, few
from repoeval_bench.report.table import P_VALUE, Column, Table, number, table_of
from repoeval_bench.report.text import heading, outcome_name, short_names
from repoeval_bench.report.verdict import verdict_text

NAMED = 5
"""Runs that a sentence names one by one."""


def choice_table(choice: Choice) -> Table:
    """One row per run, best first, with the sentences and the meaning of the columns below."""

    def p_of(candidate: Candidate) -> float | None:
        rival = choice.verdict.rival(candidate.run_id)
        return None if rival is None else rival.p_adjusted

    columns = [
        Column(name="run", width=60, value=lambda candidate: candidate.run),
        number(heading(choice.measure), lambda candidate: candidate.mean),
        number("p (Holm)", p_of, P_VALUE),
        *(
            [number(f"{choice.cost_unit} per query", lambda candidate: candidate.cost, ",.0f")]
            if choice.cost_unit
            else []
        ),
        Column(name="against the best", value=lambda candidate: against_best(candidate, choice)),
    ]
    title = f"which to choose, by {heading(choice.measure)}, {choice.over} mean"
    meaning = f"p: the best against each other run, Holm over {count(choice.verdict.family, 'test')}."
    if choice.cost_unit:
        meaning += f" {choice.cost_unit}: {READ} chunks of mean size."
    return table_of(columns, choice.candidates, title=title, notes=[*choice_sentences(choice), meaning])


def choice_sentences(choice: Choice) -> list[str]:
    """Return sentences on the tests of the best run, and on the runs that may be as good."""
    candidates, verdict = choice.candidates, choice.verdict
    names = short_names([candidate.run for candidate in candidates])
    short = dict(zip((candidate.run_id for candidate in candidates), names, strict=True))
    lines = [verdict_text(verdict, short)]
    if verdict.result in (Result.NOT_SIGNIFICANT, Result.TIED):
        cheap = f", the cheapest first ({choice.cost_unit} per query)" if choice.cost_unit else ""
        lines.append(f"may be as good{cheap}: {few([short[candidate.run_id] for candidate in choice.close], NAMED)}")
    return lines


def choice_record(choice: Choice) -> dict[str, Any]:
    """Return every field as plain values, without the comparisons."""
    record = asdict(replace(choice, verdict=replace(choice.verdict, differences=())))
    del record["verdict"]["differences"]
    return {"measure": choice.measure, "over": choice.over, **record}


def against_best(candidate: Candidate, choice: Choice) -> str:
    """Return how a run compares with the best, in words."""
    if choice.found_nothing:
        return "found nothing"
    rival = choice.verdict.rival(candidate.run_id)
    return "best" if rival is None else outcome_name(rival.verdict.reversed())
