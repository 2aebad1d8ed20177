"""The result of a check of a chosen setting on later commits, in words and as a record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from repoeval_bench.analysis.chosen import FEWEST
from repoeval_bench.core.words import count

if TYPE_CHECKING:
    from repoeval_bench.analysis.chosen import Recheck


def recheck_sentence(result: Recheck) -> str:
    """Return if the setting still holds, and by which difference."""
    since = f"since {result.since[:12]}"
    commits = f"{count(result.questions, 'commit')} {since}"
    pair = result.comparison
    if pair is None:
        usable = count(result.questions, "usable commit")
        return f"Too little to judge: {usable} {since}, and {FEWEST} are needed. Keep {result.chosen.spec}."
    points = 100 * pair.difference
    low, high = pair.ci or (0.0, 0.0)
    if points < 0:  # "less" has the interval of the loss
        low, high = -high, -low
    ends = "" if pair.ci is None else f" [{100 * low:+.1f}, {100 * high:+.1f}]"
    first = f"Keep {result.chosen.spec}: it still holds." if result.holds else f"{result.chosen.spec} no longer holds."
    more = f"{abs(points):.1f} points {'less' if points < 0 else 'more'}"
    is_real = pair.verdict.outcome.is_significant
    way_out = " Run recommend again." if not result.holds else "" if is_real else " That is not significant."
    return (
        f"{first} On {commits} ({count(result.files, 'file')}) it finds {more} of the changed lines than "
        f"{result.chosen.opponent}{ends}.{way_out}"
    )


def recheck_record(result: Recheck) -> dict[str, Any]:
    """Return the same as plain values."""
    pair = result.comparison
    return {
        "holds": result.holds,
        "spec": result.chosen.spec,
        "opponent": result.chosen.opponent,
        "since": result.since,
        "questions": result.questions,
        "files": result.files,
        "measure": pair and pair.measure,
        "difference": pair and pair.difference,
        "ci": pair and pair.ci,
        "outcome": pair and pair.verdict.outcome,
        "notes": list(result.notes),
    }
