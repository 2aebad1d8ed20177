"""The choice among several runs, in sentences and as a record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from repoeval_bench.analysis.verdicts import Choice, Result
from repoeval_bench.core.words import few
from repoeval_bench.report.comparison_record import (
    ChoiceRow,
    ComparedRow,
    RivalRow,
    VerdictRow,
    comparison_row,
    fields_of,
)
from repoeval_bench.report.text import short_names
from repoeval_bench.report.verdict import verdict_text

if TYPE_CHECKING:
    from repoeval_bench.analysis.records import Comparison

NAMED = 5
"""Runs that a sentence names one by one."""


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
    return _choice_row(choice).model_dump()


def compared_record(
    comparisons: Sequence[Comparison], choice: Choice | None, left_out: Mapping[str, str], notes: Sequence[str]
) -> dict[str, Any]:
    """Return what `compare` found as plain values; `left_out` is chunker -> the reason why it has no run."""
    fields: dict[str, Any] = {"notes": list(notes)} if notes else {}
    return ComparedRow(
        comparisons=list(map(comparison_row, comparisons)),
        choice=None if choice is None else _choice_row(choice),
        left_out=left_out,
        **fields,
    ).as_json()


def _choice_row(choice: Choice) -> ChoiceRow:
    rivals = tuple(RivalRow(**fields_of(rival, RivalRow)) for rival in choice.verdict.others)
    verdict = VerdictRow(**fields_of(choice.verdict, VerdictRow) | {"others": rivals})
    return ChoiceRow(**fields_of(choice, ChoiceRow) | {"verdict": verdict})
