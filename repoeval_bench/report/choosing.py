"""The choice among several runs, in sentences and as a record."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from repoeval_bench.analysis.verdicts import Choice, Result
from repoeval_bench.core.words import few
from repoeval_bench.report.text import short_names
from repoeval_bench.report.verdict import verdict_text

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
    record = asdict(replace(choice, verdict=replace(choice.verdict, differences=())))
    del record["verdict"]["differences"]
    return {"measure": choice.measure, "over": choice.over, **record}
